import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { Announcement, CarrelEvent } from '#core/events/event.ts'
import { foldAnnouncements } from '#core/events/fold.ts'

const timestamp = '2026-01-31T12:00:00.000Z'
const LIBRARIES = 2
const SERIES = 30

const idOf = (kind: string, number: number) => `${kind}${number}`
const placeOf = (book: number) => ({
  bookId: idOf('book', book),
  seriesId: idOf('series', book % SERIES),
  libraryId: idOf('library', (book % SERIES) % LIBRARIES),
})

const announced = (event: CarrelEvent, reach: Partial<Announcement> = {}): Announcement => ({ id: randomUUID(), event, ...reach })

/** Events as commits make them. */
const news = fc.array(
  fc.tuple(fc.nat(9), fc.nat(300)).map(([kind, book]): Announcement => {
    const { bookId, seriesId, libraryId } = placeOf(book)
    const place = { bookId, seriesId, libraryId, timestamp }
    if (kind === 0) return announced({ type: 'series_updated', seriesId, libraryId, fields: ['title'], timestamp })
    if (kind === 1) return announced({ type: 'cover_updated', entityType: 'book', entityId: bookId, libraryId, seriesId, timestamp })
    if (kind === 2) return announced({ type: 'progress_updated', ...place }, { userId: idOf('user', book % 3) })
    if (kind === 3)
      return announced(
        { type: 'series_deleted', seriesId, libraryId, timestamp },
        { gone: { libraryId, age: 18, tagIds: [idOf('tag', book)] } },
      )
    if (kind === 4)
      return announced({
        type: 'task_updated',
        taskId: bookId,
        taskType: 'analyze_book',
        status: 'processing',
        startedAt: timestamp,
        timestamp,
      })
    if (kind === 5) return announced({ type: 'book_created', ...place })
    return announced({ type: 'book_updated', ...place, fields: [idOf('field', kind)] })
  }),
  { maxLength: 400 },
)

/** What a client reloads after these events. */
function isCovered({ event, userId }: Announcement, folded: readonly Announcement[]): boolean {
  const told = folded.map((one) => one.event)
  const has = (type: CarrelEvent['type'], member: string, value: unknown) =>
    told.some((one) => one.type === type && (one as unknown as Record<string, unknown>)[member] === value)
  if (event.type === 'task_updated') return true
  if (event.type === 'progress_updated')
    return has('progress_updated', 'bookId', event.bookId) || folded.some((one) => one.event.type === 'reload' && one.userId === userId)
  const { bookId, entityId, seriesId, libraryId } = event as unknown as Record<string, string>
  const ofSeries = (seriesId as string | undefined) ?? placeOf(Number(entityId?.slice('book'.length))).seriesId
  return (
    has('library_updated', 'libraryId', libraryId) ||
    told.some(({ type, ...one }) => type.startsWith('series_') && 'seriesId' in one && one.seriesId === ofSeries) ||
    has(event.type, bookId === undefined ? 'entityId' : 'bookId', bookId ?? entityId)
  )
}

t.test('a few events are not folded; many are folded into events of their parents', async () => {
  fc.assert(
    fc.property(news, fc.integer({ min: 10, max: 100 }), (all, most) => {
      const folded = foldAnnouncements(all, most)
      if (all.length <= most) return folded === all
      // At worst, one for each library, each user, and as many tasks.
      if (folded.length > most * 2 + LIBRARIES + 3) return false
      return all.every((one) => isCovered(one, folded))
    }),
  )
})

t.test('events of one resource join their members', async (t) => {
  const place = { ...placeOf(1), timestamp }
  const all = ['title', 'summary'].flatMap((field) =>
    Array.from({ length: 6 }, () => announced({ type: 'book_updated', ...place, fields: [field] })),
  )
  t.match(foldAnnouncements(all, 10), [{ event: { type: 'book_updated', fields: ['title', 'summary'] } }])
})

t.test('what is only for one user is not taken for the same event of another', async (t) => {
  const users = ['ann', 'bob', 'cat']
  const paused = users.map((userId) => announced({ type: 'user_plugin_paused', pluginId: 'plugin', timestamp }, { userId }))
  t.same(
    foldAnnouncements([...paused, ...paused], 2).map(({ userId }) => userId),
    users,
  )
})

t.test('who sees a member of one of two folded events receives the one that remains', (t) => {
  const collectionId = 'collection'
  const facts = (libraryId: string) => ({ libraryId, age: null, tagIds: [] })
  const changed = (...members: ReturnType<typeof facts>[]) =>
    announced({ type: 'collection_updated', collectionId, timestamp }, { members })
  const membersOf = (...all: Announcement[]) => foldAnnouncements(all, 1).map(({ members }) => members)
  t.same(membersOf(changed(facts('a')), changed(facts('b')), changed(facts('a'))), [[facts('a'), facts('b')]])
  t.same(membersOf(changed(), changed(facts('b'))), [[]], 'everybody')
  t.same(membersOf(changed(facts('a')), changed()), [[]], 'everybody')
  t.end()
})
