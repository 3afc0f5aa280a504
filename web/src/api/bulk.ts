import { type NameChange, nameParts, type SharingChange, sharedAfter } from '#api/bulk-changes.ts'
import { api, ask } from '#api/client.ts'
import { SHOWS_MISSING } from '#api/missing-books.ts'
import { refresh, SHOWS_PROGRESS } from '#api/reading.ts'

/** The most ids that a request of the API may have. */
const BOOKS_MAX = 500
const SERIES_MAX = 100

/** How many of all are done. */
type OnDone = (done: number) => void

interface Batches {
  ids: readonly string[]
  size: number
  signal: AbortSignal
  onDone: OnDone
}

/** Runs batches one after the other; ends between two of them when it is stopped. */
async function inBatches({ ids, size, signal, onDone }: Batches, run: (batch: string[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < ids.length; at += size) {
    signal.throwIfAborted()
    await run(ids.slice(at, at + size))
    onDone(Math.min(ids.length, at + size))
  }
}

/** Something that is done with many books or series. Stopping it leaves done what is done. */
export type BulkWork = (ids: readonly string[], onDone: OnDone, signal: AbortSignal) => Promise<void>

type BooksCall = (bookIds: string[]) => Promise<unknown>
type SeriesCall = (seriesIds: string[]) => Promise<unknown>

const ofBooks =
  (call: BooksCall, nouns: readonly string[]): BulkWork =>
  (ids, onDone, signal) =>
    inBatches({ ids, size: BOOKS_MAX, signal, onDone }, call).finally(() => refresh(nouns))
const ofSeries =
  (call: SeriesCall, nouns: readonly string[], size = SERIES_MAX): BulkWork =>
  (ids, onDone, signal) =>
    inBatches({ ids, size, signal, onDone }, call).finally(() => refresh(nouns))

export const readBooks = ofBooks((bookIds) => ask(api.POST('/api/v1/books/bulk/read', { body: { bookIds } })), SHOWS_PROGRESS)
export const unreadBooks = ofBooks((bookIds) => ask(api.POST('/api/v1/books/bulk/unread', { body: { bookIds } })), SHOWS_PROGRESS)
/** Needs `books-write`. */
export const analyzeBooks = ofBooks((bookIds) => ask(api.POST('/api/v1/books/bulk/analyze', { body: { bookIds, force: true } })), [])

/** Removes the records of books whose files are missing. Needs `series-write`. */
export const removeMissingBooks = ofBooks(
  (bookIds) => ask<unknown>(api.POST('/api/v1/books/bulk/purge-deleted', { body: { bookIds } })),
  SHOWS_MISSING,
)

export const readManySeries = ofSeries((seriesIds) => ask(api.POST('/api/v1/series/bulk/read', { body: { seriesIds } })), SHOWS_PROGRESS)
export const unreadManySeries = ofSeries(
  (seriesIds) => ask(api.POST('/api/v1/series/bulk/unread', { body: { seriesIds } })),
  SHOWS_PROGRESS,
)
/** Needs `series-write`. */
export const analyzeManySeries = ofSeries(
  (seriesIds) => ask(api.POST('/api/v1/series/bulk/analyze', { body: { seriesIds, force: true } })),
  [],
)

const WANTED = ['want-to-read', 'series', 'series-list']
const seriesPath = ([seriesId]: string[]) => ({ params: { path: { seriesId: seriesId as string } } })
export const wantManySeries = ofSeries((ids) => ask(api.PUT('/api/v1/user/want-to-read/{seriesId}', seriesPath(ids))), WANTED, 1)
/** Deletes the records of books whose files are missing. Needs `series-write`. */
export const deleteMissing = ofSeries(
  (ids) => ask<unknown>(api.DELETE('/api/v1/series/{seriesId}/purge-deleted', seriesPath(ids))),
  SHOWS_MISSING,
  1,
)

/** A collection or read list that exists, or the name of a new one. */
export type TargetList = { id: string } | { name: string }

/** Needs `series-write`. */
export const addToCollection = (to: TargetList): BulkWork => {
  let collectionId = 'id' in to ? to.id : null
  return ofSeries(
    async (seriesIds) => {
      if (collectionId)
        return ask<unknown>(
          api.POST('/api/v1/collections/{collectionId}/series', { params: { path: { collectionId } }, body: { seriesIds } }),
        )
      const made = await ask(api.POST('/api/v1/collections', { body: { name: (to as { name: string }).name, seriesIds } }))
      collectionId = (made as { id: string }).id
    },
    ['collections', 'collection'],
    BOOKS_MAX,
  )
}

/** Needs `books-write`. */
export const addToReadList = (to: TargetList): BulkWork => {
  let readListId = 'id' in to ? to.id : null
  return ofBooks(
    async (bookIds) => {
      if (readListId)
        return ask<unknown>(api.POST('/api/v1/read-lists/{readListId}/books', { params: { path: { readListId } }, body: { bookIds } }))
      const made = await ask(api.POST('/api/v1/read-lists', { body: { name: (to as { name: string }).name, bookIds } }))
      readListId = (made as { id: string }).id
    },
    ['read-lists', 'read-list'],
  )
}

const SHOWS_NAMES = ['books', 'book', 'series-list', 'series', 'filter-values']

/** Needs `books-write`. */
export const changeBookNames = (change: NameChange): BulkWork =>
  ofBooks(async (bookIds) => {
    for (const { of, ...names } of nameParts(change))
      await ask<unknown>(api.POST(`/api/v1/books/bulk/${of}`, { body: { bookIds, ...names } }))
  }, SHOWS_NAMES)
/** Needs `series-write`. */
export const changeSeriesNames = (change: NameChange): BulkWork =>
  ofSeries(async (seriesIds) => {
    for (const { of, ...names } of nameParts(change))
      await ask<unknown>(api.POST(`/api/v1/series/bulk/${of}`, { body: { seriesIds, ...names } }))
  }, SHOWS_NAMES)

/** Needs `system-admin`. */
export const shareManySeries = (change: SharingChange): BulkWork =>
  ofSeries(
    async (ids) => {
      const before = (await ask(api.GET('/api/v1/series/{seriesId}/sharing-tags', seriesPath(ids)))).map(({ id }) => id)
      const sharingTagIds = sharedAfter(before, change)
      await ask<unknown>(api.PUT('/api/v1/series/{seriesId}/sharing-tags', { ...seriesPath(ids), body: { sharingTagIds } }))
    },
    ['sharing-tags', 'filter-values', 'series', 'series-list'],
    1,
  )
