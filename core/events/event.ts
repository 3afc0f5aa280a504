import type { Static, TObject, TProperties } from 'typebox'
import Type from 'typebox'
import { OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'

const Fields = Type.Array(Type.String(), { description: 'Names of the members that changed, as the record has them.' })
const ofLibrary = { libraryId: Uuid }
const ofSeries = { seriesId: Uuid, ...ofLibrary }
const ofBook = { bookId: Uuid, ...ofSeries }
const ofCollection = { collectionId: Uuid }
const ofReadList = { readListId: Uuid }
const ofPlugin = { pluginId: Uuid }
const Count = Type.Integer({ minimum: 0 })
const fields = { fields: Type.Optional(Fields) }

/** Every kind of event with its members; each has `type` and `timestamp` beside them. There are no others. */
export const EVENT_MEMBERS = {
  book_created: ofBook,
  book_updated: { ...ofBook, ...fields },
  book_deleted: ofBook,
  series_created: ofSeries,
  series_updated: { ...ofSeries, ...fields },
  series_deleted: ofSeries,
  series_metadata_updated: { ...ofSeries, ...ofPlugin, fieldsUpdated: Fields },
  series_bulk_purged: { ...ofSeries, count: Count },
  cover_updated: {
    entityType: OneOf(['book', 'series', 'library']),
    entityId: Uuid,
    libraryId: Type.Optional(Uuid),
    seriesId: Type.Optional(Uuid),
  },
  library_updated: { ...ofLibrary, ...fields },
  library_deleted: ofLibrary,
  collection_created: ofCollection,
  collection_updated: ofCollection,
  collection_deleted: ofCollection,
  read_list_created: ofReadList,
  read_list_updated: ofReadList,
  read_list_deleted: ofReadList,
  plugin_created: ofPlugin,
  plugin_updated: ofPlugin,
  plugin_enabled: ofPlugin,
  plugin_disabled: ofPlugin,
  plugin_deleted: ofPlugin,
  progress_updated: ofBook,
  progress_deleted: ofBook,
  scan_updated: {
    ...ofLibrary,
    taskId: Uuid,
    status: OneOf(['pending', 'processing', 'completed', 'failed', 'cancelled']),
    filesTotal: Count,
    filesProcessed: Count,
    booksFound: Count,
    seriesFound: Count,
    errors: Type.Array(Type.String(), { description: 'The first few; the status of the scan has them all.' }),
    startedAt: Timestamp,
    completedAt: Type.Optional(Timestamp),
  },
  task_updated: {
    taskId: Uuid,
    taskType: Type.String(),
    status: OneOf(['pending', 'running', 'completed', 'failed']),
    progress: Type.Optional(Type.Object({ current: Type.Integer(), total: Type.Integer(), message: Type.Optional(Type.String()) })),
    error: Type.Optional(Type.String({ description: 'Of a cancelled task: that it was cancelled.' })),
    startedAt: Timestamp,
    completedAt: Type.Optional(Timestamp),
    libraryId: Type.Optional(Uuid),
    seriesId: Type.Optional(Uuid),
    bookId: Type.Optional(Uuid),
  },
  queue_updated: {
    count: Type.Integer({ minimum: 0, description: 'Of tasks that wait or run.' }),
    countByType: Type.Record(Type.String(), Count),
  },
  /** Something was missed or what the user may see has changed: everything shown has to be read again. */
  reload: {},
} as const satisfies Record<string, TProperties>

export type EventType = keyof typeof EVENT_MEMBERS
export const EVENT_TYPES = Object.keys(EVENT_MEMBERS) as EventType[]

/** What happened, before it has a time. */
export type NewEvent = { [Name in EventType]: { type: Name } & Static<TObject<(typeof EVENT_MEMBERS)[Name]>> }[EventType]
/** What happened. */
export type CarrelEvent = {
  [Name in EventType]: { type: Name; timestamp: string } & Static<TObject<(typeof EVENT_MEMBERS)[Name]>>
}[EventType]

/** The schema of one kind of event. */
export const eventSchema = (type: EventType) =>
  Type.Object({ type: Type.Literal(type), ...EVENT_MEMBERS[type], timestamp: Timestamp }, { additionalProperties: false })

/** Whom an event is for, beside the permission that its kind needs. */
export interface Reach {
  /** The series that decides who sees it, where the event names none; of one that does not exist only users who see every series are told. */
  seriesId?: string
  /** Only this user; of a task administrators too. */
  userId?: string
  /** Sharing tags that the series carried, where it is gone. */
  tagIds?: readonly string[]
  /**
   * Of what is made of several series: sets of sharing tags that those carried when it was announced. Who may see a series that carries one of
   * these sets is told.
   */
  tagSets?: readonly (readonly string[])[]
  /** The streams of the user end after it: what the user may do has changed. They come back with what it is now. */
  ends?: true
}

export interface NewAnnouncement extends Reach {
  event: NewEvent
}

/** An event on its way to those who follow. */
export interface Announcement extends Reach {
  /** The same on every node, and tells nothing. */
  id: string
  event: CarrelEvent
}
