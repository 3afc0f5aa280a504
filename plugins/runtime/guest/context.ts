import {
  create,
  defineProperty,
  freeze,
  GuestPromise,
  isArray,
  iterator,
  ownKeys,
  settle,
  slice,
  stringify,
  table,
  toText,
} from './built-ins.ts'
import type { Call } from './call.ts'
import { limits } from './channel.ts'
import { ask, closedProblem, problem, tell } from './host-calls.ts'
import { briefOf, describeLoss, lossIn, tellLoss } from './losses.ts'
import { type WebGlobals, web } from './web-globals.ts'

/** Of a log line, and of the data beside it. */
const LINE_LENGTH_MAX = 2_048
const PROGRESS_LENGTH_MAX = 200

interface ContextData {
  callId: string
  plugin: object
  config: unknown
  userConfig: unknown
}

/** A response of a service, as `ctx.fetch` returns it. */
type Answer = Response & { retryAfterSeconds: number | null }

/** What a plugin gets beside its input. */
export function makeContext(call: Call, given: ContextData): object {
  const globals = web as WebGlobals
  const fetch = async (input: unknown, init?: unknown) => {
    const { signal, ...request } = globals.readArguments(input, init)
    request.headers = plainHeaders(request.headers)
    return globals.makeResponse(await unlessGivenUp(signal, () => ask(call, 'fetch', request))) as Answer
  }
  const context = {
    callId: given.callId,
    plugin: table({ ...given.plugin }),
    config: deepFreeze(given.config),
    userConfig: deepFreeze(given.userConfig),
    fetch,
    http: table({ json: async (url: unknown, init?: unknown) => await readJson(await fetch(url, init)) }),
    storage: makeStorage(call),
    log: makeLog(call),
    progress: (fraction: unknown, text: unknown) => {
      // JSON has neither NaN nor infinity.
      if (typeof fraction !== 'number' || fraction - fraction !== 0) {
        if (limits.isTraced) tellLoss(call, 'progress', '', { path: '', kind: briefOf(fraction) })
        return
      }
      call.lines += 1
      if (call.lines > limits.logLines) return
      tell(call, 'progress', { fraction, text: typeof text === 'string' ? slice(text, 0, PROGRESS_LENGTH_MAX) : null })
    },
    auth: table({ status: () => ask(call, 'auth.status', {}) }),
    library: table({
      entries: (options?: { cursor?: unknown } | null) => ask(call, 'library.entries', { cursor: options?.cursor ?? null }),
    }),
    sleep: async (ms: unknown) => void (await ask(call, 'sleep', { ms })),
    crypto: table({
      digest: (algorithm: unknown, text: unknown) => ask(call, 'crypto.digest', { algorithm, text }),
      hmac: (algorithm: unknown, key: unknown, text: unknown) => ask(call, 'crypto.hmac', { algorithm, key, text }),
      randomUUID: () => ask(call, 'crypto.randomUUID', {}),
    }),
  }
  defineProperty(context, 'signal', {
    // Property descriptors would inherit from their prototypes.
    __proto__: null,
    enumerable: true,
    get: () => signalOf(call, globals),
  } as PropertyDescriptor)
  return table(context)
}

function signalOf(call: Call, { makeSignal }: WebGlobals): AbortSignal {
  if (call.signal === null) {
    call.signal = makeSignal()
    if (call.ended) call.signal.giveUp(closedProblem())
  }
  return call.signal.signal
}

function makeStorage(call: Call): object {
  return table({
    get: (key: unknown) => ask(call, 'storage.get', { key }),
    set: async (key: unknown, value: unknown, options?: { ttlSeconds?: unknown } | null) => {
      if (limits.isTraced) tellLoss(call, 'storage.set', key, lossIn(value))
      await ask(call, 'storage.set', { key, value, ttlSeconds: options?.ttlSeconds })
    },
    delete: async (key: unknown) => void (await ask(call, 'storage.delete', { key })),
    list: (prefix: unknown) => ask(call, 'storage.list', { prefix }),
  })
}

function makeLog(call: Call): object {
  const log = (level: string) => (message: unknown, data?: unknown) => {
    let more: string | undefined
    let isRefused = false
    try {
      more = data === undefined ? undefined : stringify(data)
    } catch {
      isRefused = true
    }
    const line = slice(typeof message === 'string' ? message : toText(message), 0, LINE_LENGTH_MAX)
    call.lines += 1
    call.letters += line.length
    if (call.lines > limits.logLines || call.letters > limits.logLength) return
    const lost = limits.isTraced ? describeLoss(`log.${level}`, line, isRefused ? { path: '', kind: '' } : lossIn(data)) : null
    tell(call, 'log', { level, message: line, data: more === undefined ? null : slice(more, 0, LINE_LENGTH_MAX), ...lost })
  }
  return table({ debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') })
}

/** Headers as an object, from an object, pairs or a map; the server validates the content. */
function plainHeaders(given: unknown): unknown {
  if (given === null || typeof given !== 'object') return given
  const plain: Record<string, unknown> = create(null)
  if (!isArray(given) && typeof (given as Record<symbol, unknown>)[iterator] !== 'function') {
    for (const name of ownKeys(given)) if (typeof name === 'string') plain[name] = (given as Record<string, unknown>)[name]
  } else for (const pair of given as Iterable<unknown[]>) plain[toText(pair[0])] = pair[1]
  return plain
}

/** The promise of `start`, rejected when the signal aborts first. */
function unlessGivenUp(signal: AbortSignal | null | undefined, start: () => Promise<never>): Promise<never> {
  if (signal === undefined || signal === null) return start()
  if (signal.aborted) throw signal.reason
  return new GuestPromise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
    settle(start(), resolve as (value: unknown) => void, reject)
  })
}

function deepFreeze(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  for (const key of ownKeys(value)) deepFreeze((value as Record<PropertyKey, unknown>)[key])
  return freeze(value)
}

async function readJson(response: Answer): Promise<unknown> {
  const { status, url, retryAfterSeconds } = response
  if (status === 404 || status === 410) throw problem('not_found', `${url} was not found.`)
  if (status === 401 || status === 403) throw problem('auth', `${url} rejected the credentials (${status}).`)
  if (status === 429 || (status === 503 && retryAfterSeconds !== null))
    throw problem('rate_limited', `${url} has reached its rate limit.`, retryAfterSeconds)
  if (!response.ok) throw problem('upstream', `${url} answered ${status}.`)
  try {
    return await response.json()
  } catch {
    throw problem('upstream', `${url} did not return valid JSON.`)
  }
}
