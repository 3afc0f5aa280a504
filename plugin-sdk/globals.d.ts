/**
 * What the sandbox has beside JavaScript itself, as far as plugins may rely on it: a part of what the web has under the same names. The build puts
 * a reference to it into `index.d.ts`, so plugins compile against it with `"lib": ["es2024"]` and `"types": []`.
 */

/** While a call runs: at most 16 wait at a time, each a minute at most, and they end with the last call. */
declare function setTimeout<Given extends unknown[]>(run: (...given: Given) => void, ms?: number, ...given: Given): number
declare function clearTimeout(timer: number | undefined | null): void

declare function queueMicrotask(run: () => void): void

/** Text of base64. @throws DOMException for what is none */
declare function atob(base64: string): string
/** Base64 of a text whose characters are all below U+0100; for others there is `TextEncoder`. */
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
  /** @throws TypeError for what is no address */
  new (url: string | URL, base?: string | URL): URL
  canParse(url: string | URL, base?: string | URL): boolean
  /** Null for what is no address. */
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
  addEventListener(kind: 'abort', listener: () => void): void
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
