import type { Analysis } from '#core/fields/analysis.ts'
import { fieldsOf, type Kind } from '#core/fields/record-kind.ts'
import { fitNumber } from '#core/foundation/column-number.ts'

/** An analysis whose numbers fit the columns that they are written to, whatever its file claims. */
export function fitAnalysis(analysis: Analysis): Analysis {
  const { book, series, ...embedded } = analysis.embedded
  return {
    ...analysis,
    pageCount: Math.max(0, fitNumber(analysis.pageCount)),
    embedded: {
      ...embedded,
      ...(book && { book: fitValues('book', book) }),
      ...(series && { series: fitSeries(series) }),
    },
  }
}

/** The same for the metadata of a series alone. */
export const fitSeries = <Series extends { fields?: object }>(series: Series): Series =>
  series.fields ? { ...series, fields: fitValues('series', series.fields) } : series

/** The schema of a field has the range of its column, or a part of it. */
function fitValues<Values extends object>(kind: Kind, values: Values): Values {
  const fitted = { ...values } as Record<string, unknown>
  for (const { name, schema } of fieldsOf(kind)) {
    const value = fitted[name]
    if (typeof value === 'number') fitted[name] = fitNumber(value, schema as Parameters<typeof fitNumber>[1])
  }
  return fitted as Values
}
