/**
 * URL and URLSearchParams for isolates, which lack them: a script whose value is a function that returns both, given the result of url-parts.js.
 * It runs in the realm of the guest, which may change it later, but can harm only itself.
 */
;(function makeUrl(parts) {
  // biome-ignore lint/suspicious/noRedundantUseStrict: it runs as a classic script
  'use strict'
  const encode = encodeURIComponent
  const {
    FRAGMENT,
    USERINFO,
    PORTS,
    quote,
    unquote,
    isSpecial,
    parse,
    parseHost,
    splitPort,
    addPath,
    setPort,
    setQuery,
    pathOf,
    serialize,
  } = parts

  // ── Query parameters ──

  const formQuote = (text) =>
    encode(text.toWellFormed())
      .replace(/%20/g, '+')
      .replace(/[!'()~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  const formUnquote = (text) => unquote(text.replaceAll('+', ' '))

  function readForm(text) {
    const pairs = []
    for (const part of text.split('&')) {
      if (part === '') continue
      const at = part.indexOf('=')
      pairs.push(at < 0 ? [formUnquote(part), ''] : [formUnquote(part.slice(0, at)), formUnquote(part.slice(at + 1))])
    }
    return pairs
  }

  let connect

  class URLSearchParams {
    #pairs = []
    /** Updates the URL that it belongs to. */
    #onChange = null

    static {
      connect = (params, pairs, onChange) => {
        params.#pairs = pairs
        if (onChange !== undefined) params.#onChange = onChange
      }
    }

    constructor(given = '') {
      if (given !== null && (typeof given === 'object' || typeof given === 'function')) {
        if (typeof given[Symbol.iterator] === 'function')
          for (const pair of given) {
            const [name, value, ...more] = pair
            if (more.length > 0 || value === undefined) throw new TypeError('Each pair must be a name and a value.')
            this.append(name, value)
          }
        else for (const name of Object.keys(given)) this.append(name, given[name])
      } else this.#pairs = readForm(String(given).replace(/^\?/, '').toWellFormed())
    }

    get size() {
      return this.#pairs.length
    }

    append(name, value) {
      this.#pairs.push([String(name).toWellFormed(), String(value).toWellFormed()])
      this.#onChange?.()
    }

    delete(name, value) {
      const wanted = String(name)
      this.#pairs = this.#pairs.filter(([one, other]) => one !== wanted || (value !== undefined && other !== String(value)))
      this.#onChange?.()
    }

    get(name) {
      const wanted = String(name)
      return this.#pairs.find(([one]) => one === wanted)?.[1] ?? null
    }

    getAll(name) {
      const wanted = String(name)
      return this.#pairs.filter(([one]) => one === wanted).map(([, value]) => value)
    }

    has(name, value) {
      const wanted = String(name)
      return this.#pairs.some(([one, other]) => one === wanted && (value === undefined || other === String(value)))
    }

    set(name, value) {
      const wanted = String(name).toWellFormed()
      const first = this.#pairs.find(([one]) => one === wanted)
      if (first === undefined) return this.append(wanted, value)
      first[1] = String(value).toWellFormed()
      this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== wanted)
      this.#onChange?.()
    }

    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      this.#onChange?.()
    }

    forEach(run, self) {
      for (const [name, value] of this) run.call(self, value, name, this)
    }

    *entries() {
      for (let at = 0; at < this.#pairs.length; at++) yield [...this.#pairs[at]]
    }

    *keys() {
      for (const [name] of this) yield name
    }

    *values() {
      for (const [, value] of this) yield value
    }

    toString() {
      return this.#pairs.map(([name, value]) => `${formQuote(name)}=${formQuote(value)}`).join('&')
    }

    get [Symbol.toStringTag]() {
      return 'URLSearchParams'
    }
  }
  Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
    value: URLSearchParams.prototype.entries,
    writable: true,
    configurable: true,
  })

  class URL {
    #url
    #params = null

    constructor(address, base) {
      const from = base === undefined ? null : parse(String(base).toWellFormed(), null)
      const url = base !== undefined && from === null ? null : parse(String(address).toWellFormed(), from)
      if (url === null) throw new TypeError('Invalid URL')
      this.#url = url
    }

    static canParse(address, base) {
      return URL.parse(address, base) !== null
    }

    static parse(address, base) {
      try {
        return new URL(address, base)
      } catch {
        return null
      }
    }

    #renewParams() {
      if (this.#params !== null) connect(this.#params, readForm(this.#url.query ?? ''))
    }

    get href() {
      return serialize(this.#url)
    }

    set href(text) {
      const url = parse(String(text).toWellFormed(), null)
      if (url === null) throw new TypeError('Invalid URL')
      this.#url = url
      this.#renewParams()
    }

    get origin() {
      const { scheme, path } = this.#url
      if (scheme === 'blob:' && typeof path === 'string') {
        const inner = URL.parse(path)
        return inner !== null && /^https?:$/.test(inner.protocol) ? inner.origin : 'null'
      }
      return isSpecial(this.#url) && scheme !== 'file:' ? `${scheme}//${this.host}` : 'null'
    }

    get protocol() {
      return this.#url.scheme
    }

    set protocol(text) {
      const scheme = /^([a-z][a-z0-9+.-]*)(:|$)/i.exec(String(text).replace(/[\t\n\r]/g, ''))?.[1].toLowerCase()
      const url = this.#url
      if (scheme === undefined || isSpecial(url) !== `${scheme}:` in PORTS) return
      if (`${scheme}:` === 'file:' && (url.username !== '' || url.password !== '' || url.port !== null)) return
      if (url.scheme === 'file:' && url.host === '') return
      url.scheme = `${scheme}:`
      if (url.port === PORTS[url.scheme]) url.port = null
    }

    get username() {
      return this.#url.username
    }

    set username(text) {
      if (this.#url.host && this.#url.scheme !== 'file:') this.#url.username = quote(String(text), USERINFO)
    }

    get password() {
      return this.#url.password
    }

    set password(text) {
      if (this.#url.host && this.#url.scheme !== 'file:') this.#url.password = quote(String(text), USERINFO)
    }

    get host() {
      const { host, port } = this.#url
      return host === null ? '' : port === null ? host : `${host}:${port}`
    }

    set host(text) {
      this.#setHost(text, true)
    }

    get hostname() {
      return this.#url.host ?? ''
    }

    set hostname(text) {
      this.#setHost(text, false)
    }

    #setHost(text, withPort) {
      const url = this.#url
      if (typeof url.path === 'string') return
      const wanted = String(text)
        .toWellFormed()
        .replace(/[\t\n\r]/g, '')
        .split(isSpecial(url) ? /[/?#\\]/ : /[/?#]/)[0]
      const [host, port] = splitPort(wanted)
      if ((port !== undefined && (!withPort || host === '')) || host.includes('@')) return
      const credentials = url.username !== '' || url.password !== '' || url.port !== null
      if (host === '' && ((isSpecial(url) && url.scheme !== 'file:') || credentials)) return
      const found = host === '' ? '' : parseHost(host, !isSpecial(url))
      if (found === null) return
      url.host = url.scheme === 'file:' && found === 'localhost' ? '' : found
      if (port !== undefined && url.scheme !== 'file:') setPort(url, port)
    }

    get port() {
      return this.#url.port === null ? '' : String(this.#url.port)
    }

    set port(text) {
      if (!this.#url.host || this.#url.scheme === 'file:') return
      const digits = String(text).replace(/[\t\n\r]/g, '')
      if (digits === '') this.#url.port = null
      else if (/^\d/.test(digits)) setPort(this.#url, digits)
    }

    get pathname() {
      return pathOf(this.#url)
    }

    set pathname(text) {
      const url = this.#url
      if (typeof url.path === 'string') return
      url.path = []
      const path = String(text)
        .replace(/[\t\n\r]/g, '')
        .toWellFormed()
      if (path !== '' || isSpecial(url) || url.host === null)
        addPath(url, /^\//.test(path) || (isSpecial(url) && path[0] === '\\') ? path.slice(1) : path)
    }

    get search() {
      return this.#url.query ? `?${this.#url.query}` : ''
    }

    set search(text) {
      const query = String(text)
      if (query === '') this.#url.query = null
      else setQuery(this.#url, query.replace(/^\?/, '').replace(/[\t\n\r]/g, ''))
      this.#renewParams()
    }

    get searchParams() {
      if (this.#params === null) {
        this.#params = new URLSearchParams()
        connect(this.#params, readForm(this.#url.query ?? ''), () => {
          const text = this.#params.toString()
          this.#url.query = text === '' ? null : text
        })
      }
      return this.#params
    }

    get hash() {
      return this.#url.fragment ? `#${this.#url.fragment}` : ''
    }

    set hash(text) {
      const fragment = String(text)
      this.#url.fragment = fragment === '' ? null : quote(fragment.replace(/^#/, '').replace(/[\t\n\r]/g, ''), FRAGMENT)
    }

    toString() {
      return serialize(this.#url)
    }

    toJSON() {
      return serialize(this.#url)
    }

    get [Symbol.toStringTag]() {
      return 'URL'
    }
  }

  return { __proto__: null, URL, URLSearchParams }
})
