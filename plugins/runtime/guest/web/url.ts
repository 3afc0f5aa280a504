import type { URLImpl } from 'whatwg-url/lib/URL-impl.js'
import type { URLSearchParamsImpl } from 'whatwg-url/lib/URLSearchParams-impl.js'

/** Reads the classes of whatwg-url. It is loaded with the first address: most of the time that it takes would be added to every start of a plugin. */
const engine = (): typeof import('whatwg-url/lib/URL-impl.js') => require('whatwg-url/lib/URL-impl.js')
const paramsEngine = (): typeof import('whatwg-url/lib/URLSearchParams-impl.js') => require('whatwg-url/lib/URLSearchParams-impl.js')

const textOf = (given: unknown): string => `${given as string}`.toWellFormed()
const optional = (given: unknown): string | undefined => (given === undefined ? undefined : textOf(given))

/** whatwg-url reads characters of two units twice in a user name; they are percent-encoded, or decoded from it, wherever they stand. */
const addressOf = (given: unknown): string => textOf(given).replace(/[\u{10000}-\u{10ffff}]/gu, encodeURIComponent)
const baseOf = (given: unknown): string | undefined => (given === undefined ? undefined : addressOf(given))

let fill: (params: URLSearchParams, impl: URLSearchParamsImpl) => void

export class URLSearchParams {
  #impl: URLSearchParamsImpl

  static {
    fill = (params, impl) => {
      params.#impl = impl
    }
  }

  constructor(given: unknown = '') {
    const isObject = given !== null && (typeof given === 'object' || typeof given === 'function')
    this.#impl = new (paramsEngine().implementation)(null, [isObject ? pairsOf(given) : textOf(given)], {})
  }

  get size(): number {
    return this.#impl.size
  }

  append(name: unknown, value: unknown): void {
    this.#impl.append(textOf(name), textOf(value))
  }

  delete(name: unknown, value?: unknown): void {
    this.#impl.delete(textOf(name), optional(value))
  }

  get(name: unknown): string | null {
    return this.#impl.get(textOf(name))
  }

  getAll(name: unknown): string[] {
    return this.#impl.getAll(textOf(name))
  }

  has(name: unknown, value?: unknown): boolean {
    return this.#impl.has(textOf(name), optional(value))
  }

  set(name: unknown, value: unknown): void {
    this.#impl.set(textOf(name), textOf(value))
  }

  sort(): void {
    this.#impl.sort()
  }

  forEach(run: (value: string, name: string, all: this) => void, self?: unknown): void {
    for (const [name, value] of this) run.call(self, value, name, this)
  }

  *entries(): Generator<[string, string]> {
    for (const [name, value] of this.#impl) yield [name, value]
  }

  *keys(): Generator<string> {
    for (const [name] of this) yield name
  }

  *values(): Generator<string> {
    for (const [, value] of this) yield value
  }

  toString(): string {
    return this.#impl.toString()
  }

  declare [Symbol.iterator]: () => Generator<[string, string]>

  get [Symbol.toStringTag](): string {
    return 'URLSearchParams'
  }
}
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries,
  writable: true,
  configurable: true,
})

function pairsOf(given: object): [string, string][] {
  if (typeof (given as Partial<Iterable<unknown>>)[Symbol.iterator] !== 'function')
    return Object.entries(given).map(([name, value]) => [textOf(name), textOf(value)])
  return Array.from(given as Iterable<Iterable<unknown>>, (pair) => {
    const [name, value, ...more] = pair
    if (more.length > 0 || value === undefined) throw new TypeError('Each pair must be a name and a value.')
    return [textOf(name), textOf(value)]
  })
}

let implOf: (url: URL) => URLImpl

export class URL {
  readonly #impl: URLImpl
  #params: URLSearchParams | null = null

  static {
    implOf = (url) => url.#impl
  }

  declare href: string
  declare protocol: string
  declare username: string
  declare password: string
  declare host: string
  declare hostname: string
  declare port: string
  declare pathname: string
  declare search: string
  declare hash: string

  constructor(address: unknown, base?: unknown) {
    this.#impl = new (engine().implementation)(null, [addressOf(address), baseOf(base)])
  }

  static canParse(address: unknown, base?: unknown): boolean {
    return engine().implementation.canParse(addressOf(address), baseOf(base))
  }

  static parse(address: unknown, base?: unknown): URL | null {
    return engine().implementation.canParse(addressOf(address), baseOf(base)) ? makeUrl(address, base) : null
  }

  get origin(): string {
    return this.#impl.origin
  }

  get searchParams(): URLSearchParams {
    if (this.#params === null) {
      this.#params = new URLSearchParams()
      fill(this.#params, this.#impl.searchParams)
    }
    return this.#params
  }

  toString(): string {
    return this.#impl.href
  }

  toJSON(): string {
    return this.#impl.href
  }

  get [Symbol.toStringTag](): string {
    return 'URL'
  }
}

/** Bundles rename classes that refer to themselves, and guests see their names. */
const makeUrl = (address: unknown, base: unknown): URL => new URL(address, base)

for (const name of ['href', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'] as const)
  Object.defineProperty(URL.prototype, name, {
    get(this: URL) {
      return implOf(this)[name]
    },
    set(this: URL, text: unknown) {
      implOf(this)[name] = name === 'href' ? addressOf(text) : textOf(text)
    },
    enumerable: true,
    configurable: true,
  })
