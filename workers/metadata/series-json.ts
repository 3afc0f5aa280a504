import { ageRatingOf } from '#core/fields/age-rating.ts'
import type { Problem } from '#core/fields/analysis.ts'
import type { SeriesHints } from '#core/fields/embedded.ts'
import { NAME_LENGTH_MAX } from '#core/fields/limits.ts'
import type { ValuesOf } from '#core/fields/record-kind.ts'
import { isObject } from '#core/foundation/plain-object.ts'
import { lineOf, positionOf, present, Remarks, summaryOf, textOfHtml, wholeOf, yearOf } from './metadata-values.ts'

const STATUSES = new Map<string, ValuesOf['series']['status']>([
  ['continuing', 'ongoing'],
  ['ongoing', 'ongoing'],
  ['ended', 'ended'],
  ['completed', 'ended'],
  ['hiatus', 'hiatus'],
  ['abandoned', 'abandoned'],
  ['cancelled', 'abandoned'],
])

/** Mylar's series.json: metadata of a series, in the folder of its books. */
export function readSeriesJson(bytes: Uint8Array): { series: SeriesHints | undefined; problem: Problem | null } {
  const remarks = new Remarks()
  const metadata = metadataOf(bytes)
  if (metadata === undefined) {
    return {
      series: undefined,
      problem: { type: 'metadata', message: 'series.json beside the book does not describe a series.', fatal: false },
    }
  }
  const text = (name: string): string | undefined => {
    const value = metadata[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  const comic = text('comicid')
  const series = present<SeriesHints>({
    fields: present<ValuesOf['series']>({
      title: lineOf(text('name'), NAME_LENGTH_MAX),
      publisher: lineOf(text('publisher')),
      imprint: lineOf(text('imprint')),
      year: yearOf(text('year'), 'year', remarks),
      summary: summaryOf(textOfHtml(text('description_text') ?? text('description_formatted') ?? ''), 'description_text', remarks),
      status: STATUSES.get(text('status')?.trim().toLowerCase() ?? ''),
      totalVolumeCount: wholeOf(text('total_issues'), 'total_issues', remarks),
      totalChapterCount: positionOf(text('total_chapters'), 'total_chapters', remarks),
      ageRating: ageRatingOf(text('age_rating')),
    }),
    links:
      comic !== undefined && /^\d{1,12}$/.test(comic)
        ? [{ source: 'comicvine', url: `https://comicvine.gamespot.com/volume/4050-${comic}/` }]
        : undefined,
  })
  return { series, problem: remarks.problem('series.json beside the book') }
}

function metadataOf(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    const metadata = isObject(value) && 'metadata' in value ? value.metadata : value
    return isObject(metadata) ? metadata : undefined
  } catch {
    return undefined
  }
}
