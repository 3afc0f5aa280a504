import type { Knex } from 'knex'
import type { CoverOwner } from '#core/covers/cover.ts'
import { eachById } from '#core/database/each-by-id.ts'

/** A cover whose size and color are not stored, because it is older than their columns. */
export interface UndescribedCover {
  /** Of its row: the book, or the chosen cover. */
  id: string
  hash: string
  /** The owner of a chosen cover; null for the cover from the file of a book. */
  owner: CoverOwner | null
}

export interface CoverDescription {
  id: string
  hash: string
  width: number
  height: number
  color: string
}

const undescribedBooks = (database: Knex) => database('books').whereNotNull('cover_hash').whereNull('cover_color')
const undescribedChosen = (database: Knex) => database('covers').whereNull('color')

export async function hasUndescribedCovers(database: Knex): Promise<boolean> {
  return (await undescribedBooks(database).first('id')) !== undefined || (await undescribedChosen(database).first('id')) !== undefined
}

export async function countUndescribedCovers(database: Knex): Promise<number> {
  const [books, chosen] = await Promise.all([undescribedBooks(database), undescribedChosen(database)].map((query) => query.count('*')))
  return Number(books?.[0]?.count) + Number(chosen?.[0]?.count)
}

interface ChosenRow {
  id: string
  hash: string
  book_id: string | null
  series_id: string | null
  collection_id: string | null
  read_list_id: string | null
}

/** Some at a time, those of files first. */
export async function* eachUndescribedCover(database: Knex, limit: number): AsyncGenerator<UndescribedCover[]> {
  const books = undescribedBooks(database).select('id', 'cover_hash AS hash')
  for await (const rows of eachById<{ id: string; hash: string }>(books, limit)) yield rows.map((row) => ({ ...row, owner: null }))
  const chosen = undescribedChosen(database).select('id', 'hash', 'book_id', 'series_id', 'collection_id', 'read_list_id')
  for await (const rows of eachById<ChosenRow>(chosen, limit))
    yield rows.map((row) => ({ id: row.id, hash: row.hash, owner: ownerOf(row) }))
}

function ownerOf(row: ChosenRow): CoverOwner {
  const kind = (['book', 'series', 'collection', 'read_list'] as const).find((one) => row[`${one}_id`] !== null) ?? 'book'
  return { kind, id: row[`${kind}_id`] as string }
}

/** Stores descriptions of covers that are still the same. The records do not count as changed: their pictures are not. */
export async function recordCoverDescriptions(
  database: Knex,
  table: 'books' | 'covers',
  given: readonly CoverDescription[],
): Promise<void> {
  if (given.length === 0) return
  const { values, isSame } =
    table === 'books'
      ? { values: 'cover_width = g.width, cover_height = g.height, cover_color = g.color', isSame: 'c.cover_hash = g.hash' }
      : { values: 'color = g.color', isSame: 'c.hash = g.hash' }
  await database.raw(
    `UPDATE ${table} c SET ${values} FROM json_to_recordset(CAST(? AS json)) AS g (id uuid, hash text, width integer, height integer, color text)
       WHERE c.id = g.id AND c.id = ANY(CAST(? AS uuid[])) AND ${isSame}`,
    [JSON.stringify(given), given.map(({ id }) => id)],
  )
}
