/**
 * Web APIs for plugins that V8 alone lacks: timers, text encoding, base64, structured clones, abort signals. A script
 * whose value is a function that adds them to the global object of an isolate and returns what the prelude needs. Of the channel to the
 * server it gets only `timers`, which are limited.
 *
 * timers: { set(run, ms): number, clear(id) }
 * web: { URL, URLSearchParams }
 */
;(function installWeb(timers, web) {
  // biome-ignore lint/suspicious/noRedundantUseStrict: it runs as a classic script
  'use strict'
  const { apply, defineProperty, ownKeys } = Reflect
  const { fromCharCode } = String
  const GuestPromise = Promise
  const promiseThen = Promise.prototype.then
  const resolved = Promise.resolve()
  const Bytes = Uint8Array
  const Buffer = ArrayBuffer
  const { isView } = ArrayBuffer

  // ── Errors ──

  class DOMException extends Error {
    constructor(message = '', name = 'Error') {
      super(message)
      defineProperty(this, 'name', { value: String(name), configurable: true })
    }
  }

  // ── Timers ──

  function setTimeout(run, ms = 0, ...given) {
    if (typeof run !== 'function') throw new TypeError('setTimeout needs a function.')
    const number = Number(ms)
    return timers.set(() => apply(run, undefined, given), number > 0 ? number : 0)
  }

  function clearTimeout(id) {
    if (typeof id === 'number') timers.clear(id)
  }

  function queueMicrotask(run) {
    if (typeof run !== 'function') throw new TypeError('queueMicrotask needs a function.')
    apply(promiseThen, resolved, [() => void run()])
  }

  // ── UTF-8 ──

  class TextEncoder {
    get encoding() {
      return 'utf-8'
    }

    encode(given = '') {
      const text = `${given}`
      let length = 0
      for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at)
        length += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
        if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(at + 1))) {
          length += 1
          at += 1
        }
      }
      const bytes = new Bytes(length)
      this.encodeInto(text, bytes)
      return bytes
    }

    encodeInto(given, bytes) {
      const text = `${given}`
      let read = 0
      let written = 0
      while (read < text.length) {
        let point = text.charCodeAt(read)
        let units = 1
        if (point >= 0xd800 && point < 0xe000) {
          const low = text.charCodeAt(read + 1)
          if (point < 0xdc00 && isLow(low)) {
            point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00)
            units = 2
          } else point = 0xfffd
        }
        const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
        if (written + size > bytes.length) break
        if (size === 1) bytes[written] = point
        else {
          for (let more = size - 1, rest = point; more > 0; more--, rest >>= 6) bytes[written + more] = 0x80 | (rest & 0x3f)
          bytes[written] = ((0xf00 >> size) & 0xff) | (point >> (6 * (size - 1)))
        }
        written += size
        read += units
      }
      return { read, written }
    }
  }

  const isLow = (unit) => unit >= 0xdc00 && unit < 0xe000

  function bytesOf(given) {
    if (given === undefined) return new Bytes(0)
    if (isView(given)) return new Bytes(given.buffer, given.byteOffset, given.byteLength)
    if (given instanceof Buffer) return new Bytes(given)
    throw new TypeError('Bytes must be an ArrayBuffer or a view of one.')
  }

  class TextDecoder {
    #fatal
    #ignoreBOM

    constructor(label = 'utf-8', options = {}) {
      if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(`${label}`)) throw new RangeError(`Only utf-8 can be decoded, not ${label}.`)
      this.#fatal = Boolean(options?.fatal)
      this.#ignoreBOM = Boolean(options?.ignoreBOM)
    }

    get encoding() {
      return 'utf-8'
    }

    get fatal() {
      return this.#fatal
    }

    get ignoreBOM() {
      return this.#ignoreBOM
    }

    decode(given) {
      const bytes = bytesOf(given)
      const skipped = !this.#ignoreBOM && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
      let text = ''
      // At most as many units at a time as a call may have arguments.
      let units = []
      for (let at = skipped; at < bytes.length; ) {
        const first = bytes[at++]
        let point = first
        if (first >= 0x80) {
          let needed = first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2 : first >= 0xf0 && first <= 0xf4 ? 3 : -1
          point = first & (0x3f >> needed)
          let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
          let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
          for (; needed > 0 && bytes[at] >= low && bytes[at] <= high; needed--) {
            point = (point << 6) | (bytes[at++] & 0x3f)
            low = 0x80
            high = 0xbf
          }
          if (needed !== 0) {
            if (this.#fatal) throw new TypeError('These bytes are not valid utf-8.')
            point = 0xfffd
          }
        }
        if (point > 0xffff) units.push(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + (point & 0x3ff))
        else units.push(point)
        if (units.length > 4_000) {
          text += apply(fromCharCode, undefined, units)
          units = []
        }
      }
      return text + apply(fromCharCode, undefined, units)
    }
  }

  // ── Base64 ──

  const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const badCharacter = (what) => new DOMException(what, 'InvalidCharacterError')

  function btoa(given) {
    const text = `${given}`
    let result = ''
    for (let at = 0; at < text.length; at += 3) {
      const [a, b, c] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)]
      if (a > 255 || b > 255 || c > 255)
        throw badCharacter('btoa supports only characters below U+0100; encode others with TextEncoder first.')
      const left = text.length - at
      result += LETTERS[a >> 2] + LETTERS[((a & 3) << 4) | (b >> 4)]
      result += (left > 1 ? LETTERS[((b & 15) << 2) | (c >> 6)] : '=') + (left > 2 ? LETTERS[c & 63] : '=')
    }
    return result
  }

  function atob(given) {
    let text = `${given}`.replace(/[\t\n\f\r ]/g, '')
    if (text.length % 4 === 0) text = text.replace(/={1,2}$/, '')
    if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw badCharacter('This is not valid base64.')
    let result = ''
    let bits = 0
    let buffered = 0
    for (let at = 0; at < text.length; at++) {
      buffered = ((buffered << 6) | LETTERS.indexOf(text[at])) & 0xffff
      bits += 6
      if (bits >= 8) {
        bits -= 8
        result += fromCharCode((buffered >> bits) & 0xff)
      }
    }
    return result
  }

  // ── Copies ──

  const ERRORS = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]
  const cannot = (what) => new DOMException(`${what} cannot be copied.`, 'DataCloneError')

  function structuredClone(value) {
    const copies = new Map()
    const copyOf = (one) => {
      if (typeof one === 'function' || typeof one === 'symbol') throw cannot(`A ${typeof one}`)
      if (one === null || typeof one !== 'object') return one
      if (copies.has(one)) return copies.get(one)
      const keep = (copy) => {
        copies.set(one, copy)
        return copy
      }
      const kind = apply(Object.prototype.toString, one, [])
      if (Array.isArray(one)) {
        const copy = keep([])
        copy.length = one.length
        for (const key of Object.keys(one)) copy[key] = copyOf(one[key])
        return copy
      }
      if (one instanceof Map) {
        const copy = keep(new Map())
        for (const [key, member] of [...one]) copy.set(copyOf(key), copyOf(member))
        return copy
      }
      if (one instanceof Set) {
        const copy = keep(new Set())
        for (const member of [...one]) copy.add(copyOf(member))
        return copy
      }
      if (one instanceof Date) return keep(new Date(one.getTime()))
      if (one instanceof RegExp) return keep(new RegExp(one.source, one.flags))
      if (one instanceof Buffer) return keep(one.slice(0))
      if (isView(one)) {
        const buffer = copyOf(one.buffer)
        const Kind = one.constructor
        return keep(
          one instanceof DataView ? new DataView(buffer, one.byteOffset, one.byteLength) : new Kind(buffer, one.byteOffset, one.length),
        )
      }
      if (one instanceof Error) {
        const Kind = ERRORS.find((candidate) => one instanceof candidate && one.name === candidate.name) ?? Error
        const copy = keep(new Kind(String(one.message)))
        defineProperty(copy, 'stack', { value: String(one.stack), writable: true, configurable: true })
        if ('cause' in one) defineProperty(copy, 'cause', { value: copyOf(one.cause), writable: true, configurable: true })
        return copy
      }
      if (kind === '[object Number]' || kind === '[object String]' || kind === '[object Boolean]') return keep(Object(one.valueOf()))
      if (one instanceof GuestPromise || one instanceof WeakMap || one instanceof WeakSet || one instanceof WeakRef) throw cannot(kind)
      const copy = keep({})
      for (const key of Object.keys(one))
        defineProperty(copy, key, { value: copyOf(one[key]), writable: true, enumerable: true, configurable: true })
      return copy
    }
    return copyOf(value)
  }

  // ── Abort signals ──

  /** Permits creating signals, which guests cannot do. */
  const token = {}
  let abort

  class AbortSignal {
    #aborted = false
    #reason
    #listeners = new Set()

    static {
      abort = (signal, reason) => {
        if (signal.#aborted) return
        signal.#aborted = true
        signal.#reason = reason === undefined ? new DOMException('This operation was aborted.', 'AbortError') : reason
        const event = Object.freeze({ type: 'abort', target: signal })
        for (const run of [signal.onabort, ...signal.#listeners])
          try {
            if (typeof run === 'function') apply(run, signal, [event])
            else run?.handleEvent?.(event)
          } catch {
            // An error in one listener must not affect the others.
          }
        signal.#listeners.clear()
      }
    }

    constructor(given) {
      if (given !== token) throw new TypeError('Use an AbortController to create signals.')
      defineProperty(this, 'onabort', { value: null, writable: true })
    }

    static abort(reason) {
      const signal = new AbortSignal(token)
      abort(signal, reason)
      return signal
    }

    static timeout(ms) {
      const signal = new AbortSignal(token)
      setTimeout(() => abort(signal, new DOMException('The operation timed out.', 'TimeoutError')), ms)
      return signal
    }

    static any(signals) {
      const signal = new AbortSignal(token)
      for (const one of signals) {
        if (one.aborted) abort(signal, one.reason)
        else one.addEventListener('abort', () => abort(signal, one.reason))
      }
      return signal
    }

    get aborted() {
      return this.#aborted
    }

    get reason() {
      return this.#reason
    }

    throwIfAborted() {
      if (this.#aborted) throw this.#reason
    }

    addEventListener(kind, run) {
      if (kind === 'abort' && run !== null && run !== undefined && !this.#aborted) this.#listeners.add(run)
    }

    removeEventListener(kind, run) {
      if (kind === 'abort') this.#listeners.delete(run)
    }
  }

  class AbortController {
    #signal = new AbortSignal(token)

    get signal() {
      return this.#signal
    }

    abort(reason) {
      abort(this.#signal, reason)
    }
  }

  const given = {
    __proto__: null,
    ...web,
    DOMException,
    setTimeout,
    clearTimeout,
    queueMicrotask,
    TextEncoder,
    TextDecoder,
    btoa,
    atob,
    structuredClone,
    AbortSignal,
    AbortController,
  }
  for (const name of ownKeys(given)) defineProperty(globalThis, name, { value: given[name], writable: true, configurable: true })

  return {
    __proto__: null,
    classes: { __proto__: null, ...web, TextEncoder, TextDecoder, AbortController },
    makeSignal: () => {
      const signal = new AbortSignal(token)
      return { __proto__: null, signal, giveUp: (reason) => abort(signal, reason) }
    },
  }
})
