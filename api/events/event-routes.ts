import Type from 'typebox'
import type { EventServices } from '#api/areas/events.ts'
import { EventForm, eventsFor } from '#api/events/event-reply.ts'
import { streamOf } from '#api/http/endpoint.ts'
import { formatBareEvent, formatEvent } from '#api/http/event-stream.ts'
import { EVENT_TYPES, type EventType, eventsSchema } from '#core/events/event.ts'

type Services = EventServices
const stream = streamOf<Services>()

const tag = 'events'
// The EventSource of a browser cannot send headers.
const allow = { who: 'libraries-read', cookie: true } as const
const mediaTypes = ['text/event-stream']
const query = Type.Object({
  lastEventId: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'Resumes after this event as Last-Event-ID does, for a new EventSource, which cannot send that header. If both are sent, the header counts.',
    }),
  ),
})

const TASKS: ReadonlySet<EventType> = new Set(['task_updated'])
const SCANS: ReadonlySet<EventType> = new Set(['scan_updated', 'scan_withheld'])
const NO_ENTITIES = /^(task|queue|scan|progress|user_plugin|rating|want_to_read|recommendations|export)_/
const ENTITIES: ReadonlySet<EventType> = new Set(EVENT_TYPES.filter((type) => !NO_ENTITIES.test(type)))

/** `reload` is always sent. */
const replyOf = (title: string, types: Iterable<EventType>) => eventsSchema([...new Set([...types, 'reload' as const])], title)

const NAMED = new EventForm(({ id, event }) => formatEvent({ id, ...(event && { event: event.type }), data: event }))
const BARE = new EventForm(({ id, event }) => formatBareEvent({ id, data: event }))

/** Streams of changes, filtered by what the caller may see. */
export const eventRoutes = [
  stream({
    name: 'streamEvents',
    path: '/api/v1/events',
    summary: 'Stream changes in the libraries and my reading progress as server-sent events; Last-Event-ID resumes after an event',
    tag,
    allow,
    query,
    mediaTypes,
    reply: replyOf('AnyEvent', EVENT_TYPES),
    run: async (call, { query }) => eventsFor(call, { ...query, form: NAMED }),
  }),
  stream({
    name: 'streamEventBlocks',
    path: '/api/v1/events/stream',
    summary:
      'Stream changes in the libraries; each event is one data line that includes its type, and its id follows in a block of its own',
    tag,
    allow,
    query,
    mediaTypes,
    reply: replyOf('EntityEvent', ENTITIES),
    run: async (call, { query }) => eventsFor(call, { ...query, form: BARE, types: ENTITIES }),
  }),
  stream({
    name: 'streamTasks',
    path: '/api/v1/tasks/stream',
    summary: 'Stream the progress of tasks, in blocks as of /api/v1/events/stream',
    tag: 'tasks',
    allow,
    query,
    mediaTypes,
    reply: replyOf('TaskEvent', TASKS),
    run: async (call, { query }) => eventsFor(call, { ...query, form: BARE, types: TASKS }),
  }),
  stream({
    name: 'streamScans',
    path: '/api/v1/scans/stream',
    summary: 'Stream the progress of scans, in blocks as of /api/v1/events/stream',
    tag: 'scans',
    allow,
    query,
    mediaTypes,
    reply: replyOf('ScanEvent', SCANS),
    run: async (call, { query }) => eventsFor(call, { ...query, form: BARE, types: SCANS }),
  }),
]
