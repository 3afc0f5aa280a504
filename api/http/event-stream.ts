import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Blocks, EventClient, EventSource, EventsReply } from '#api/http/reply.ts'

/** One event of a stream. */
export interface ServerEvent {
  /** The id that a reconnecting client sends as the last one it has received; printable ASCII. */
  id: string
  /** The event name; default `message`. */
  event?: string
  /** Sent as JSON; null only updates the last event id of the client. */
  data: unknown
}

export function blocksOf(text: string): Blocks {
  const head = `${Buffer.byteLength(text).toString(16)}\r\n`
  const chunk = Buffer.from(`${head}${text}\r\n`)
  return { plain: chunk.subarray(head.length, -2), chunk }
}

/** Proxies close connections that are silent for a minute; the server does so after two. */
export const BEAT_MS = 15_000
/** No stream lasts longer, nor longer than its credential. The client reconnects by itself and misses nothing. */
const LIFE_MS_MAX = 15 * 60_000
/** How long a client waits before it reconnects. */
const RETRY_MS = 3_000
/** A client that accepts nothing for this long, while there are events for it, is disconnected. It gets the missed events when it reconnects. */
const STALLED_MS = 30_000
/** Ids of this server are far shorter. */
const LAST_ID = /^[\x21-\x7e]{1,64}$/

const BEGINNING = `retry: ${RETRY_MS}\n\n`
const BEAT = blocksOf(':\n\n')

interface Times {
  /** How long the credential lasts. */
  lifeMs?: number
  beatMs?: number
  lifeMsMax?: number
  stalledMs?: number
}

/**
 * Sends events as they occur (HTML standard, 9.2), and a comment every 15 s. Events that do not fit into the buffer of the connection wait
 * at their source. Resolves when the client has disconnected or the stream has ended.
 * @param closing aborts when the server is about to close
 */
export function sendEvents(response: ServerResponse, reply: EventsReply, closing: AbortSignal, times: Times = {}): Promise<void> {
  const { method, headers } = response.req
  const given = headers['last-event-id']
  const source = reply.open(typeof given === 'string' && LAST_ID.test(given) ? given : null)
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
  // Proxies must neither store nor buffer it (X-Accel-Buffering is for nginx).
  response.setHeader('Cache-Control', 'no-store, no-transform')
  response.setHeader('X-Accel-Buffering', 'no')
  response.writeHead(200)
  if (method === 'HEAD') {
    source.close()
    response.end()
    return Promise.resolve()
  }
  return new Promise((resolve, reject) => {
    const client = new Client(response, source, { resolve, reject, times })
    const clients = clientsUntil(closing)
    clients.add(client)
    response.once('close', () => {
      clients.delete(client)
      client.close()
    })
    // Separately: sent with a body, the headers stay in memory as forty pieces, a kilobyte per client.
    response.flushHeaders()
    response.write(BEGINNING)
    if (closing.aborted) client.end()
    else source.start(client)
  })
}

/** One abort listener for all clients of a server: with thousands on one signal, each removal would search the whole list. */
const open = new WeakMap<AbortSignal, Set<Client>>()

function clientsUntil(closing: AbortSignal): Set<Client> {
  const known = open.get(closing)
  if (known !== undefined) return known
  const clients = new Set<Client>()
  open.set(closing, clients)
  closing.addEventListener('abort', () => {
    for (const client of clients) client.end()
  })
  return clients
}

/** The state of one client, without closures and iterators, since there are thousands. */
class Client implements EventClient {
  readonly #response: ServerResponse
  readonly #source: EventSource
  readonly #resolve: () => void
  readonly #reject: (error: unknown) => void
  readonly #endsAt: number
  readonly #stalledMs: number
  readonly #beat: NodeJS.Timeout
  #late: NodeJS.Timeout | undefined
  #isOver = false

  constructor(
    response: ServerResponse,
    source: EventSource,
    { resolve, reject, times }: { resolve: () => void; reject: (error: unknown) => void; times: Times },
  ) {
    const { beatMs = BEAT_MS, lifeMsMax = LIFE_MS_MAX, lifeMs = lifeMsMax, stalledMs = STALLED_MS } = times
    this.#response = response
    this.#source = source
    this.#resolve = resolve
    this.#reject = reject
    this.#endsAt = performance.now() + Math.min(lifeMs, lifeMsMax)
    this.#stalledMs = stalledMs
    this.#beat = setInterval(beat, beatMs, this)
  }

  write(blocks: Blocks): boolean {
    if (this.#isOver) return false
    const isTaken = this.#send(blocks)
    if (!isTaken) this.#waitForRoom()
    return isTaken
  }

  /** Writing an encoded chunk takes 15 µs, 13 of them in the system; response.write would take 25 to encode it again. */
  #send({ plain, chunk }: Blocks): boolean {
    const { socket, chunkedEncoding } = this.#response
    return socket !== null && chunkedEncoding ? socket.write(chunk) : this.#response.write(plain)
  }

  #waitForRoom(): void {
    const response = this.#response
    // Also after the end, which a client that reads nothing never sees.
    this.#late ??= setTimeout(() => response.destroy(), this.#stalledMs)
    const target = response.writableNeedDrain ? response : (response.socket ?? response)
    target.once('drain', () => {
      clearTimeout(this.#late)
      this.#late = undefined
      if (!this.#isOver) this.#source.resume()
    })
  }

  beat(): void {
    const { socket, writableNeedDrain } = this.#response
    if (performance.now() >= this.#endsAt) this.end()
    // A client that still has data to read needs no sign of life.
    else if (!writableNeedDrain && !socket?.writableNeedDrain) this.#send(BEAT)
  }

  end(): void {
    if (!this.#leave()) return
    this.#response.end()
    this.#resolve()
  }

  fail(error: unknown): void {
    if (this.#leave()) this.#reject(error)
  }

  /** The client has disconnected. */
  close(): void {
    clearTimeout(this.#late)
    if (this.#leave()) this.#resolve()
  }

  /** False if it was over already. */
  #leave(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    clearInterval(this.#beat)
    this.#source.close()
    return true
  }
}

const beat = (client: Client) => client.beat()

/**
 * A reply for events from an async iterable. It reads only what the client accepts, so that the iterable buffers nothing.
 * @param follow.signal aborts when the stream ends
 * @param isAllowed what the caller needs to receive them, beyond the rights that the route asks for
 */
export function eventsOf(
  follow: (from: { lastEventId: string | null; signal: AbortSignal }) => AsyncIterable<ServerEvent>,
  isAllowed?: () => Promise<boolean>,
): EventsReply {
  return {
    kind: 'events',
    ...(isAllowed && { isAllowed }),
    open(lastEventId) {
      const ended = new AbortController()
      const room = new EventTarget()
      const events = follow({ lastEventId, signal: ended.signal })
      return {
        start: (client) => {
          pump(client, events, { room, ended: ended.signal }).then(
            () => client.end(),
            (error: unknown) => client.fail(error),
          )
        },
        resume: () => room.dispatchEvent(new Event('room')),
        close: () => ended.abort(),
      }
    },
  }
}

async function pump(
  client: EventClient,
  events: AsyncIterable<ServerEvent>,
  { room, ended }: { room: EventTarget; ended: AbortSignal },
): Promise<void> {
  for await (const event of events) {
    if (ended.aborted) return
    if (!client.write(blocksOf(formatEvent(event)))) await once(room, 'room', { signal: ended }).catch(() => {})
    if (ended.aborted) return
  }
}

/** An event in wire format; JSON has no line breaks, so one data line is enough. */
export const formatEvent = ({ id, event, data }: ServerEvent): string =>
  data === null ? `id: ${id}\n\n` : `id: ${id}\n${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`

/** For clients that expect one data line per block and nothing else: the id follows in a block of its own. */
export const formatBareEvent = ({ id, data }: ServerEvent): string =>
  `${data === null ? '' : `data: ${JSON.stringify(data)}\n\n`}id: ${id}\n\n`
