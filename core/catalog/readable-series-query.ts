import type { Knex } from 'knex'
import { type Viewer, visibilityOf, visibleSql } from '#core/account/visibility.ts'
import { CHOSEN_COVER } from '#core/catalog/readable-book-query.ts'
import { prepared } from '#core/database/prepared.ts'
import { select } from '#core/database/select.ts'
import { READING_ORDER } from '#core/fields/reading-order.ts'

/** What showing the cover of a series needs. */
export interface ReadableSeries {
  id: string
  /** The cover that a person or plugin selected; null for that of a book. */
  chosenCover: { id: string; hash: string } | null
  /** The first book in reading order that has a cover; null when none has. */
  coverBookId: string | null
}

const READABLE = `
  SELECT series.id, ${CHOSEN_COVER} AS "chosenCover",
    (SELECT books.id FROM books WHERE books.series_id = series.id AND books.cover_hash IS NOT NULL AND books.deleted_at IS NULL
     ORDER BY ${READING_ORDER} LIMIT 1) AS "coverBookId"
  FROM series LEFT JOIN covers ON covers.series_id = series.id AND covers.is_selected WHERE series.id = ? AND ${visibleSql('series.id')}`

/** The series if the caller may see it, else null. */
export async function findReadableSeries(database: Knex, caller: Viewer, seriesId: string): Promise<ReadableSeries | null> {
  const [row] = await select<ReadableSeries>(prepared(database.raw(READABLE, [seriesId, ...visibilityOf(caller)])))
  return row ?? null
}
