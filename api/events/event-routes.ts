import { EventForm, eventsFor } from '#api/events/event-reply.ts'
import { streamOf } from '#api/http/endpoint.ts'
import { formatBareEvent, formatEvent } from '#api/http/event-stream.ts'
import type { Needs } from '#api/http/services.ts'
import { EVENT_TYPES, type EventType } from '#core/events/event.ts'

type Services = Needs<'events'>
const stream = streamOf<Services>()

const tag = 'events'
// A browser's EventSource sends no header of its own.
const allow = { who: 'libraries-read', cookie: true } as const
const mediaTypes = ['text/event-stream']

const TASKS: ReadonlySet<EventType> = new Set(['task_updated'])
const SCANS: ReadonlySet<EventType> = new Set(['scan_updated'])
const NO_ENTITIES = /^(task|queue|scan|progress)_/
const ENTITIES: ReadonlySet<EventType> = new Set(EVENT_TYPES.filter((type) => !NO_ENTITIES.test(type)))

const NAMED = new EventForm(({ id, event }) => formatEvent({ id, ...(event && { event: event.type }), data: event }))
const BARE = new EventForm(({ id, event }) => formatBareEvent({ id, data: event }))

/** What happens, as it happens, to those who may know of it. */
export const eventRoutes = [
  stream({
    path: '/api/v1/events',
    summary: 'What changes in the libraries, and what I read, as server-sent events; Last-Event-ID goes on after an event',
    tag,
    allow,
    mediaTypes,
    run: async (call) => eventsFor(call, { form: NAMED }),
  }),
  stream({
    path: '/api/v1/events/stream',
    summary: 'What changes in the libraries, each event as a block of one line of data with its type in it, its id in a block of its own',
    tag,
    allow,
    mediaTypes,
    run: async (call) => eventsFor(call, { form: BARE, types: ENTITIES }),
  }),
  stream({
    path: '/api/v1/tasks/stream',
    summary: 'How tasks get on, for whoever may read tasks, in blocks as of /api/v1/events/stream',
    tag: 'tasks',
    allow,
    mediaTypes,
    run: async (call) => eventsFor(call, { form: BARE, types: TASKS }),
  }),
  stream({
    path: '/api/v1/scans/stream',
    summary: 'How scans get on, in blocks as of /api/v1/events/stream',
    tag: 'scans',
    allow,
    mediaTypes,
    run: async (call) => eventsFor(call, { form: BARE, types: SCANS }),
  }),
]
