import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { type Announcement, type NewAnnouncement, type SeriesFacts, seriesOf } from '#core/events/event.ts'
import { foldAnnouncements } from '#core/events/fold.ts'

/** The channel on which the nodes notify each other. */
export const EVENT_CHANNEL = 'carrel_event'
/** PostgreSQL's limit is 8,000 bytes; a UTF-16 code unit takes at most three. */
const PAYLOAD_BYTES_MAX = 7_900
/** Per commit. More are folded before it is known who receives them, which should be rare: a batch of a scan has hundreds of new books. */
const ANNOUNCED_MAX = 1_000
/** So that one event fits into a notification: texts of users and lists of names are cut. */
const TEXT_LENGTH_MAX = 300
const NAMES_MAX = 60
const ERRORS_MAX = 5
/** Each is a UUID. A series has a hundred at most. */
const TAGS_MAX = 100
/** Of the running files of an event, and of the finished ones. */
const FILES_BYTES_MAX = 3_500
const ID_BYTES = 9

/**
 * Announces what a transaction changes: followers on every node receive it after the commit, and never when it is rolled back. Events cannot
 * be announced outside of a transaction: such an event could be lost, or sent without its change.
 */
export async function announce(trx: Knex.Transaction, announcements: readonly NewAnnouncement[]): Promise<void> {
  if (announcements.length === 0) return
  const all = dated(announcements)
  const folded = foldAnnouncements(all, ANNOUNCED_MAX)
  const payloads = packAnnouncements(folded === all ? all : await forWhoSeesAny(trx, all, folded))
  await trx.raw('SELECT pg_notify(?, payload) FROM unnest(CAST(? AS text[])) AS payload', [EVENT_CHANNEL, payloads])
}

/** Events of series that became one of their library go to those who see one of these series: it would tell others that something hidden has changed. */
async function forWhoSeesAny(trx: Knex, all: readonly Announcement[], folded: readonly Announcement[]): Promise<Announcement[]> {
  const own = new Set(all.flatMap(({ event }) => (event.type === 'library_updated' ? event.libraryId : [])))
  const there = await readSeriesFacts(trx, [...new Set(all.flatMap((one) => seriesOf(one) ?? []))])
  const facts = [...there.values(), ...all.flatMap(({ gone }) => gone ?? [])]
  return folded.map((one) => {
    const { event } = one
    if (event.type !== 'library_updated' || own.has(event.libraryId)) return one
    const { libraryId } = event
    const members = lowestAges(facts.filter((each) => each.libraryId === libraryId))
    // An id that is none of a series: only for who sees everything.
    return { ...one, members, ...(members.length === 0 && { seriesId: libraryId }) }
  })
}

/** Who sees a series of an age sees those of lower ages too. */
function lowestAges(all: readonly SeriesFacts[]): SeriesFacts[] {
  const lowest = new Map<string, SeriesFacts>()
  for (const facts of all) {
    const key = `${facts.age === null} ${[...facts.tagIds].sort()}`
    const known = lowest.get(key)
    if (known === undefined || (facts.age ?? 0) < (known.age ?? 0)) lowest.set(key, facts)
  }
  return [...lowest.values()]
}

function dated(announcements: readonly NewAnnouncement[]): Announcement[] {
  const timestamp = new Date().toISOString()
  return announcements.map(({ event, ...reach }) => ({
    ...reach,
    id: randomBytes(ID_BYTES).toString('base64url'),
    event: { ...boundTexts(event), timestamp } as Announcement['event'],
  }))
}

type NewEvent = NewAnnouncement['event']

function boundTexts(event: NewEvent): NewEvent {
  // JSON writes a control character with six characters: texts of a scan that are full of them would not fit into a notification.
  const cut = (text: string) =>
    text
      .slice(0, TEXT_LENGTH_MAX)
      .toWellFormed()
      .replace(/\p{Cc}/gu, ' ')
  if (event.type === 'scan_updated') return { ...event, errors: event.errors.slice(0, ERRORS_MAX).map(cut) }
  if (event.type === 'scan_files') return boundFiles(event, cut)
  if (event.type === 'scan_withheld')
    return { ...event, folders: event.folders.slice(0, ERRORS_MAX).map((one) => ({ ...one, folder: cut(one.folder) })) }
  if (event.type === 'task_updated') {
    const { error, progress } = event
    return {
      ...event,
      ...(error !== undefined && { error: cut(error) }),
      ...(progress?.message !== undefined && { progress: { ...progress, message: cut(progress.message) } }),
    }
  }
  if (event.type === 'series_metadata_updated') return { ...event, fieldsUpdated: event.fieldsUpdated.slice(0, NAMES_MAX) }
  if ('fields' in event && event.fields) return { ...event, fields: event.fields.slice(0, NAMES_MAX) }
  return event
}

/** As many files as fit, the oldest running and the newest finished ones. */
function boundFiles(event: Extract<NewEvent, { type: 'scan_files' }>, cut: (text: string) => string): NewEvent {
  const fit = <File extends { fileName: string }>(files: readonly File[]): File[] => {
    let left = FILES_BYTES_MAX
    return files
      .map((file) => ({ ...file, fileName: cut(file.fileName) }))
      .filter((file) => {
        left -= Buffer.byteLength(JSON.stringify(file)) + 1
        return left >= 0
      })
  }
  return { ...event, running: fit(event.running), finished: fit(event.finished.toReversed()).reverse() }
}

/** Packs announcements into as few notifications as possible, in their order. */
function packAnnouncements(all: readonly Announcement[]): string[] {
  const payloads: string[] = []
  let parts: string[] = []
  let bytes = 2
  for (const announcement of all) {
    const { gone, members } = announcement
    const part = JSON.stringify({
      ...announcement,
      ...(gone && { gone: { ...gone, tagIds: gone.tagIds.slice(0, TAGS_MAX) } }),
      ...(members && { members: fewMembers(members) }),
    })
    const partBytes = Buffer.byteLength(part) + 1
    if (parts.length > 0 && bytes + partBytes > PAYLOAD_BYTES_MAX) {
      payloads.push(`[${parts.join()}]`)
      parts = []
      bytes = 2
    }
    parts.push(part)
    bytes += partBytes
  }
  payloads.push(`[${parts.join()}]`)
  return payloads
}

/** As many as fit, those with the fewest tags first: users who see only the omitted ones are not notified. */
function fewMembers(all: readonly SeriesFacts[]): SeriesFacts[] {
  let left = TAGS_MAX
  return [...all]
    .sort((a, b) => a.tagIds.length - b.tagIds.length)
    .filter(({ tagIds }) => {
      // Library and age take the room of two tags.
      left -= tagIds.length + 2
      return left >= 0
    })
}

/** Parses the payload of a notification. */
export const readAnnouncements = (payload: string): Announcement[] => JSON.parse(payload) as Announcement[]

interface BookIds {
  id: string
  series_id: string
  library_id: string
}

export const bookEvent = <Type extends 'book_created' | 'book_deleted' | 'book_updated' | 'progress_updated' | 'progress_deleted'>(
  type: Type,
  { id, series_id, library_id }: BookIds,
) => ({ type, bookId: id, seriesId: series_id, libraryId: library_id })

/** Announces that books have changed. @param fields the members, of every book or of each */
export async function announceBooks(
  trx: Knex.Transaction,
  bookIds: readonly string[],
  fields: readonly string[] | ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  if (bookIds.length === 0) return
  const rows = await listBookIds(trx, bookIds)
  await announce(
    trx,
    rows.map((row) => ({ event: { ...bookEvent('book_updated', row), fields: [...fieldsOf(fields, row.id)] } })),
  )
}

/** Announces read progress in books, or its deletion, to its user only. */
export async function announceProgress(
  trx: Knex.Transaction,
  type: 'progress_updated' | 'progress_deleted',
  userId: string,
  bookIds: readonly string[],
): Promise<void> {
  if (bookIds.length === 0) return
  const rows = await listBookIds(trx, bookIds)
  await announce(
    trx,
    rows.map((row) => ({ event: bookEvent(type, row), userId })),
  )
}

/** Announces to a user, and nobody else, that something of theirs about a series has changed. */
export async function announceOwn(
  trx: Knex.Transaction,
  type: 'rating_updated' | 'want_to_read_updated',
  { userId, seriesId }: { userId: string; seriesId: string },
): Promise<void> {
  const row: { library_id: string } | undefined = await trx('series').where('id', seriesId).first('library_id')
  if (row) await announce(trx, [{ event: { type, seriesId, libraryId: row.library_id }, userId }])
}

async function listBookIds(trx: Knex.Transaction, bookIds: readonly string[]): Promise<BookIds[]> {
  return await trx('books')
    .whereRaw('id = ANY(CAST(? AS uuid[]))', [[...bookIds]])
    .select('id', 'series_id', 'library_id')
}

/**
 * Announces that series have changed.
 * @param fields the members, of every series or of each
 * @param pluginId the plugin that made the change, if any
 */
export async function announceSeries(
  trx: Knex.Transaction,
  seriesIds: readonly string[],
  fields: readonly string[] | ReadonlyMap<string, readonly string[]>,
  pluginId?: string,
): Promise<void> {
  if (seriesIds.length === 0) return
  const rows = await trx('series')
    .whereRaw('id = ANY(CAST(? AS uuid[]))', [[...seriesIds]])
    .select('id', 'library_id')
  await announce(
    trx,
    rows.map((row: { id: string; library_id: string }): NewAnnouncement => {
      const of = { seriesId: row.id, libraryId: row.library_id }
      const changed = [...fieldsOf(fields, row.id)]
      return {
        event: pluginId
          ? { type: 'series_metadata_updated', ...of, pluginId, fieldsUpdated: changed }
          : { type: 'series_updated', ...of, fields: changed },
      }
    }),
  )
}

const fieldsOf = (fields: readonly string[] | ReadonlyMap<string, readonly string[]>, id: string): readonly string[] =>
  'get' in fields ? (fields.get(id) ?? []) : fields

/** Announces changes of books or of series. */
export const announceRecords = (
  trx: Knex.Transaction,
  kind: 'book' | 'series',
  ids: readonly string[],
  fields: readonly string[] | ReadonlyMap<string, readonly string[]>,
  pluginId?: string,
): Promise<void> => (kind === 'book' ? announceBooks(trx, ids, fields) : announceSeries(trx, ids, fields, pluginId))

/** Announces that the cover of a book or a series has changed. */
export async function announceCoverChange(trx: Knex.Transaction, owner: { kind: 'book' | 'series'; id: string }): Promise<void> {
  const { kind, id } = owner
  const series = kind === 'book' ? 'series_id' : 'id AS series_id'
  const row = await trx(kind === 'book' ? 'books' : 'series')
    .where({ id })
    .first(series, 'library_id')
  if (row) await announce(trx, [coverEvent(kind, { id, ...row })])
}

export const coverEvent = (kind: 'book' | 'series', { id, series_id, library_id }: BookIds): NewAnnouncement => ({
  event: { type: 'cover_updated', entityType: kind, entityId: id, libraryId: library_id, seriesId: series_id },
})

/** Announces that the permissions of users have changed: their streams end, and their clients reconnect. */
export async function announceAccess(trx: Knex.Transaction, userIds: readonly string[]): Promise<void> {
  await announce(
    trx,
    userIds.map((userId) => ({ event: { type: 'reload' }, userId, ends: true })),
  )
}

/** Announces that books were deleted permanently. */
export async function announcePurged(trx: Knex.Transaction, books: readonly BookIds[]): Promise<void> {
  const purged = [...Map.groupBy(books, ({ series_id }) => series_id)].map(([seriesId, [first, ...more]]): NewAnnouncement => {
    const { library_id: libraryId } = first as BookIds
    return { event: { type: 'series_bulk_purged', seriesId, libraryId, count: more.length + 1 } }
  })
  await announce(trx, [...books.map((book): NewAnnouncement => ({ event: bookEvent('book_deleted', book) })), ...purged])
}

/** What decides who sees these series, by their ids; without deleted ones. */
export async function readSeriesFacts(database: Knex, seriesIds: readonly string[]): Promise<Map<string, SeriesFacts>> {
  const { rows } = await database.raw(
    `SELECT s.id, s.library_id AS "libraryId", m.age_rating AS age,
       ARRAY(SELECT CAST(t.sharing_tag_id AS text) FROM series_sharing_tags t WHERE t.series_id = s.id) AS "tagIds"
     FROM series s LEFT JOIN series_metadata m ON m.series_id = s.id WHERE s.id = ANY(CAST(? AS uuid[]))`,
    [[...seriesIds]],
  )
  return new Map((rows as (SeriesFacts & { id: string })[]).map(({ id, ...facts }) => [id, facts]))
}

/**
 * Deletes series and announces it with what decides who sees them: after the deletion, no query could find out who may receive the event.
 * @param remove deletes them, and returns which were deleted
 */
export async function announceSeriesGone(
  trx: Knex.Transaction,
  { libraryId, ids }: { libraryId: string; ids: readonly string[] },
  remove: () => Promise<string[]>,
): Promise<void> {
  const facts = await readSeriesFacts(trx, ids)
  const removed = await remove()
  await announce(
    trx,
    removed.map((seriesId) => ({
      event: { type: 'series_deleted', seriesId, libraryId },
      gone: facts.get(seriesId) ?? { libraryId, age: null, tagIds: [] },
    })),
  )
}
