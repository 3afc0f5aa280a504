import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import { prepared } from '#core/database/prepared.ts'
import { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { Field, MetadataRecord, Source } from '#core/fields/field.ts'
import type { Kind, ValuesOf } from '#core/fields/record-kind.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'

/** A record as stored in the database. Times are ISO 8601: of the metadata, or of the record if it has no metadata. */
export interface StoredRecord<Values extends Readonly<Record<string, unknown>> = Readonly<Record<string, unknown>>>
  extends MetadataRecord<Values> {
  createdAt: string
  updatedAt: string
}

interface Tables {
  record: 'books' | 'series'
  metadata: 'book_metadata' | 'series_metadata'
  key: 'book_id' | 'series_id'
  fields: readonly Field[]
}

/** The tables and columns of each kind. */
export const TABLES: Readonly<Record<Kind, Tables>> = {
  book: { record: 'books', metadata: 'book_metadata', key: 'book_id', fields: BOOK_FIELDS },
  series: { record: 'series', metadata: 'series_metadata', key: 'series_id', fields: SERIES_FIELDS },
}

/** The fields that have a column in the record itself, or in the metadata table. */
function storedFields({ fields }: Tables, ofRecord: boolean): (Field & { column: string })[] {
  return fields.filter((field): field is Field & { column: string } => field.column !== null && (field.ofRecord ?? false) === ofRecord)
}

/** Reads only the locks, without the metadata, which may be a quarter of a megabyte per record. */
export async function readLocks(trx: Knex, kind: Kind, ids: readonly string[]): Promise<Map<string, Set<string>>> {
  const { record, metadata, key } = TABLES[kind]
  const { rows } = await trx.raw(
    `SELECT r.id, coalesce(m.locks, '{}') AS locks FROM ${record} r LEFT JOIN ${metadata} m ON m.${key} = r.id WHERE r.id = ANY(CAST(? AS uuid[]))`,
    [[...ids]],
  )
  return new Map((rows as { id: string; locks: string[] }[]).map(({ id, locks }) => [id, new Set(locks)]))
}

/**
 * Locks records until the transaction ends, in the order of their ids, so that two changes never deadlock. Read them afterwards, with another
 * statement: a single statement that waits for the lock and reads would see the new record with the metadata from before the wait, and would undo
 * the other change.
 */
export async function lockRecords(trx: Knex, kind: Kind, ids: readonly string[]): Promise<void> {
  await trx.raw(`SELECT id FROM ${TABLES[kind].record} WHERE id = ANY(CAST(? AS uuid[])) ORDER BY id FOR NO KEY UPDATE`, [[...ids]])
}

/** Updates the time of records whose data in other tables has changed: clients compare only this time with their copies. */
export async function touchRecords(trx: Knex, kind: Kind, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await trx.raw(`UPDATE ${TABLES[kind].record} SET updated_at = now() WHERE id = ANY(CAST(? AS uuid[]))`, [[...ids]])
}

/** The columns of {@link recordOf}, of a record `r` and its metadata `m`. */
function recordColumns(tables: Tables): string {
  const columns = [
    ...storedFields(tables, true).map(({ column }) => `r.${column}`),
    ...storedFields(tables, false).map(({ column }) => `m.${column}`),
  ]
  return `m.sources, m.locks, coalesce(m.created_at, r.created_at) AS record_created, greatest(m.updated_at, r.updated_at) AS record_updated,
    ${columns.join(', ')}`
}

const READ: Readonly<Record<Kind, string>> = { book: readSql(TABLES.book), series: readSql(TABLES.series) }

function readSql(tables: Tables): string {
  return `SELECT r.id, ${recordColumns(tables)} FROM ${tables.record} r LEFT JOIN ${tables.metadata} m ON m.${tables.key} = r.id
    WHERE r.id = ANY(CAST(? AS uuid[])) ORDER BY r.id`
}

/** The metadata of each record. The result omits ids that do not exist. A change calls {@link lockRecords} first. */
export async function readRecords<One extends Kind>(
  database: Knex,
  kind: One,
  ids: readonly string[],
): Promise<Map<string, StoredRecord<ValuesOf[One]>>> {
  if (ids.length === 0) return new Map()
  const { rows } = (await prepared(database.raw(READ[kind], [[...ids]]))) as { rows: ({ id: string } & Record<string, unknown>)[] }
  return new Map(rows.map((row) => [row.id, recordOf(kind, row)]))
}

/** SQL for statements that read books with their metadata: columns of the metadata, and the join that they need. */
export const BOOK_RECORD = {
  columns: recordColumns(TABLES.book).replaceAll('r.', 'books.'),
  join: 'LEFT JOIN book_metadata m ON m.book_id = books.id',
}

/** The metadata in a row with the columns of the kind. They have the types of the fields: a test compares them with the database. */
export function recordOf<One extends Kind>(kind: One, row: Record<string, unknown>): StoredRecord<ValuesOf[One]> {
  const tables = TABLES[kind]
  const values: Record<string, unknown> = {}
  const sources: Record<string, Source> = { ...(row.sources as Record<string, Source> | null) }
  for (const field of tables.fields) {
    const value = field.column === null ? null : row[field.column]
    if (value === null || value === undefined) continue
    values[field.name] = value
    // A value without a source was written by the scan, from the name of the file.
    if (field.ofRecord) sources[field.name] ??= 'file_name'
  }
  return {
    values: values as ValuesOf[One],
    sources,
    locks: new Set((row.locks as string[] | null) ?? []),
    createdAt: (row.record_created as Date).toISOString(),
    updatedAt: (row.record_updated as Date).toISOString(),
  }
}

/** Records per statement: for each, the database compares the search words, and reads up to a quarter of a megabyte for that. */
const LOCKED_AT_ONCE = 50

/** Writes only the locks, without the metadata. */
export async function storeLocks(trx: Knex, kind: Kind, changed: ReadonlyMap<string, { locks: ReadonlySet<string> }>): Promise<void> {
  const { record, metadata, key } = TABLES[kind]
  const rows = [...changed].map(([id, { locks }]) => ({ [key]: id, locks: [...locks].sort() }))
  for (let start = 0; start < rows.length; start += LOCKED_AT_ONCE)
    await trx.raw(
      `WITH written AS (
         INSERT INTO ${metadata} (${key}, locks) SELECT ${key}, locks FROM jsonb_populate_recordset(NULL::${metadata}, CAST(? AS jsonb))
         ON CONFLICT (${key}) DO UPDATE SET locks = excluded.locks, updated_at = now() RETURNING ${key}
       ) UPDATE ${record} r SET updated_at = now() FROM written WHERE r.id = written.${key}`,
      [JSON.stringify(rows.slice(start, start + LOCKED_AT_ONCE))],
    )
}

/** Characters of JSON per statement: few statements for small records, but no text that blocks other work for long while it is built and sent. */
const STATEMENT_LENGTH = 1024 * 1024
/** Characters of JSON per turn of the event loop: many short rows take up to 40 ms for a whole statement. */
const TURN_LENGTH = 256 * 1024

/** Writes changed records in few statements. A record never loses its title: if the new values have none, the old title stays. */
export async function storeRecords(trx: Knex, kind: Kind, changed: ReadonlyMap<string, MetadataRecord>): Promise<void> {
  const tables = TABLES[kind]
  const { record, metadata, key } = tables
  const ofRecord = storedFields(tables, true)
  const own = storedFields(tables, false)
  const rowOf = (fields: readonly (Field & { column: string })[], { values }: MetadataRecord) =>
    Object.fromEntries(fields.map(({ name, column }) => [column, values[name] ?? null]))

  const columns = [...own.map(({ column }) => column), 'sources', 'locks']
  await writeInStatements(
    rowsOf(changed, (id, next) => ({ [key]: id, ...rowOf(own, next), sources: next.sources, locks: [...next.locks].sort() })),
    (rows) =>
      trx.raw(
        `INSERT INTO ${metadata} (${key}, ${columns.join(', ')})
         SELECT ${key}, ${columns.join(', ')} FROM json_populate_recordset(NULL::${metadata}, CAST(? AS json))
         ON CONFLICT (${key}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}, updated_at = now()`,
        [rows],
      ),
  )
  const assignments = ofRecord.map(({ column }) => (column === 'title' ? 'title = coalesce(v.title, r.title)' : `${column} = v.${column}`))
  await writeInStatements(
    rowsOf(changed, (id, next) => ({ id, ...rowOf(ofRecord, next) })),
    (rows) =>
      trx.raw(
        `UPDATE ${record} r SET ${assignments.join(', ')}, updated_at = now()
         FROM jsonb_populate_recordset(NULL::${record}, CAST(? AS jsonb)) v WHERE r.id = v.id`,
        [rows],
      ),
  )
}

/** Lazily: five hundred records at once would take a hundred megabytes. */
function* rowsOf(changed: ReadonlyMap<string, MetadataRecord>, rowOf: (id: string, next: MetadataRecord) => object): Generator<object> {
  for (const [id, next] of changed) yield rowOf(id, next)
}

/** Passes rows to `write` as JSON lists, each within the limit of one statement. */
export async function writeInStatements(rows: Iterable<object>, write: (rows: string) => PromiseLike<unknown>): Promise<void> {
  let texts: string[] = []
  let length = 0
  let lengthOfTurn = 0
  for (const row of rows) {
    const text = JSON.stringify(row)
    lengthOfTurn += text.length
    if (lengthOfTurn > TURN_LENGTH) {
      lengthOfTurn = 0
      await nextTurn()
    }
    if (texts.length > 0 && length + text.length > STATEMENT_LENGTH) {
      await write(`[${texts.join()}]`)
      texts = []
      length = 0
    }
    texts.push(text)
    length += text.length
  }
  if (texts.length > 0) await write(`[${texts.join()}]`)
}
