import { FormData, formText } from './form-data.ts'
import { TextDecoder, TextEncoder } from './text.ts'
import { URLSearchParams } from './url.ts'

const { isView } = ArrayBuffer
const Buffer = ArrayBuffer

/** A body as text, and its default Content-Type. Bodies are texts. */
export function bodyOf(given: unknown): { text: string | null; type: string | null } {
  if (given === undefined || given === null) return { text: null, type: null }
  if (given instanceof URLSearchParams) return { text: `${given}`, type: 'application/x-www-form-urlencoded;charset=UTF-8' }
  if (given instanceof FormData) return formText(given)
  if (given instanceof ReadableStream) return { text: given.take(), type: null }
  if (isView(given) || given instanceof Buffer) {
    try {
      return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(given), type: null }
    } catch {
      throw new TypeError('A body must be a text, but these bytes are not UTF-8.')
    }
  }
  return { text: `${given}`, type: 'text/plain;charset=UTF-8' }
}

/** Whether it is a body of its own kind, and not a text. */
export const isBody = (given: unknown): boolean =>
  given instanceof URLSearchParams ||
  given instanceof FormData ||
  given instanceof ReadableStream ||
  given instanceof Buffer ||
  isView(given)

/** The body as a stream of one chunk. */
class ReadableStream {
  #text: string | null
  readonly #used
  #locked = false

  constructor(text: string, used: () => void) {
    this.#text = text
    this.#used = used
  }

  get locked(): boolean {
    return this.#locked
  }

  take(): string {
    this.#refuseLocked()
    this.#used()
    const text = this.#text ?? ''
    this.#text = null
    return text
  }

  getReader() {
    this.#refuseLocked()
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

  async cancel(): Promise<void> {
    this.#refuseLocked()
    this.#text = null
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const { value } = await this.getReader().read()
    if (value !== undefined) yield value
  }

  #refuseLocked(): void {
    if (this.#locked) throw new TypeError('This body is locked by another reader.')
  }

  get [Symbol.toStringTag](): string {
    return 'ReadableStream'
  }
}

export let textOf: (body: Body) => string | null

/** The common part of Request and Response. A text may be read more than once, because it is in memory. */
export class Body {
  readonly #text
  #stream: ReadableStream | null = null
  #used = false

  static {
    textOf = (body) => body.#text
  }

  constructor(text: string | null) {
    this.#text = text
  }

  get body(): ReadableStream | null {
    if (this.#text === null) return null
    this.#stream ??= new ReadableStream(this.#text, () => {
      this.#used = true
    })
    return this.#stream
  }

  get bodyUsed(): boolean {
    return this.#used
  }

  async text(): Promise<string> {
    this.#used = this.#text !== null
    return this.#text ?? ''
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text())
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new TextEncoder().encode(await this.text())
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer
  }

  async blob(): Promise<never> {
    throw new TypeError('Plugins have no Blob. A body must be a text, or its bytes.')
  }

  async formData(): Promise<never> {
    throw new TypeError('Plugins cannot parse forms. A body must be a text, or its bytes.')
  }
}
