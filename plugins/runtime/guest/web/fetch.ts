import { AbortController, type AbortSignal } from './abort.ts'
import { Body, bodyOf, isBody, textOf } from './body.ts'
import { fill, Headers, isToken } from './headers.ts'
import { URL } from './url.ts'

/** Statuses of responses without a body, whatever follows their headers. */
const BODILESS = [101, 103, 204, 205, 304]
const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT']

const { stringify } = JSON

interface RequestOptions {
  method?: unknown
  headers?: unknown
  body?: unknown
  signal?: AbortSignal | null
  redirect?: unknown
  timeoutMs?: unknown
}

let isRequest: (value: unknown) => value is Request

/** It has no access to the server: it only describes a request, and `ctx.fetch` sends it. */
export class Request extends Body {
  readonly #url: string
  readonly #method: string
  readonly #headers: Headers
  readonly #signal: AbortSignal
  readonly #redirect: string

  static {
    isRequest = (value): value is Request => typeof value === 'object' && value !== null && #url in value
  }

  constructor(input: unknown, init?: RequestOptions | null) {
    const { method, headers, body, signal, redirect } = init ?? {}
    const from = isRequest(input) ? input : null
    const given = bodyOf(body)
    const name = `${method ?? from?.method ?? 'GET'}`
    if (!isToken(name)) throw new TypeError(`"${name.slice(0, 20)}" is not a method.`)
    const upper = METHODS.includes(name.toUpperCase()) ? name.toUpperCase() : name
    const text = body === undefined || body === null ? (from === null ? null : textOf(from)) : given.text
    if (text !== null && (upper === 'GET' || upper === 'HEAD')) throw new TypeError(`${upper} cannot have a body.`)
    super(text)
    this.#url = from === null ? new URL(`${input}`).href : from.url
    this.#method = upper
    this.#headers = new Headers(headers ?? from?.headers)
    if (given.type !== null && !this.#headers.has('content-type')) this.#headers.set('content-type', given.type)
    this.#signal = signal ?? from?.signal ?? new AbortController().signal
    this.#redirect = `${redirect ?? from?.redirect ?? 'follow'}`
  }

  get url(): string {
    return this.#url
  }

  get method(): string {
    return this.#method
  }

  get headers(): Headers {
    return this.#headers
  }

  get signal(): AbortSignal {
    return this.#signal
  }

  get redirect(): string {
    return this.#redirect
  }

  get mode(): string {
    return 'cors'
  }

  get credentials(): string {
    return 'omit'
  }

  get cache(): string {
    return 'default'
  }

  clone(): Request {
    return makeRequest(this)
  }

  get [Symbol.toStringTag](): string {
    return 'Request'
  }
}

/** Bundles rename classes that refer to themselves, and guests see their names. */
const makeRequest = (from: Request): Request => new Request(from)
const respond = (body: unknown, init: ResponseOptions): Response => new Response(body, init)

/** The arguments of `ctx.fetch`: a URL or a Request, with options that override it. A plain text has no default Content-Type. */
export function readArguments(input: unknown, init?: RequestOptions | null) {
  const beside = init ?? {}
  const from = isRequest(input) ? input : null
  if ((beside.redirect ?? from?.redirect ?? 'follow') !== 'follow')
    throw new TypeError('The server follows redirects, but only to hosts of the manifest: "redirect" must be "follow".')
  const { timeoutMs, signal = from?.signal, method = from?.method ?? 'GET' } = beside
  let { headers = from?.headers ?? {}, body } = beside
  if (body === undefined && from !== null) body = textOf(from) ?? undefined
  else if (isBody(body)) {
    const { text, type } = bodyOf(body)
    body = text
    const typed = new Headers(headers)
    if (type !== null && !typed.has('content-type')) typed.set('content-type', type)
    headers = typed
  }
  return { url: from === null ? `${input}` : from.url, method, headers, body, timeoutMs, signal }
}

/** Marks responses of services; guests can make others. */
const answered = Symbol('answered')

interface ResponseOptions {
  status?: unknown
  statusText?: unknown
  headers?: unknown
  [answered]?: { url?: string; retryAfterSeconds?: number | null; type: string }
}

export class Response extends Body {
  readonly #status: number
  readonly #statusText: string
  readonly #headers: Headers
  readonly #url: string
  readonly #retryAfterSeconds: number | null
  readonly #type: string

  constructor(body?: unknown, init?: ResponseOptions | null) {
    const { status: given = 200, statusText = '', headers, [answered]: answer } = init ?? {}
    const status = given as number
    if (answer === undefined && !(status >= 200 && status <= 599)) throw new RangeError('A status must be a number from 200 to 599.')
    const { text, type } = answer === undefined ? bodyOf(body) : { text: body as string | null, type: null }
    if (text !== null && BODILESS.includes(status)) throw new TypeError(`A response of status ${status} cannot have a body.`)
    super(text)
    this.#status = Number(status)
    this.#statusText = `${statusText}`
    this.#headers = new Headers(headers)
    if (type !== null && !this.#headers.has('content-type')) this.#headers.set('content-type', type)
    this.#url = answer?.url ?? ''
    this.#retryAfterSeconds = answer?.retryAfterSeconds ?? null
    this.#type = answer?.type ?? 'default'
  }

  static json(value: unknown, init?: ResponseOptions | null): Response {
    const headers = new Headers(init?.headers)
    if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    return respond(stringify(value), { ...init, headers })
  }

  static error(): Response {
    return respond(null, { status: 0, [answered]: { type: 'error' } })
  }

  get status(): number {
    return this.#status
  }

  get statusText(): string {
    return this.#statusText
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status < 300
  }

  get headers(): Headers {
    return this.#headers
  }

  /** Of the last hop. */
  get url(): string {
    return this.#url
  }

  get redirected(): boolean {
    return false
  }

  get type(): string {
    return this.#type
  }

  /** The wait that the service asks for, when it is longer than a call may take. */
  get retryAfterSeconds(): number | null {
    return this.#retryAfterSeconds
  }

  clone(): Response {
    const { status, statusText, headers, url, retryAfterSeconds, type } = this
    return respond(textOf(this), { status, statusText, headers, [answered]: { url, retryAfterSeconds, type } })
  }

  get [Symbol.toStringTag](): string {
    return 'Response'
  }
}

interface Answer {
  status: number
  url: string
  headers: [name: string, value: string][]
  body: string
  retryAfterSeconds?: number
}

/** The response for an answer of the server. */
export function makeResponse({ status, url, headers, body, retryAfterSeconds }: Answer): Response {
  const answer = { url, retryAfterSeconds: retryAfterSeconds ?? null, type: 'basic' }
  const response = new Response(BODILESS.includes(status) ? null : body, { status, [answered]: answer })
  fill(response.headers, headers)
  return response
}
