import { Client } from 'pg'
import { findRunningUrl } from '#core/embedded/embedded-postgres.ts'

/** The tables with rows of a book or a series. */
const TABLES = {
  book: ['book_metadata', 'book_genres', 'book_tags', 'book_external_ids', 'book_external_links', 'book_search'],
  series: [
    'series_metadata',
    'series_genres',
    'series_tags',
    'series_alternate_titles',
    'series_external_ids',
    'series_external_links',
    'series_external_ratings',
    'series_search',
  ],
} as const
/** Columns that are not copied. */
const OWN_COLUMNS = new Set(['id'])
/** The copied columns of the record itself; those of its file stay unchanged. */
const RECORD_COLUMNS = {
  book: ['title', 'title_sort', 'number', 'volume', 'chapter'],
  series: ['title', 'title_sort', 'reading_direction'],
} as const

/**
 * Copies the metadata of one book or series to all others: by requests it would take an hour, mostly for the search documents.
 * @param dataFolder of the running server
 * @param model id of the record that is as large as its limits allow
 */
export async function copyToAll(dataFolder: string, kind: 'book' | 'series', model: string): Promise<void> {
  const url = await findRunningUrl(dataFolder)
  if (!url) throw new Error('The database of the server was not found.')
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const records = kind === 'book' ? 'books' : 'series'
    await client.query('BEGIN')
    for (const table of [records, ...TABLES[kind]]) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`)
    for (const table of TABLES[kind]) await copyRows(client, { table, records, owner: `${kind}_id`, model })
    const columns = RECORD_COLUMNS[kind]
    await client.query(
      `UPDATE ${records} r SET ${columns.map((column) => `${column} = m.${column}`).join(', ')} FROM ${records} m WHERE m.id = $1 AND r.id <> m.id`,
      [model],
    )
    for (const table of [records, ...TABLES[kind]]) await client.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`)
    await client.query('COMMIT')
    await client.query('ANALYZE')
  } finally {
    await client.end()
  }
}

async function copyRows(client: Client, of: { table: string; records: string; owner: string; model: string }): Promise<void> {
  const { table, records, owner, model } = of
  const { rows } = await client.query(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 AND is_generated = 'NEVER'`,
    [table],
  )
  const copied = rows.map(({ name }) => name as string).filter((name) => name !== owner && !OWN_COLUMNS.has(name))
  // The columns of a book that the search repeats stay those of the book.
  const values = copied.map((name) => (table === 'book_search' && name !== 'document' ? `r.${name}` : `m.${name}`))
  await client.query(`DELETE FROM ${table} WHERE ${owner} <> $1`, [model])
  await client.query(
    `INSERT INTO ${table} (${[owner, ...copied].join(', ')}) SELECT ${['r.id', ...values].join(', ')}
     FROM ${records} r, ${table} m WHERE m.${owner} = $1 AND r.id <> $1`,
    [model],
  )
}
