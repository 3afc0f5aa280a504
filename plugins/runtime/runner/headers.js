/**
 * Headers and FormData for isolates, which lack them: a script whose value is a function that returns both, and what fetch.js needs besides.
 * Header values are parsed as on the web; the server checks them again before it sends any.
 */
;(function makeHeaders() {
  // biome-ignore lint/suspicious/noRedundantUseStrict: it runs as a classic script
  'use strict'
  const { random } = Math
  const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

  // ── Headers ──

  const nameOf = (given) => {
    const name = `${given}`
    if (!TOKEN.test(name)) throw new TypeError(`"${name.slice(0, 64)}" is not a header name.`)
    return name.toLowerCase()
  }
  const textOf = (given) => {
    const value = `${given}`.replace(/^[\t\n\r ]+/, '')
    let end = value.length
    while (end > 0 && '\t\n\r '.includes(value[end - 1])) end -= 1
    const text = value.slice(0, end)
    if (/[\0\n\r]|[^\0-\xff]/.test(text)) throw new TypeError('A header value must be one line of characters below U+0100.')
    return text
  }

  /** Fills the headers of a service's response, which the server has checked. */
  let fill

  class Headers {
    /** By lower-case name. */
    #values = new Map()

    static {
      fill = (headers, pairs) => {
        for (const [name, value] of pairs) headers.#values.set(name, value)
      }
    }

    constructor(given) {
      if (given === undefined || given === null) return
      if (typeof given !== 'object') throw new TypeError('Headers must be an object, an array of pairs, or Headers.')
      if (typeof given[Symbol.iterator] !== 'function') for (const name of Object.keys(given)) this.append(name, given[name])
      else
        for (const pair of given) {
          const [name, value, ...more] = pair
          if (value === undefined || more.length > 0) throw new TypeError('Each header in an array must be a pair of name and value.')
          this.append(name, value)
        }
    }

    append(given, value) {
      const name = nameOf(given)
      const before = this.#values.get(name)
      this.#values.set(name, before === undefined ? textOf(value) : `${before}, ${textOf(value)}`)
    }

    delete(name) {
      this.#values.delete(nameOf(name))
    }

    get(name) {
      return this.#values.get(nameOf(name)) ?? null
    }

    /** Plugins do not get cookies. */
    getSetCookie() {
      return []
    }

    has(name) {
      return this.#values.has(nameOf(name))
    }

    set(name, value) {
      this.#values.set(nameOf(name), textOf(value))
    }

    forEach(run, self) {
      for (const [name, value] of this) run.call(self, value, name, this)
    }

    *entries() {
      for (const name of [...this.#values.keys()].sort()) if (this.#values.has(name)) yield [name, this.#values.get(name)]
    }

    *keys() {
      for (const [name] of this.entries()) yield name
    }

    *values() {
      for (const [, value] of this.entries()) yield value
    }

    [Symbol.iterator]() {
      return this.entries()
    }

    get [Symbol.toStringTag]() {
      return 'Headers'
    }
  }

  // ── Forms ──

  /** Text fields only; there are no files. */
  class FormData {
    #fields = []

    append(name, value) {
      this.#fields.push([`${name}`, `${value}`])
    }

    delete(name) {
      this.#fields = this.#fields.filter(([one]) => one !== `${name}`)
    }

    get(name) {
      return this.getAll(name)[0] ?? null
    }

    getAll(name) {
      return this.#fields.filter(([one]) => one === `${name}`).map(([, value]) => value)
    }

    has(name) {
      return this.getAll(name).length > 0
    }

    set(name, value) {
      const at = this.#fields.findIndex(([one]) => one === `${name}`)
      this.delete(name)
      this.#fields.splice(at < 0 ? this.#fields.length : at, 0, [`${name}`, `${value}`])
    }

    forEach(run, self) {
      for (const [name, value] of this) run.call(self, value, name, this)
    }

    *entries() {
      for (const [name, value] of this.#fields) yield [name, value]
    }

    *keys() {
      for (const [name] of this.#fields) yield name
    }

    *values() {
      for (const [, value] of this.#fields) yield value
    }

    [Symbol.iterator]() {
      return this.entries()
    }

    get [Symbol.toStringTag]() {
      return 'FormData'
    }
  }

  const escapeName = (name) => name.replace(/\r?\n|\r/g, '%0D%0A').replaceAll('"', '%22')

  function formText(form) {
    let boundary = '----form'
    while (boundary.length < 40) boundary += random().toString(36).slice(2)
    let text = ''
    for (const [name, value] of form)
      text += `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"\r\n\r\n${value.replace(/\r?\n|\r/g, '\r\n')}\r\n`
    return { text: `${text}--${boundary}--\r\n`, type: `multipart/form-data; boundary=${boundary}` }
  }

  return { __proto__: null, Headers, FormData, formText, fill, isToken: (text) => TOKEN.test(text) }
})
