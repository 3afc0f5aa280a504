import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import t from 'tap'
import { Components } from '#api/docs/openapi-components.ts'
import { FILTER_FIELDS } from '#core/catalog/filter-column-query.ts'
import { type Family, type FilterField, OPERATORS, readCondition } from '#core/catalog/list-condition.ts'
import { BookCondition, SeriesCondition } from '#core/catalog/list-condition-schema.ts'

const ID = '01991f3a-51c2-7d10-8a4e-0c5a7f3b1d20'
const VALUES: Record<Family, (words: readonly string[] | undefined) => unknown> = {
  text: () => 'x',
  word: (words) => words?.[0],
  uuid: () => ID,
  bool: () => undefined,
  number: () => 3.5,
  date: () => '2024-02-29',
}

/** A comparison of each operator that a field has. */
const comparisonsOf = ({ family, words }: FilterField) =>
  OPERATORS[family].map((operator) => {
    if (/Null$|^is(True|False)$/.test(operator)) return { operator }
    if (operator === 'in' || operator === 'notIn') return { operator, values: [ID] }
    if (operator === 'between') return family === 'date' ? { operator, start: '2024-01-01' } : { operator, min: 1, max: 2 }
    return { operator, value: VALUES[family](words) }
  })

const components = new Components()
const [books, series] = [components.schema(BookCondition), components.schema(SeriesCondition)]
const ajv = new Ajv2020({ strict: false })
formats.default(ajv)
ajv.addSchema({ $id: 'api', components: components.finish() })
const accepts = (schema: object) => ajv.compile({ $ref: `api${(schema as { $ref: string }).$ref}` })

t.test('the document shows every condition that the server reads', async (t) => {
  for (const [schema, fields] of [
    [books, FILTER_FIELDS.books],
    [series, FILTER_FIELDS.series],
  ] as const) {
    const isShown = accepts(schema)
    // As `compileFilter`: only fields of words have no other values.
    const read = Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, field.family === 'word' ? field : { family: field.family }]),
    )
    for (const [name, field] of Object.entries(fields))
      for (const comparison of comparisonsOf(field)) {
        const condition = { not: { allOf: [{ [name]: comparison }, { anyOf: [] }] } }
        t.doesNotThrow(() => readCondition(condition, read), JSON.stringify(condition))
        t.ok(isShown(condition), JSON.stringify(condition))
      }
  }
})

t.test('and none that it refuses', async (t) => {
  const isShown = accepts(books)
  for (const wrong of [
    { nothing: { operator: 'is', value: 'x' } },
    { title: { operator: 'gt', value: 'x' } },
    { title: { operator: 'is', value: 3 } },
    { seriesId: { operator: 'in', value: ID } },
    { readStatus: { operator: 'is', value: 'skimmed' } },
    { allOf: { title: { operator: 'is', value: 'x' } } },
    'title',
  ]) {
    t.throws(() => readCondition(wrong, FILTER_FIELDS.books), JSON.stringify(wrong))
    t.notOk(isShown(wrong), JSON.stringify(wrong))
  }
})
