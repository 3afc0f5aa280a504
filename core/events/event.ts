import type { Static, TObject, TProperties } from 'typebox'
import Type from 'typebox'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { TASK_STATUSES } from '#core/foundation/task-status.ts'

const Fields = Type.Array(Type.String(), { description: 'Names of the members that changed, as in the record.' })
const ofLibrary = { libraryId: Uuid }
const ofSeries = { seriesId: Uuid, ...ofLibrary }
const ofBook = { bookId: Uuid, ...ofSeries }
const ofCollection = { collectionId: Uuid }
const ofReadList = { readListId: Uuid }
const ofPlugin = { pluginId: Uuid }
const Count = Type.Integer({ minimum: 0 })
const fields = { fields: Type.Optional(Fields) }
const file = { bookId: Uuid, ...ofLibrary, fileName: Type.String() }
const FinishedFile = Noun('FinishedFile')({
  ...file,
  outcome: OneOf(['analyzed', 'failed', 'unchanged']),
  durationMs: Type.Integer({ minimum: 0, description: 'How long the file was read, without the time in which its data was written.' }),
})
export type FinishedFile = Static<typeof FinishedFile>

/** @param needed the permission that a client needs to read the subject of the event by REST; null: none */
const needing = <Needed extends string | null, Members extends TProperties>(needed: Needed, members: Members) => ({ needed, members })

/** Every type of event with its members; each has `type` and `timestamp` as well. There are no others. */
export const EVENTS = {
  book_created: needing('books-read', ofBook),
  book_updated: needing('books-read', { ...ofBook, ...fields }),
  book_deleted: needing('books-read', ofBook),
  series_created: needing('series-read', ofSeries),
  series_updated: needing('series-read', { ...ofSeries, ...fields }),
  series_deleted: needing('series-read', ofSeries),
  series_metadata_updated: needing('series-read', { ...ofSeries, ...ofPlugin, fieldsUpdated: Fields }),
  series_bulk_purged: needing('series-read', { ...ofSeries, count: Count }),
  // What it needs depends on the record.
  cover_updated: needing(null, {
    entityType: OneOf(['book', 'series', 'library']),
    entityId: Uuid,
    libraryId: Type.Optional(Uuid),
    seriesId: Type.Optional(Uuid),
  }),
  library_updated: needing('libraries-read', { ...ofLibrary, ...fields }),
  library_deleted: needing('libraries-read', ofLibrary),
  collection_created: needing('series-read', ofCollection),
  collection_updated: needing('series-read', ofCollection),
  collection_deleted: needing('series-read', ofCollection),
  read_list_created: needing('books-read', ofReadList),
  read_list_updated: needing('books-read', ofReadList),
  read_list_deleted: needing('books-read', ofReadList),
  plugin_created: needing('system-admin', ofPlugin),
  plugin_updated: needing('system-admin', ofPlugin),
  plugin_enabled: needing('system-admin', ofPlugin),
  plugin_disabled: needing('system-admin', ofPlugin),
  plugin_deleted: needing('system-admin', ofPlugin),
  user_plugin_paused: needing('progress-read', ofPlugin),
  progress_updated: needing('progress-read', ofBook),
  progress_deleted: needing('progress-read', ofBook),
  rating_updated: needing('series-read', ofSeries),
  want_to_read_updated: needing('progress-read', ofSeries),
  recommendations_updated: needing('progress-read', ofPlugin),
  export_updated: needing('series-read', { exportId: Uuid, status: OneOf(TASK_STATUSES) }),
  scan_updated: needing('libraries-read', {
    ...ofLibrary,
    taskId: Uuid,
    status: OneOf(TASK_STATUSES),
    filesTotal: Count,
    filesProcessed: Count,
    booksFound: Count,
    seriesFound: Count,
    mode: OneOf(['normal', 'deep']),
    pendingAnalysis: Type.Integer({
      minimum: 0,
      description:
        'As in the status of the scan. A completed scan has found all books; those that still wait for their analysis are these.',
    }),
    guard: Nullable(Type.Object({ known: Count, missing: Count }), { description: 'As in the status of the scan.' }),
    errors: Type.Array(Type.String(), { description: 'The first few; the status of the scan has all of them.' }),
    startedAt: Timestamp,
    completedAt: Type.Optional(Timestamp),
  }),
  scan_withheld: needing('libraries-write', {
    ...ofLibrary,
    taskId: Uuid,
    books: Type.Integer({ minimum: 0, description: 'Missing books that were not marked as deleted.' }),
    folders: Type.Array(Type.Object({ folder: Type.String(), reason: Type.String(), books: Count }), {
      description: 'The first few, as in the status of the scan, which has all of them.',
    }),
  }),
  task_updated: needing('tasks-read', {
    taskId: Uuid,
    taskType: Type.String(),
    status: OneOf(TASK_STATUSES),
    progress: Type.Optional(Type.Object({ current: Type.Integer(), total: Type.Integer(), message: Type.Optional(Type.String()) })),
    error: Type.Optional(Type.String({ description: 'For a cancelled task: that it was cancelled.' })),
    startedAt: Timestamp,
    completedAt: Type.Optional(Timestamp),
    libraryId: Type.Optional(Uuid),
    seriesId: Type.Optional(Uuid),
    bookId: Type.Optional(Uuid),
  }),
  scan_files: needing('libraries-write', {
    readerId: Type.String({
      format: 'uuid',
      description: 'The process that reads the files: each process reports its own, and replaces its last list.',
    }),
    running: Type.Array(Type.Object({ ...file, startedAt: Timestamp }), { description: 'Files that are being read, the first few.' }),
    finished: Type.Array(FinishedFile, { description: 'Files that were finished since the last event, the last few.' }),
    finishedCount: Type.Integer({ minimum: 0, description: 'How many files were finished since the last event.' }),
  }),
  queue_updated: needing('tasks-read', {
    count: Type.Integer({ minimum: 0, description: 'How many tasks wait or run.' }),
    countByType: Type.Record(Type.String(), Count),
  }),
  /** Events were missed, or the user's permissions have changed: the client must reload everything that it shows. */
  reload: needing(null, {}),
}

export type EventType = keyof typeof EVENTS
export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]

/** An event without its time. */
type NewEvent = { [Name in EventType]: { type: Name } & Static<TObject<(typeof EVENTS)[Name]['members']>> }[EventType]
export type CarrelEvent = {
  [Name in EventType]: { type: Name; timestamp: string } & Static<TObject<(typeof EVENTS)[Name]['members']>>
}[EventType]

/** `book_created` is a BookCreatedEvent. */
const titleOf = (type: EventType) => `_${type}_event`.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The schema of one kind of event. */
export const eventSchema = (type: EventType) =>
  Type.Object(
    { type: Type.Literal(type), ...EVENTS[type].members, timestamp: Timestamp },
    { additionalProperties: false, title: titleOf(type) },
  )

/** The schema of several kinds of events, told apart by `type`. */
export const eventsSchema = (types: readonly EventType[], title: string) =>
  Type.Union(types.map(eventSchema), {
    title,
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(types.map((type) => [type, `#/components/schemas/${titleOf(type)}`])),
    },
  })

/** What decides who sees a series, see core/account/visibility.ts. */
export interface SeriesFacts {
  libraryId: string
  /** Null for a series without a rating. */
  age: number | null
  /** Its sharing tags. */
  tagIds: readonly string[]
}

/** Who receives an event, besides the permission that its type needs. */
interface Reach {
  /** The series that decides who sees the event, if the event itself names none; if that series does not exist, only users who see every series. */
  seriesId?: string
  /** Only this user; for a task also administrators. */
  userId?: string
  /** Of this user, only who has come by this API key, or by none. */
  narrowedBy?: string | null
  /** Of a deleted series, before its deletion. */
  gone?: SeriesFacts
  /** Of the series of which a resource is made, when the event was announced: who may see one such series receives the event. */
  members?: readonly SeriesFacts[]
  /** After this event the user's streams end, because the user's permissions have changed. Clients reconnect with the new permissions. */
  ends?: true
}

export interface NewAnnouncement extends Reach {
  event: NewEvent
}

/** An event with its recipients. */
export interface Announcement extends Reach {
  /** The same on every node; contains no information. */
  id: string
  event: CarrelEvent
}

/** The series that decides who sees an event; undefined when none does. */
export function seriesOf({ event, seriesId }: Announcement): string | undefined {
  const named = ('seriesId' in event ? event.seriesId : undefined) ?? seriesId
  // A book id is never a series id: when an event does not name its series, only users who see everything receive it.
  return event.type === 'cover_updated' && event.entityType !== 'library' ? (named ?? event.entityId) : named
}
