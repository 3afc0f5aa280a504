import type { Call } from '#api/http/endpoint.ts'
import { type EventsReply, formatBareEvent, type ServerEvent } from '#api/http/event-stream.ts'
import { stream } from '#api/routes/route.ts'
import type { Services } from '#api/services.ts'
import { refuse } from '#core/errors.ts'
import { EVENT_TYPES, type EventType } from '#core/events/event.ts'
import type { Followed } from '#core/events/follow.ts'

const tag = 'events'
// A browser's EventSource sends no header of its own.
const allow = { who: 'libraries-read', cookie: true } as const
const mediaTypes = ['text/event-stream']

const TASKS: ReadonlySet<EventType> = new Set(['task_updated'])
const SCANS: ReadonlySet<EventType> = new Set(['scan_updated'])
const NO_ENTITIES = /^(task|scan|progress)_/
const ENTITIES: ReadonlySet<EventType> = new Set(EVENT_TYPES.filter((type) => !NO_ENTITIES.test(type)))

function eventsFor({ services, caller }: Call<Services>, more: { types?: ReadonlySet<EventType> } = {}): EventsReply {
  const follower = caller ?? refuse('unauthorized')
  return {
    kind: 'events',
    follow: ({ lastEventId, signal }) => eventsOf(services.events.follow(follower, { after: lastEventId, signal, ...more })),
    ...(more.types && { format: formatBareEvent }),
  }
}

/** Without a generator: each would cost a stream a kilobyte. */
function eventsOf(followed: AsyncIterable<Followed>): AsyncIterable<ServerEvent> {
  return {
    [Symbol.asyncIterator]() {
      const inner = followed[Symbol.asyncIterator]()
      return {
        next: async () => {
          const { done, value } = await inner.next()
          if (done) return { done, value: undefined }
          const { id, event } = value
          return { done: false, value: { id, ...(event && { event: event.type }), data: event } }
        },
        return: async () => {
          await inner.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** What happens, as it happens, to those who may know of it. */
export const eventRoutes = [
  stream({
    path: '/api/v1/events',
    summary: 'What changes in the libraries, and what I read, as server-sent events; Last-Event-ID goes on after an event',
    tag,
    allow,
    mediaTypes,
    run: async (call) => eventsFor(call),
  }),
  stream({
    path: '/api/v1/events/stream',
    summary: 'What changes in the libraries, each event as a block of one line of data with its type in it, its id in a block of its own',
    tag,
    allow,
    mediaTypes,
    run: async (call) => eventsFor(call, { types: ENTITIES }),
  }),
  stream({
    path: '/api/v1/tasks/stream',
    summary: 'How tasks get on, for whoever may read tasks, in blocks as of /api/v1/events/stream',
    tag: 'tasks',
    allow,
    mediaTypes,
    run: async (call) => eventsFor(call, { types: TASKS }),
  }),
  stream({
    path: '/api/v1/scans/stream',
    summary: 'How scans get on, in blocks as of /api/v1/events/stream',
    tag: 'scans',
    allow,
    mediaTypes,
    run: async (call) => eventsFor(call, { types: SCANS }),
  }),
]
