import { readFile } from 'node:fs/promises'
import type { Knex } from 'knex'
import t from 'tap'
import { Value } from 'typebox/value'
import type { ExportField } from '#core/exports/export-field-query.ts'
import { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { ExportedBy, Field, MetadataRecord, ProposedBy } from '#core/fields/field.ts'
import { fieldsOf, type Kind } from '#core/fields/record-kind.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import { readRecords, storeRecords } from '#core/metadata/metadata-record-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { BOOK_SAMPLES, SERIES_SAMPLES } from '#test/support/metadata-samples.ts'

t.setTimeout(60_000)

/**
 * A new metadata field is an entry of BOOK_FIELDS or SERIES_FIELDS. These tests check what the compiler cannot, and report what is missing: columns, and
 * documents that are generated from the lists.
 */
interface Names {
  list: string
  record: string
  table: string
  /** Type in the SDK of plugin answers. */
  answer: string
}
const KINDS: readonly (Names & { kind: Kind; samples: Readonly<Record<string, unknown>>; own: readonly string[] })[] = [
  {
    ...{ kind: 'book', list: 'BOOK_FIELDS', record: 'books', table: 'book_metadata', answer: 'BookMetadata' },
    ...{ samples: BOOK_SAMPLES, own: ['book_id', 'sources', 'locks', 'embedded', 'set_edits', 'created_at', 'updated_at'] },
  },
  {
    ...{ kind: 'series', list: 'SERIES_FIELDS', record: 'series', table: 'series_metadata', answer: 'SeriesMetadata' },
    ...{ samples: SERIES_SAMPLES, own: ['series_id', 'sources', 'locks', 'set_edits', 'aggregated', 'created_at', 'updated_at'] },
  },
]

const columnsOf = async (database: Knex, table: string): Promise<string[]> =>
  await database('information_schema.columns')
    .where({ table_name: table, table_schema: 'public', is_generated: 'NEVER' })
    .pluck('column_name')

/** What each field lacks, in words; empty if nothing is missing. */
const lackingColumns = (fields: readonly Field[], columns: Readonly<Record<string, readonly string[]>>, names: Names) =>
  fields.flatMap(({ name, column, ofRecord }) => {
    const table = ofRecord ? names.record : names.table
    return column === null || columns[table]?.includes(column)
      ? []
      : [`${names.list} keeps ${name} in ${table}.${column}, which no migration makes: add one to migrations/`]
  })

t.test('every field has a column in the migrations, and every metadata column has a field', async (t) => {
  const { database } = await openTestDatabase(t)
  for (const { kind, own, ...names } of KINDS) {
    const columns = {
      [names.record]: await columnsOf(database, names.record),
      [names.table]: await columnsOf(database, names.table),
    }
    t.same(lackingColumns(fieldsOf(kind), columns, names), [])
    const named = new Set<string | null>([...own, ...fieldsOf(kind).map(({ column }) => column)])
    const strangers = (columns[names.table] ?? []).filter((column) => !named.has(column))
    t.same(
      strangers.map((column) => `${names.table}.${column} is no field: add it to ${names.list}`),
      [],
    )
    t.same(
      lackingColumns(
        [...fieldsOf(kind), { ...(BOOK_FIELDS[0] as Field), name: 'mood', column: 'mood', ofRecord: false as never }],
        columns,
        names,
      ),
      [`${names.list} keeps mood in ${names.table}.mood, which no migration makes: add one to migrations/`],
      'and the report says so',
    )
  }
})

t.test('every sample is a valid value of its field, and is read back unchanged from its column', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const ids: Record<Kind, string> = { series: series_id, book: await addBook(database, { library_id, series_id, title: 'One' }) }
  for (const { kind, list, samples } of KINDS) {
    const id = ids[kind]
    for (const field of fieldsOf(kind)) {
      const sample = samples[field.name]
      t.ok(Value.Check(field.schema, sample), `${list}: ${field.name} accepts its sample ${JSON.stringify(sample)}`)
      if (field.column === null) continue
      const stored = (await readRecords(database, kind, [id])).get(id)
      if (stored === undefined) return t.fail('nothing is stored')
      const { next } = applyPatch(fieldsOf(kind), stored, { [field.name]: sample }, 'user')
      await database.transaction(async (trx) => await storeRecords(trx, kind, new Map([[id, next]])))
      const read = (await readRecords(database, kind, [id])).get(id)
      t.same((read as MetadataRecord).values[field.name], sample, `${list}: ${field.name} is read back unchanged`)
    }
  }
})

t.test('the documents name every field', async (t) => {
  const read = async (name: string) => await readFile(new URL(`../../../${name}`, import.meta.url), 'utf8')
  const [templates, api, openapi] = await Promise.all([
    read('docs/templates.md'),
    read('docs/plugin-api.md'),
    read('api/docs/openapi.json'),
  ])
  const sectionOf = (text: string, heading: string) => (text.split(`\n${heading}\n`)[1] ?? '').split(/\n##/, 1)[0] ?? ''
  for (const { kind, list, answer } of KINDS) {
    const context = sectionOf(templates, `## Fields of a ${kind}`)
    const declared = sectionOf(api, '### Described') + sectionOf(api, `### ${answer}`)
    const lacking = fieldsOf(kind).flatMap(({ name, role, proposed }) => [
      // Only translators have a people string there, and custom metadata is beside `metadata`.
      ...((role === undefined || name === 'translator') && name !== 'customMetadata' && !context.includes(`\n| \`metadata.${name}\` |`)
        ? [`docs/templates.md does not name metadata.${name} of ${list}: run npm run readme`]
        : []),
      ...(proposed !== null && !declared.includes(` ${proposed}?: `)
        ? [`docs/plugin-api.md does not name ${proposed} of ${answer}: run node plugin-sdk/api-page.mjs`]
        : []),
      ...(openapi.includes(`"${name}"`) ? [] : [`api/docs/openapi.json does not name ${name} of ${list}: run npm run openapi`]),
    ])
    t.same(lacking, [])
  }
})

t.test('the compiler reports what a new field lacks', async (t) => {
  type Fields = readonly [
    (typeof SERIES_FIELDS)[0],
    {
      name: 'mood'
      about: string
      column: 'mood'
      exported: 'mood_of_series'
      proposed: 'mood'
      schema: (typeof SERIES_FIELDS)[0]['schema']
    },
  ]
  const label: ExportField = { label: 'Title', sql: 'series.title' }
  // @ts-expect-error Property 'mood_of_series' is missing: exports have no such column
  const columns = { title: label } satisfies Record<ExportedBy<Fields>, ExportField>
  // @ts-expect-error Property 'mood' is missing: answers have no such member
  const members = { title: 1 } satisfies Record<ProposedBy<Fields>, unknown>
  // @ts-expect-error Property 'proposed' is missing: every field says whether plugins provide it
  const entry: Field = { name: 'mood', about: 'How it feels.', column: 'mood', exported: null, schema: SERIES_FIELDS[0].schema }
  // @ts-expect-error Property 'exported' is missing: every field says whether exports include it
  const other: Field = { name: 'mood', about: 'How it feels.', column: 'mood', proposed: null, schema: SERIES_FIELDS[0].schema }
  t.ok(columns && members && entry && other)
})
