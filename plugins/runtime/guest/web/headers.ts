/** Header values are parsed as on the web; the server checks them again before it sends any. */
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

export const isToken = (text: string): boolean => TOKEN.test(text)

function nameOf(given: unknown): string {
  const name = `${given}`
  if (!isToken(name)) throw new TypeError(`"${name.slice(0, 64)}" is not a header name.`)
  return name.toLowerCase()
}

function lineOf(given: unknown): string {
  const value = `${given}`.replace(/^[\t\n\r ]+/, '')
  let end = value.length
  while (end > 0 && '\t\n\r '.includes(value[end - 1] as string)) end -= 1
  const text = value.slice(0, end)
  if (/[\0\n\r]|[^\0-\xff]/.test(text)) throw new TypeError('A header value must be one line of characters below U+0100.')
  return text
}

type Pair = [name: string, value: string]

/** Fills the headers of a service's response, which the server has checked. */
export let fill: (headers: Headers, pairs: Iterable<Pair>) => void

export class Headers {
  /** By lower-case name. */
  readonly #values = new Map<string, string>()

  static {
    fill = (headers, pairs) => {
      for (const [name, value] of pairs) headers.#values.set(name, value)
    }
  }

  constructor(given?: unknown) {
    if (given === undefined || given === null) return
    if (typeof given !== 'object') throw new TypeError('Headers must be an object, an array of pairs, or Headers.')
    const plain = given as Record<string, unknown>
    if (typeof (given as Partial<Iterable<unknown>>)[Symbol.iterator] !== 'function')
      for (const name of Object.keys(plain)) this.append(name, plain[name])
    else
      for (const pair of given as Iterable<Iterable<unknown>>) {
        const [name, value, ...more] = pair
        if (value === undefined || more.length > 0) throw new TypeError('Each header in an array must be a pair of name and value.')
        this.append(name, value)
      }
  }

  append(given: unknown, value: unknown): void {
    const name = nameOf(given)
    const before = this.#values.get(name)
    this.#values.set(name, before === undefined ? lineOf(value) : `${before}, ${lineOf(value)}`)
  }

  delete(name: unknown): void {
    this.#values.delete(nameOf(name))
  }

  get(name: unknown): string | null {
    return this.#values.get(nameOf(name)) ?? null
  }

  /** Plugins do not get cookies. */
  getSetCookie(): string[] {
    return []
  }

  has(name: unknown): boolean {
    return this.#values.has(nameOf(name))
  }

  set(name: unknown, value: unknown): void {
    this.#values.set(nameOf(name), lineOf(value))
  }

  forEach(run: (value: string, name: string, all: this) => void, self?: unknown): void {
    for (const [name, value] of this) run.call(self, value, name, this)
  }

  *entries(): Generator<Pair> {
    for (const name of [...this.#values.keys()].sort()) {
      const value = this.#values.get(name)
      if (value !== undefined) yield [name, value]
    }
  }

  *keys(): Generator<string> {
    for (const [name] of this.entries()) yield name
  }

  *values(): Generator<string> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator](): Generator<Pair> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'Headers'
  }
}
