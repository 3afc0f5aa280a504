import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/** One event of a stream. */
export interface ServerEvent {
  /** What a client that comes back names as the last it has seen; printable ASCII. */
  id: string
  /** What the client listens for; `message` unless said. */
  event?: string
  /** Sent as JSON; null only says where the client is, which it notes without telling anybody. */
  data: unknown
}

/** What a stream route answers with that never ends by itself. */
export interface EventsReply {
  kind: 'events'
  /**
   * @param lastEventId what the client has seen already, as it says; null when it comes for the first time
   * @throws what should be told as a refusal, before anything was sent
   */
  open: (lastEventId: string | null) => EventSource
}

/** Where events come from. Nothing is asked of it by signals and iterators: there are thousands, and each would cost a kilobyte. */
export interface EventSource {
  /** Once, before all others unless the client leaves at once. */
  start(client: EventClient): void
  /** The client takes more. */
  resume(): void
  /** The client has gone, has to come back to be let in anew, or the server closes. */
  close(): void
}

/** The client of a stream, as its source sees it. */
export interface EventClient {
  /** False where it should get no more until {@link EventSource.resume}. */
  write(blocks: Blocks): boolean
  /** Nothing comes any more. */
  end(): void
  /** Hangs up, so that the client knows that something is missing. */
  fail(error: unknown): void
}

/** Whole events as bytes, made once for all who get the same. */
export interface Blocks {
  plain: Buffer
  /** As one chunk of an answer of chunks (RFC 9112, 7.1). */
  chunk: Buffer
}

export function blocksOf(text: string): Blocks {
  const head = `${Buffer.byteLength(text).toString(16)}\r\n`
  const chunk = Buffer.from(`${head}${text}\r\n`)
  return { plain: chunk.subarray(head.length, -2), chunk }
}

/** Proxies hang up on what is silent for a minute, and so does the server after two. */
export const BEAT_MS = 15_000
/** A token may end, a role may change: nobody is let in for longer than that. The client comes back by itself and misses nothing. */
const LIFE_MS_MAX = 15 * 60_000
/** Before a client comes back. */
const RETRY_MS = 3_000
/** A client that takes nothing for so long, while there is something for it, is dropped: what it could not take it is told when it comes back. */
const STALLED_MS = 30_000
/** Ours are far shorter. */
const LAST_ID = /^[\x21-\x7e]{1,64}$/

const BEGINNING = `retry: ${RETRY_MS}\n\n`
const BEAT = blocksOf(':\n\n')

interface Times {
  beatMs?: number
  lifeMsMax?: number
  stalledMs?: number
}

/**
 * Sends events as they come (HTML standard, 9.2), a comment every 15 s, and no more than the client takes: what does not fit into the buffer of its
 * connection waits where it comes from. Returns when the client has gone, or the stream has ended.
 * @param closing aborts when the server is about to close
 */
export function sendEvents(response: ServerResponse, reply: EventsReply, closing: AbortSignal, times: Times = {}): Promise<void> {
  const { method, headers } = response.req
  const given = headers['last-event-id']
  const source = reply.open(typeof given === 'string' && LAST_ID.test(given) ? given : null)
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
  // Proxies must neither keep it nor wait for more of it (the last one is nginx's).
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
    // By themselves: sent with a body, they are kept as the forty pieces that they were made of, and a kilobyte more.
    response.flushHeaders()
    response.write(BEGINNING)
    if (closing.aborted) client.end()
    else source.start(client)
  })
}

/** One listener for all that end with a server: thousands on one signal are a list that each looks through when it leaves. */
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

/** What is known of one client: no closures and no iterators, since there are thousands. */
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
    const { beatMs = BEAT_MS, lifeMsMax = LIFE_MS_MAX, stalledMs = STALLED_MS } = times
    this.#response = response
    this.#source = source
    this.#resolve = resolve
    this.#reject = reject
    this.#endsAt = performance.now() + lifeMsMax
    this.#stalledMs = stalledMs
    this.#beat = setInterval(beat, beatMs, this)
  }

  write(blocks: Blocks): boolean {
    if (this.#isOver) return false
    const isTaken = this.#send(blocks)
    if (!isTaken) this.#waitForRoom()
    return isTaken
  }

  /** Writing a chunk that is made already takes 15 µs, of which 13 are the system's; the response would take 25 to make the same chunk anew. */
  #send({ plain, chunk }: Blocks): boolean {
    const { socket, chunkedEncoding } = this.#response
    return socket !== null && chunkedEncoding ? socket.write(chunk) : this.#response.write(plain)
  }

  #waitForRoom(): void {
    const response = this.#response
    // Also after the end, which a client that takes nothing never sees.
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
    // Behind on reading, it does not need to hear that we are here.
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

  /** The client has gone. */
  close(): void {
    clearTimeout(this.#late)
    if (this.#leave()) this.#resolve()
  }

  /** False when it was over. */
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
 * A reply of events that somebody makes one by one. Only what the client takes is asked for: their maker keeps nothing on its behalf.
 * @param follow.signal aborts when nobody listens any more
 */
export function eventsOf(follow: (from: { lastEventId: string | null; signal: AbortSignal }) => AsyncIterable<ServerEvent>): EventsReply {
  return {
    kind: 'events',
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

/** An event as it goes over the wire; JSON has no line breaks, so one line of data is enough. */
export const formatEvent = ({ id, event, data }: ServerEvent): string =>
  data === null ? `id: ${id}\n\n` : `id: ${id}\n${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`

/** For clients that read every block as one line of data and nothing else: the id stands in a block of its own after it. */
export const formatBareEvent = ({ id, data }: ServerEvent): string =>
  `${data === null ? '' : `data: ${JSON.stringify(data)}\n\n`}id: ${id}\n\n`
