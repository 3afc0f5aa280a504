/**
 * Request and Response for isolates, which lack them: the part that HTTP libraries need, for bodies that are texts. A script whose
 * value is a function that adds them, Headers and FormData to the global object and returns what the prelude needs of them. It has no access to
 * the server: a Request only describes a request, and `ctx.fetch` sends it.
 *
 * web: { URL, URLSearchParams, TextEncoder, TextDecoder, AbortController }
 * headers: the result of headers.js
 */
;(function installFetch(web, headers) {
  // biome-ignore lint/suspicious/noRedundantUseStrict: it runs as a classic script
  'use strict'
  const { URL, URLSearchParams, TextEncoder, TextDecoder, AbortController } = web
  const { Headers, FormData, formText, fill, isToken } = headers
  const { parse, stringify } = JSON
  const { defineProperty, freeze } = Object
  const { isView } = ArrayBuffer
  const Buffer = ArrayBuffer

  /** Statuses of responses without a body, whatever follows their headers. */
  const BODILESS = [101, 103, 204, 205, 304]
  const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT']

  // ── Bodies ──

  /** A body as text, and its default Content-Type. */
  function bodyOf(given) {
    if (given === undefined || given === null) return { text: null, type: null }
    if (given instanceof URLSearchParams) return { text: `${given}`, type: 'application/x-www-form-urlencoded;charset=UTF-8' }
    if (given instanceof FormData) return formText(given)
    if (given instanceof Stream) return { text: given.take(), type: null }
    if (isView(given) || given instanceof Buffer) {
      try {
        return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(given), type: null }
      } catch {
        throw new TypeError('A body must be a text, but these bytes are not UTF-8.')
      }
    }
    return { text: `${given}`, type: 'text/plain;charset=UTF-8' }
  }

  /** The body as a stream of one chunk. */
  class Stream {
    #text
    #used
    #locked = false

    constructor(text, used) {
      this.#text = text
      this.#used = used
    }

    get locked() {
      return this.#locked
    }

    take() {
      if (this.#locked) throw new TypeError('This body is locked by another reader.')
      this.#used()
      const text = this.#text ?? ''
      this.#text = null
      return text
    }

    getReader() {
      if (this.#locked) throw new TypeError('This body is locked by another reader.')
      this.#locked = true
      this.#used()
      return {
        closed: Promise.resolve(undefined),
        read: async () => {
          const text = this.#text
          this.#text = null
          return text ? { done: false, value: new TextEncoder().encode(text) } : { done: true, value: undefined }
        },
        cancel: async () => {
          this.#text = null
        },
        releaseLock: () => {
          this.#locked = false
        },
      }
    }

    async cancel() {
      if (this.#locked) throw new TypeError('This body is locked by another reader.')
      this.#text = null
    }

    async *[Symbol.asyncIterator]() {
      const { value } = await this.getReader().read()
      if (value !== undefined) yield value
    }

    get [Symbol.toStringTag]() {
      return 'ReadableStream'
    }
  }

  let textOf

  /** The common part of Request and Response. A text may be read more than once, because it is in memory. */
  class Body {
    #text
    #stream = null
    #used = false

    static {
      textOf = (body) => body.#text
    }

    constructor(text) {
      this.#text = text
    }

    get body() {
      if (this.#text === null) return null
      this.#stream ??= new Stream(this.#text, () => {
        this.#used = true
      })
      return this.#stream
    }

    get bodyUsed() {
      return this.#used
    }

    async text() {
      this.#used = this.#text !== null
      return this.#text ?? ''
    }

    async json() {
      return parse(await this.text())
    }

    async bytes() {
      return new TextEncoder().encode(await this.text())
    }

    async arrayBuffer() {
      return (await this.bytes()).buffer
    }

    async blob() {
      throw new TypeError('Plugins have no Blob. A body must be a text, or its bytes.')
    }

    async formData() {
      throw new TypeError('Plugins cannot parse forms. A body must be a text, or its bytes.')
    }
  }

  // ── Requests ──

  let isRequest

  class Request extends Body {
    #url
    #method
    #headers
    #signal
    #redirect

    static {
      isRequest = (value) => typeof value === 'object' && value !== null && #url in value
    }

    constructor(input, init) {
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

    get url() {
      return this.#url
    }

    get method() {
      return this.#method
    }

    get headers() {
      return this.#headers
    }

    get signal() {
      return this.#signal
    }

    get redirect() {
      return this.#redirect
    }

    get mode() {
      return 'cors'
    }

    get credentials() {
      return 'omit'
    }

    get cache() {
      return 'default'
    }

    clone() {
      return new Request(this)
    }

    get [Symbol.toStringTag]() {
      return 'Request'
    }
  }

  const isBody = (given) =>
    given instanceof URLSearchParams || given instanceof FormData || given instanceof Stream || given instanceof Buffer || isView(given)

  /** The arguments of `ctx.fetch`: a URL or a Request, with options that override it. A plain text has no default Content-Type. */
  function readArguments(input, init) {
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
      headers = new Headers(headers)
      if (type !== null && !headers.has('content-type')) headers.set('content-type', type)
    }
    return { url: from === null ? `${input}` : from.url, method, headers, body, timeoutMs, signal }
  }

  // ── Responses ──

  /** Marks responses of services; guests can make others. */
  const answered = Symbol('answered')

  class Response extends Body {
    #status
    #statusText
    #headers
    #url
    #retryAfterSeconds
    #type

    constructor(body, init) {
      const { status = 200, statusText = '', headers, [answered]: answer } = init ?? {}
      if (answer === undefined && !(status >= 200 && status <= 599)) throw new RangeError('A status must be a number from 200 to 599.')
      const { text, type } = answer === undefined ? bodyOf(body) : { text: body, type: null }
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

    static json(value, init) {
      const headers = new Headers(init?.headers)
      if (!headers.has('content-type')) headers.set('content-type', 'application/json')
      return new Response(stringify(value), { ...init, headers })
    }

    static error() {
      return new Response(null, { status: 0, [answered]: { type: 'error' } })
    }

    get status() {
      return this.#status
    }

    get statusText() {
      return this.#statusText
    }

    get ok() {
      return this.#status >= 200 && this.#status < 300
    }

    get headers() {
      return this.#headers
    }

    /** Of the last hop. */
    get url() {
      return this.#url
    }

    get redirected() {
      return false
    }

    get type() {
      return this.#type
    }

    /** The wait that the service asks for, when it is longer than a call may take. */
    get retryAfterSeconds() {
      return this.#retryAfterSeconds
    }

    clone() {
      const { status, statusText, headers, url, retryAfterSeconds, type } = this
      return new Response(textOf(this), { status, statusText, headers, [answered]: { url, retryAfterSeconds, type } })
    }

    get [Symbol.toStringTag]() {
      return 'Response'
    }
  }

  /** @param answer of the server: { status, url, headers as pairs, body, retryAfterSeconds? } */
  function makeResponse({ status, url, headers, body, retryAfterSeconds }) {
    const response = new Response(BODILESS.includes(status) ? null : body, {
      ...{ status, [answered]: { url, retryAfterSeconds, type: 'basic' } },
    })
    fill(response.headers, headers)
    return response
  }

  for (const [name, value] of [
    ['Headers', Headers],
    ['Request', Request],
    ['Response', Response],
    ['FormData', FormData],
  ])
    defineProperty(globalThis, name, { value, writable: true, configurable: true })
  return freeze({ __proto__: null, readArguments, makeResponse })
})
