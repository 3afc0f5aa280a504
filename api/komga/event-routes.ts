import type { EventServices } from '#api/areas/events.ts'
import { EventForm, eventsFor } from '#api/events/event-reply.ts'
import { formatEvent } from '#api/http/event-stream.ts'
import { komgaStreamOf } from '#api/komga/route.ts'
import { type CarrelEvent, EVENT_TYPES, type EventType } from '#core/events/event.ts'

type Services = EventServices
const komgaStream = komgaStreamOf<Services>()

/** An event with Komga's names; null if Komga has no such event. */
function komgaEvent(event: CarrelEvent, userId: string): { name: string; data: object } | null {
  const { timestamp: _, ...members } = event
  switch (members.type) {
    case 'book_created':
    case 'book_updated':
    case 'book_deleted': {
      const { bookId, seriesId, libraryId } = members
      return { name: `Book${HOW[ending(members.type)]}`, data: { bookId, seriesId, libraryId } }
    }
    case 'series_created':
    case 'series_updated':
    case 'series_deleted':
    case 'series_metadata_updated':
    case 'series_bulk_purged': {
      const { seriesId, libraryId } = members
      return { name: `Series${HOW[ending(members.type)]}`, data: { seriesId, libraryId } }
    }
    case 'library_updated':
      // Only the event of a change names fields: without them the library is new.
      return { name: members.fields ? 'LibraryChanged' : 'LibraryAdded', data: { libraryId: members.libraryId } }
    case 'library_deleted':
      return { name: 'LibraryDeleted', data: { libraryId: members.libraryId } }
    case 'collection_created':
    case 'collection_updated':
    case 'collection_deleted':
      // Each user sees other members of a collection, so that the event names none and clients fetch them.
      return { name: `Collection${HOW[ending(members.type)]}`, data: { collectionId: members.collectionId, seriesIds: [] } }
    case 'read_list_created':
    case 'read_list_updated':
    case 'read_list_deleted':
      return { name: `ReadList${HOW[ending(members.type)]}`, data: { readListId: members.readListId, bookIds: [] } }
    case 'progress_updated':
      return { name: 'ReadProgressChanged', data: { bookId: members.bookId, userId } }
    case 'progress_deleted':
      return { name: 'ReadProgressDeleted', data: { bookId: members.bookId, userId } }
    case 'cover_updated': {
      const { entityType, entityId, seriesId = entityId } = members
      if (entityType === 'book') return { name: 'ThumbnailBookAdded', data: { bookId: entityId, seriesId, selected: true } }
      return entityType === 'series' ? { name: 'ThumbnailSeriesAdded', data: { seriesId, selected: true } } : null
    }
    case 'queue_updated':
      return { name: 'TaskQueueStatus', data: { count: members.count, countByType: members.countByType } }
    default:
      return null
  }
}

const HOW = { created: 'Added', updated: 'Changed', deleted: 'Deleted', purged: 'Changed' } as const
const ending = (type: string) => type.slice(type.lastIndexOf('_') + 1) as keyof typeof HOW

const UNKNOWN = /^(plugin|task|scan)_/
const TYPES: ReadonlySet<EventType> = new Set(EVENT_TYPES.filter((type) => !UNKNOWN.test(type)))

const FORM = new EventForm(({ id, event }, userId) => {
  const shown = event && komgaEvent(event, userId)
  return formatEvent(shown ? { id, event: shown.name, data: shown.data } : { id, data: null })
})

export const komgaEventRoutes = [
  komgaStream({
    path: '/sse/v1/events',
    summary: 'Changes as server-sent events with the names of Komga; Last-Event-ID continues after that event',
    who: 'libraries-read',
    mediaTypes: ['text/event-stream'],
    run: async (call) => eventsFor(call, { form: FORM, types: TYPES }),
  }),
]
