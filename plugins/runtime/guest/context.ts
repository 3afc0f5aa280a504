import {
  create,
  defineProperty,
  deleteProperty,
  freeze,
  GuestPromise,
  isArray,
  iterator,
  ownKeys,
  setPrototypeOf,
  settle,
  slice,
  stringify,
  table,
  toText,
} from './built-ins.ts'
import type { Call } from './call.ts'
import { limits } from './channel.ts'
import { ask, closedProblem, problem, tell } from './host-calls.ts'
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
export const makeContext = (call: Call, given: ContextData): object => new Context(call, given)

class Storage {
  readonly #call: Call
  readonly get = (key: unknown) => ask(this.#call, 'storage.get', { key })
  readonly set = async (key: unknown, value: unknown, options?: { ttlSeconds?: unknown } | null) =>
    void (await ask(this.#call, 'storage.set', { key, value, ttlSeconds: options?.ttlSeconds }))
  readonly delete = async (key: unknown) => void (await ask(this.#call, 'storage.delete', { key }))
  readonly list = (prefix: unknown) => ask(this.#call, 'storage.list', { prefix })

  constructor(call: Call) {
    this.#call = call
    freeze(this)
  }
}

class Log {
  readonly #call: Call
  readonly debug = (message: unknown, data?: unknown) => sendLine(this.#call, 'debug', message, data)
  readonly info = (message: unknown, data?: unknown) => sendLine(this.#call, 'info', message, data)
  readonly warn = (message: unknown, data?: unknown) => sendLine(this.#call, 'warn', message, data)
  readonly error = (message: unknown, data?: unknown) => sendLine(this.#call, 'error', message, data)

  constructor(call: Call) {
    this.#call = call
    freeze(this)
  }
}

class Crypto {
  readonly #call: Call
  readonly digest = (algorithm: unknown, text: unknown) => ask(this.#call, 'crypto.digest', { algorithm, text })
  readonly hmac = (algorithm: unknown, key: unknown, text: unknown) => ask(this.#call, 'crypto.hmac', { algorithm, key, text })
  readonly randomUUID = () => ask(this.#call, 'crypto.randomUUID', {})

  constructor(call: Call) {
    this.#call = call
    freeze(this)
  }
}

class Auth {
  readonly #call: Call
  readonly status = () => ask(this.#call, 'auth.status', {})

  constructor(call: Call) {
    this.#call = call
    freeze(this)
  }
}

class Library {
  readonly #call: Call
  readonly entries = (options?: { cursor?: unknown } | null) => ask(this.#call, 'library.entries', { cursor: options?.cursor ?? null })

  constructor(call: Call) {
    this.#call = call
    freeze(this)
  }
}

class Http {
  readonly #fetch: Context['fetch']
  readonly json = async (url: unknown, init?: unknown) => await readJson(await this.#fetch(url, init))

  constructor(fetch: Context['fetch']) {
    this.#fetch = fetch
    freeze(this)
  }
}

class Context {
  readonly #call: Call
  readonly callId: string
  readonly plugin: object
  readonly config: unknown
  readonly userConfig: unknown
  readonly fetch = async (input: unknown, init?: unknown) => {
    const globals = web as WebGlobals
    const { signal, ...request } = globals.readArguments(input, init)
    request.headers = plainHeaders(request.headers)
    return globals.makeResponse(await unlessGivenUp(signal, () => ask(this.#call, 'fetch', request))) as Answer
  }
  readonly http = new Http(this.fetch)
  readonly storage: Storage
  readonly log: Log
  readonly progress = (fraction: unknown, text: unknown) => {
    const call = this.#call
    call.lines += 1
    if (call.lines > limits.logLines || typeof fraction !== 'number') return
    tell(call, 'progress', { fraction, text: typeof text === 'string' ? slice(text, 0, PROGRESS_LENGTH_MAX) : null })
  }
  readonly auth: Auth
  readonly library: Library
  readonly sleep = async (ms: unknown) => void (await ask(this.#call, 'sleep', { ms }))
  readonly crypto: Crypto

  constructor(call: Call, { callId, plugin, config, userConfig }: ContextData) {
    this.#call = call
    this.callId = callId
    this.plugin = table({ ...plugin })
    this.config = deepFreeze(config)
    this.userConfig = deepFreeze(userConfig)
    this.storage = new Storage(call)
    this.log = new Log(call)
    this.auth = new Auth(call)
    this.library = new Library(call)
    this.crypto = new Crypto(call)
    defineProperty(this, 'signal', {
      // Property descriptors would inherit from their prototypes.
      __proto__: null,
      enumerable: true,
      get: () => signalOf(call, web as WebGlobals),
    } as PropertyDescriptor)
    freeze(this)
  }
}

// Their objects inherit nothing: code of guests can change the usual prototypes. Objects that lose their prototype one by one are slow, and there
// are seven in every call.
for (const { prototype } of [Storage, Log, Crypto, Auth, Library, Http, Context]) {
  deleteProperty(prototype, 'constructor')
  freeze(setPrototypeOf(prototype, null))
}

function sendLine(call: Call, level: string, message: unknown, data: unknown): void {
  let more: string | undefined
  try {
    more = data === undefined ? undefined : stringify(data)
  } catch {
    more = undefined
  }
  const line = slice(typeof message === 'string' ? message : toText(message), 0, LINE_LENGTH_MAX)
  call.lines += 1
  call.letters += line.length
  if (call.lines > limits.logLines || call.letters > limits.logLength) return
  tell(call, 'log', { level, message: line, data: more === undefined ? null : slice(more, 0, LINE_LENGTH_MAX) })
}

function signalOf(call: Call, { makeSignal }: WebGlobals): AbortSignal {
  if (call.signal === null) {
    call.signal = makeSignal()
    if (call.ended) call.signal.giveUp(closedProblem())
  }
  return call.signal.signal
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
