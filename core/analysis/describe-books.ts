import type { Knex } from 'knex'
import type { AnalysisToWrite } from '#core/analysis/analyzed-book.ts'
import type { Recorded } from '#core/analysis/book-store.ts'
import { type EmbeddedRecord, recordEmbedded } from '#core/analysis/record-embedded.ts'
import type { Announcer } from '#core/events/announcer.ts'
import type { NewAnnouncement } from '#core/events/event.ts'
import { aggregateAfter, aggregateSettled } from '#core/metadata/aggregate-series.ts'

/**
 * Writes the metadata of analyzed files, and aggregates their series. Runs within the transaction that has written the analyses.
 * @param recorded what was written, by book
 * @returns the same with what the metadata has changed
 */
export async function describeBooks(
  trx: Knex.Transaction,
  all: readonly AnalysisToWrite[],
  recorded: ReadonlyMap<string, Recorded>,
): Promise<Map<string, Recorded>> {
  const changed = await recordEmbedded(trx, all.filter(({ bookId }) => recorded.has(bookId)).map(recordOf))
  // A moved book now contributes to another series.
  const moved = new Set(all.filter(({ bookId, book }) => bookId !== book.id).map(({ bookId }) => bookId))
  const contributing = [...recorded].filter(([id]) => changed.has(id) || moved.has(id))
  const due = await aggregateAfter(
    trx,
    contributing.map(([, { seriesId }]) => seriesId),
  )
  const described = contributing.map(([id, one]): [string, Recorded] => [
    id,
    { ...one, changed: [...one.changed, ...(changed.get(id) ?? [])], aggregateDue: due.has(one.seriesId) },
  ])
  return new Map([...recorded, ...described])
}

/** The consequences of writing an analysis. */
export interface Consequences {
  /** Series to aggregate when all of their analyses have ended. */
  due: string[]
  /** To be announced after the commit. */
  announcements: NewAnnouncement[]
}

/** After the commit. */
export async function finishWriting(
  { database, announcer }: { database: Knex; announcer: Announcer },
  all: readonly Consequences[],
): Promise<void> {
  announcer.soon(all.flatMap(({ announcements }) => announcements))
  await aggregateSettled(database, [...new Set(all.flatMap(({ due }) => due))])
}

const recordOf = ({ book, bookId, analysis: { embedded } }: AnalysisToWrite): EmbeddedRecord => ({
  bookId,
  fileName: book.file_name,
  bookStrategy: book.book_strategy,
  embedded,
})
