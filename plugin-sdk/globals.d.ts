/**
 * The globals of the sandbox besides JavaScript itself on which plugins may rely: a subset of the web APIs with the same names. The build adds a
 * reference to this file to `index.d.ts`, so plugins compile against it with `"lib": ["es2024"]` and `"types": []`.
 */

/** Runs only during calls: at most 16 pending timers, each up to a minute; they end with the last call. */
declare function setTimeout<Given extends unknown[]>(run: (...given: Given) => void, ms?: number, ...given: Given): number
declare function clearTimeout(timer: number | undefined | null): void

declare function queueMicrotask(run: () => void): void

/** Decodes base64. @throws DOMException for invalid base64 */
declare function atob(base64: string): string
/** Encodes a text with characters below U+0100 as base64; for others use `TextEncoder`. */
declare function btoa(text: string): string

/** A deep copy of plain values, arrays, maps, sets, dates, regular expressions, errors and buffers. */
declare function structuredClone<Value>(value: Value): Value

interface URLSearchParams extends Iterable<[name: string, value: string]> {
  readonly size: number
  append(name: string, value: string): void
  delete(name: string, value?: string): void
  get(name: string): string | null
  getAll(name: string): string[]
  has(name: string, value?: string): boolean
  set(name: string, value: string): void
  sort(): void
  toString(): string
  forEach(run: (value: string, name: string, all: URLSearchParams) => void): void
  entries(): IteratorObject<[name: string, value: string]>
  keys(): IteratorObject<string>
  values(): IteratorObject<string>
}
declare var URLSearchParams: {
  prototype: URLSearchParams
  new (given?: string | Record<string, string> | Iterable<readonly [string, string]>): URLSearchParams
}

interface URL {
  hash: string
  host: string
  hostname: string
  href: string
  readonly origin: string
  password: string
  pathname: string
  port: string
  protocol: string
  search: string
  readonly searchParams: URLSearchParams
  username: string
  toString(): string
  toJSON(): string
}
declare var URL: {
  prototype: URL
  /** @throws TypeError for an invalid address */
  new (url: string | URL, base?: string | URL): URL
  canParse(url: string | URL, base?: string | URL): boolean
  /** Null for an invalid address. */
  parse(url: string | URL, base?: string | URL): URL | null
}

interface TextEncoder {
  readonly encoding: string
  encode(text?: string): Uint8Array<ArrayBuffer>
  encodeInto(text: string, bytes: Uint8Array): { read: number; written: number }
}
declare var TextEncoder: { prototype: TextEncoder; new (): TextEncoder }

interface TextDecoder {
  readonly encoding: string
  readonly fatal: boolean
  readonly ignoreBOM: boolean
  decode(bytes?: ArrayBuffer | ArrayBufferView): string
}
/** UTF-8 only. */
declare var TextDecoder: {
  prototype: TextDecoder
  new (encoding?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder
}

interface DOMException extends Error {}
declare var DOMException: { prototype: DOMException; new (message?: string, name?: string): DOMException }

interface AbortSignal {
  readonly aborted: boolean
  readonly reason: unknown
  onabort: ((event: { readonly type: 'abort'; readonly target: AbortSignal }) => void) | null
  throwIfAborted(): void
  addEventListener(kind: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(kind: 'abort', listener: () => void): void
}
declare var AbortSignal: {
  prototype: AbortSignal
  abort(reason?: unknown): AbortSignal
  timeout(ms: number): AbortSignal
  any(signals: Iterable<AbortSignal>): AbortSignal
}

interface AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}
declare var AbortController: { prototype: AbortController; new (): AbortController }

// ── Fetching: there is no global `fetch`, but `ctx.fetch`, which libraries take in its place. Bodies are texts. ──

type HeadersInit = Headers | Record<string, string> | Iterable<readonly [name: string, value: string]>
/** Bytes must be UTF-8 text. */
type BodyInit = string | URLSearchParams | FormData | ArrayBuffer | ArrayBufferView | ReadableStream
type RequestInfo = string | Request

interface Headers extends Iterable<[name: string, value: string]> {
  append(name: string, value: string): void
  delete(name: string): void
  /** The name is case-insensitive. */
  get(name: string): string | null
  /** Always empty. */
  getSetCookie(): string[]
  has(name: string): boolean
  set(name: string, value: string): void
  forEach(run: (value: string, name: string, all: Headers) => void): void
  entries(): IteratorObject<[name: string, value: string]>
  keys(): IteratorObject<string>
  values(): IteratorObject<string>
}
declare var Headers: { prototype: Headers; new (given?: HeadersInit): Headers }

/** Text fields only. */
interface FormData extends Iterable<[name: string, value: string]> {
  append(name: string, value: string): void
  delete(name: string): void
  get(name: string): string | null
  getAll(name: string): string[]
  has(name: string): boolean
  set(name: string, value: string): void
  forEach(run: (value: string, name: string, all: FormData) => void): void
  entries(): IteratorObject<[name: string, value: string]>
  keys(): IteratorObject<string>
  values(): IteratorObject<string>
}
declare var FormData: { prototype: FormData; new (): FormData }

/** A body as a stream, with all data in one chunk. Plugins cannot create streams. */
interface ReadableStream<Piece = Uint8Array<ArrayBuffer>> extends AsyncIterable<Piece> {
  readonly locked: boolean
  getReader(): {
    readonly closed: Promise<undefined>
    read(): Promise<{ done: false; value: Piece } | { done: true; value: undefined }>
    cancel(): Promise<void>
    releaseLock(): void
  }
  cancel(): Promise<void>
}

interface Body {
  readonly body: ReadableStream | null
  readonly bodyUsed: boolean
  text(): Promise<string>
  // biome-ignore lint/suspicious/noExplicitAny: as on the web, so that libraries can use the value as any type
  json<Value = any>(): Promise<Value>
  bytes(): Promise<Uint8Array<ArrayBuffer>>
  arrayBuffer(): Promise<ArrayBuffer>
}

interface RequestInit {
  method?: string
  headers?: HeadersInit
  body?: BodyInit | null
  /** When it is aborted, the request rejects with its reason. */
  signal?: AbortSignal | null
  redirect?: 'follow'
}
interface Request extends Body {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly signal: AbortSignal
  readonly redirect: string
  clone(): Request
}
declare var Request: { prototype: Request; new (input: string | URL | Request, init?: RequestInit): Request }

interface ResponseInit {
  status?: number
  statusText?: string
  headers?: HeadersInit
}
interface Response extends Body {
  readonly ok: boolean
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  /** After redirects. */
  readonly url: string
  readonly redirected: boolean
  readonly type: string
  clone(): Response
}
declare var Response: {
  prototype: Response
  new (body?: BodyInit | null, init?: ResponseInit): Response
  json(value: unknown, init?: ResponseInit): Response
  error(): Response
}
