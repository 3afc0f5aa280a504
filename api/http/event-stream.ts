import type { ServerResponse } from 'node:http'
import { drained } from '#api/http/drained.ts'

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
   * Opens the stream. Only what the client takes is asked for, one event at a time: whoever writes them keeps nothing on its behalf.
   * @param from.lastEventId what the client has seen already, as it says; null when it comes for the first time
   * @param from.signal aborts when the client has gone, when it has to come back to be let in anew, and when the server closes
   * @throws what should be told as a refusal, before anything was sent
   */
  follow: (from: { lastEventId: string | null; signal: AbortSignal }) => AsyncIterable<ServerEvent>
  /** How an event goes over the wire; {@link formatEvent} unless said. */
  format?: (event: ServerEvent) => string
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

/**
 * Sends events as they come (HTML standard, 9.2), a comment every 15 s where there are none, and no more than the client takes: what does not fit
 * into the buffer of its connection waits where it comes from. Returns when the client has gone, or the stream has ended.
 * @param closing aborts when the server is about to close
 */
export async function sendEvents(
  response: ServerResponse,
  reply: EventsReply,
  closing: AbortSignal,
  { beatMs = BEAT_MS, lifeMsMax = LIFE_MS_MAX, stalledMs = STALLED_MS }: { beatMs?: number; lifeMsMax?: number; stalledMs?: number } = {},
): Promise<void> {
  const { method, headers } = response.req
  const { format = formatEvent } = reply
  const ended = new AbortController()
  const end = () => ended.abort()
  const given = headers['last-event-id']
  const lastEventId = typeof given === 'string' && LAST_ID.test(given) ? given : null
  const events = reply.follow({ lastEventId, signal: ended.signal })
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
  // Whoever stands between must neither keep it nor wait for more of it (the last one is nginx's).
  response.setHeader('Cache-Control', 'no-store, no-transform')
  response.setHeader('X-Accel-Buffering', 'no')
  response.writeHead(200)
  if (method === 'HEAD') {
    end()
    response.end()
    return
  }
  response.once('close', end)
  closing.addEventListener('abort', end)
  const life = setTimeout(end, lifeMsMax)
  const beat = setInterval(() => {
    // Behind on reading, it does not need to hear that we are here.
    if (!response.writableNeedDrain && !response.writableEnded) response.write(':\n\n')
  }, beatMs)
  try {
    if (closing.aborted) end()
    response.write(`retry: ${RETRY_MS}\n\n`)
    if (!ended.signal.aborted) {
      for await (const event of events) {
        if (ended.signal.aborted) break
        if (!response.write(format(event))) await drainedOrDropped(response, ended.signal, stalledMs)
      }
    }
    response.end()
  } finally {
    clearTimeout(life)
    clearInterval(beat)
    response.off('close', end)
    closing.removeEventListener('abort', end)
    end()
  }
}

async function drainedOrDropped(response: ServerResponse, ended: AbortSignal, stalledMs: number): Promise<void> {
  const timer = setTimeout(() => response.destroy(), stalledMs)
  await drained(response, ended)
  clearTimeout(timer)
}

/** The same event goes to thousands. */
const written = new WeakMap<object, string>()

function writeJson(data: unknown): string {
  if (typeof data !== 'object' || data === null) return JSON.stringify(data)
  let text = written.get(data)
  if (text === undefined) {
    text = JSON.stringify(data)
    written.set(data, text)
  }
  return text
}

/** An event as it goes over the wire; JSON has no line breaks, so one line of data is enough. */
export const formatEvent = ({ id, event, data }: ServerEvent): string =>
  data === null ? `id: ${id}\n\n` : `id: ${id}\n${event === undefined ? '' : `event: ${event}\n`}data: ${writeJson(data)}\n\n`

/** For clients that read every block as one line of data and nothing else: the id stands in a block of its own after it. */
export const formatBareEvent = ({ id, data }: ServerEvent): string => `${data === null ? '' : `data: ${writeJson(data)}\n\n`}id: ${id}\n\n`
