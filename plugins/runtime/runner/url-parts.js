/**
 * Parses URLs by the URL Standard (https://url.spec.whatwg.org/): percent-encoding, hosts, paths, and whole URLs. A script whose
 * value is a function that returns the functions on which url.js builds its classes.
 */
;(function makeAddressParts() {
  // biome-ignore lint/suspicious/noRedundantUseStrict: it runs as a classic script
  'use strict'
  const encode = encodeURIComponent
  const PORTS = { __proto__: null, 'http:': 80, 'https:': 443, 'ws:': 80, 'wss:': 443, 'ftp:': 21, 'file:': null }
  /** Host names have at most 253 octets; normalizing a long one would take quadratic time. */
  const DOMAIN_LENGTH_MAX = 2_000
  const isSpecial = (url) => url.scheme in PORTS

  // ── Percent signs ──

  /** Each set contains the one before. */
  const FRAGMENT = ' "<>`'
  const QUERY = ' "#<>'
  const SPECIAL_QUERY = `${QUERY}'`
  const PATH = `${QUERY}?^\`{}`
  const USERINFO = `${PATH}/:;=@[\\]|`
  const NONE = ''

  function quote(text, set) {
    let result = ''
    for (const char of text.toWellFormed()) {
      const code = char.codePointAt(0)
      if (code > 0x7e) result += code === 0x7f ? '%7F' : encode(char)
      else if (code < 0x20 || set.includes(char)) result += '%' + (code < 16 ? '0' : '') + code.toString(16).toUpperCase()
      else result += char
    }
    return result
  }

  /** Decodes percent-encoded UTF-8; invalid sequences become U+FFFD. */
  function unquote(text) {
    if (!text.includes('%')) return text
    const bytes = []
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      const hex = text.slice(at + 1, at + 3)
      if (code === 0x25 && /^[0-9a-f]{2}$/i.test(hex)) {
        bytes.push(Number.parseInt(hex, 16))
        at += 2
      } else if (code < 0x80) bytes.push(code)
      else {
        const char = String.fromCodePoint(text.codePointAt(at))
        for (const part of encode(char.toWellFormed()).slice(1).split('%')) bytes.push(Number.parseInt(part, 16))
        at += char.length - 1
      }
    }
    return decodeBytes(bytes)
  }

  function decodeBytes(bytes) {
    let text = ''
    for (let at = 0; at < bytes.length; ) {
      const first = bytes[at++]
      if (first < 0x80) {
        text += String.fromCharCode(first)
        continue
      }
      let needed = first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2 : first >= 0xf0 && first <= 0xf4 ? 3 : 0
      if (needed === 0) {
        text += '\ufffd'
        continue
      }
      let code = first & (0x3f >> needed)
      let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
      let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
      for (; needed > 0 && bytes[at] >= low && bytes[at] <= high; needed--) {
        code = (code << 6) | (bytes[at++] & 0x3f)
        low = 0x80
        high = 0xbf
      }
      text += needed > 0 ? '\ufffd' : String.fromCodePoint(code)
    }
    return text
  }

  // ── Hosts ──

  function parseHost(text, isOpaque) {
    if (text[0] === '[') return text.at(-1) === ']' ? parseIPv6(text.slice(1, -1)) : null
    if (isOpaque) return /[\0\t\n\r #/:<>?@[\\\]^|]/.test(text) ? null : quote(text, NONE)
    const domain = toAscii(unquote(text))
    if (domain === '' || /[\0-\x20#%/:<>?@[\\\]^|\x7f]/.test(domain)) return null
    const labels = domain.split('.')
    if (labels.at(-1) === '' && labels.length > 1) labels.pop()
    return /^(\d+|0x[0-9a-f]*)$/i.test(labels.at(-1)) ? parseIPv4(labels) : domain
  }

  function parseIPv4(parts) {
    if (parts.length > 4) return null
    const numbers = []
    for (const part of parts) {
      if (!/^(0x[0-9a-f]*|\d+)$/i.test(part)) return null
      const isOctal = /^0\d/.test(part)
      if (isOctal && /[89]/.test(part)) return null
      numbers.push(/^0x/i.test(part) ? Number.parseInt(part.slice(2) || '0', 16) : Number.parseInt(part, isOctal ? 8 : 10))
    }
    const last = numbers.pop()
    if (numbers.some((number) => number > 255) || last >= 256 ** (4 - numbers.length)) return null
    let address = last
    for (const [index, number] of numbers.entries()) address += number * 256 ** (3 - index)
    return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.')
  }

  function parseIPv6(text) {
    let rest = text
    let tail = []
    const four = /^(.*:)((?:\d{1,3}\.){3}\d{1,3})$/.exec(rest)
    if (four) {
      const bytes = four[2].split('.')
      if (bytes.some((byte) => /^0\d/.test(byte) || Number(byte) > 255)) return null
      tail = [bytes[0] * 256 + Number(bytes[1]), bytes[2] * 256 + Number(bytes[3])]
      rest = four[1].endsWith('::') ? four[1] : four[1].slice(0, -1)
      if (rest === '') return null
    }
    const halves = rest.split('::')
    if (halves.length > 2) return null
    const read = (half) =>
      half === '' ? [] : half.split(':').map((piece) => (/^[0-9a-f]{1,4}$/i.test(piece) ? Number.parseInt(piece, 16) : -1))
    const front = read(halves[0])
    const back = halves.length === 2 ? read(halves[1]) : []
    const zeros = 8 - front.length - back.length - tail.length
    if (halves.length === 2 ? zeros < 1 : zeros !== 0) return null
    const pieces = [...front, ...Array(zeros).fill(0), ...back, ...tail]
    if (pieces.includes(-1)) return null
    // The first of the longest runs of zeros is abbreviated if it has at least two.
    let [best, length] = [-1, 1]
    for (let start = 0; start < 8; start++) {
      let end = start
      while (end < 8 && pieces[end] === 0) end++
      if (end - start > length) [best, length] = [start, end - start]
    }
    const hex = pieces.map((piece) => piece.toString(16))
    return best < 0 ? `[${hex.join(':')}]` : `[${hex.slice(0, best).join(':')}::${hex.slice(best + length).join(':')}]`
  }

  /** Encodes host names in other scripts. The name servers decide which characters are allowed. */
  function toAscii(domain) {
    if (/^[\0-\x7f]*$/.test(domain)) return domain.toLowerCase()
    if (domain.includes('\ufffd') || domain.length > DOMAIN_LENGTH_MAX) return ''
    const mapped = [...domain.replace(/\u00ad|\u200b|\u2060|\ufeff|[\ufe00-\ufe0f]/g, '').normalize('NFKC')]
      .map((char) => char.toLowerCase())
      .join('')
      .normalize('NFKC')
    const labels = mapped.split(/[.\u3002]/)
    // An encoded name is not encoded again.
    if (labels.some((label) => label.startsWith('xn--') && /[^\0-\x7f]/.test(label))) return ''
    return labels.map((label) => (/[^\0-\x7f]/.test(label) ? `xn--${punycode(label)}` : label)).join('.')
  }

  /** RFC 3492. */
  function punycode(label) {
    const points = [...label.toWellFormed()].map((char) => char.codePointAt(0))
    const basic = points.filter((point) => point < 0x80)
    let output = String.fromCodePoint(...basic) + (basic.length > 0 ? '-' : '')
    let [n, delta, bias, handled] = [128, 0, 72, basic.length]
    const digit = (value) => String.fromCharCode(value < 26 ? 97 + value : 22 + value)
    while (handled < points.length) {
      const next = Math.min(...points.filter((point) => point >= n))
      delta += (next - n) * (handled + 1)
      n = next
      for (const point of points) {
        if (point < n) delta++
        if (point !== n) continue
        let q = delta
        for (let k = 36; ; k += 36) {
          const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias
          if (q < t) break
          output += digit(t + ((q - t) % (36 - t)))
          q = Math.floor((q - t) / (36 - t))
        }
        output += digit(q)
        delta = Math.floor(delta / (handled === basic.length ? 700 : 2))
        delta += Math.floor(delta / (handled + 1))
        bias = 0
        for (; delta > 455; bias += 36) delta = Math.floor(delta / 35)
        bias += Math.floor((36 * delta) / (delta + 38))
        delta = 0
        handled++
      }
      delta++
      n++
    }
    return output
  }

  // ── The whole ──

  const isDot = (part) => /^(\.|%2e)$/i.test(part)
  const isTwoDots = (part) => /^(\.|%2e){2}$/i.test(part)
  const isDrive = (part) => /^[a-z][:|]$/i.test(part)

  function shorten(url) {
    if (url.scheme === 'file:' && url.path.length === 1 && /^[a-z]:$/i.test(url.path[0])) return
    url.path.pop()
  }

  /** Appends the segments of a path to the URL, with or without the first slash. */
  function addPath(url, text) {
    const parts = (isSpecial(url) ? text.replaceAll('\\', '/') : text).split('/')
    for (const [index, part] of parts.entries()) {
      const isLast = index === parts.length - 1
      if (isTwoDots(part)) {
        shorten(url)
        if (isLast) url.path.push('')
      } else if (isDot(part)) {
        if (isLast) url.path.push('')
      } else if (url.scheme === 'file:' && url.path.length === 0 && isDrive(part)) url.path.push(`${part[0]}:`)
      else url.path.push(quote(part, PATH))
    }
  }

  function setPort(url, text) {
    const digits = /^\d*/.exec(text)[0]
    if (digits === '') return text === ''
    const port = Number(digits)
    if (port > 65535) return false
    url.port = port === PORTS[url.scheme] ? null : port
    return true
  }

  function setQuery(url, text) {
    url.query = quote(text, isSpecial(url) ? SPECIAL_QUERY : QUERY)
  }

  /** Parses the part after the two slashes. */
  function setAuthority(url, text) {
    const at = text.lastIndexOf('@')
    let rest = text
    if (at >= 0) {
      const colon = text.slice(0, at).indexOf(':')
      url.username = quote(text.slice(0, colon < 0 ? at : colon), USERINFO)
      url.password = colon < 0 ? '' : quote(text.slice(colon + 1, at), USERINFO)
      rest = text.slice(at + 1)
      if (rest === '') return false
    }
    const [host, port] = splitPort(rest)
    if (host === '' && (isSpecial(url) || port !== undefined)) return false
    url.host = host === '' ? '' : parseHost(host, !isSpecial(url))
    return url.host !== null && (port === undefined || (/^\d*$/.test(port) && setPort(url, port)))
  }

  /** Splits a host and its port; colons in brackets belong to the host. */
  function splitPort(text) {
    let inBrackets = false
    for (let at = 0; at < text.length; at++) {
      if (text[at] === '[') inBrackets = true
      else if (text[at] === ']') inBrackets = false
      else if (text[at] === ':' && !inBrackets) return [text.slice(0, at), text.slice(at + 1)]
    }
    return [text, undefined]
  }

  function parse(input, base) {
    let end = input.length
    while (end > 0 && input.charCodeAt(end - 1) <= 0x20) end--
    let text = input
      .slice(0, end)
      .replace(/^[\0-\x20]+/, '')
      .replace(/[\t\n\r]/g, '')
    const url = { scheme: '', username: '', password: '', host: null, port: null, path: [], query: null, fragment: null }
    const hash = text.indexOf('#')
    if (hash >= 0) {
      url.fragment = quote(text.slice(hash + 1), FRAGMENT)
      text = text.slice(0, hash)
    }
    const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0].toLowerCase()
    if (scheme !== undefined) {
      url.scheme = scheme
      text = text.slice(scheme.length)
      const isRelative = isSpecial(url) && scheme !== 'file:' && base?.scheme === scheme && !/^[/\\]{2}/.test(text)
      if (isSpecial(url) && scheme !== 'file:' && !(isRelative && !/^\//.test(text) && !/^\\/.test(text)) && !isRelative)
        return parseAuthority(url, text.replace(/^[/\\]*/, ''))
      if (!isSpecial(url)) {
        if (text.startsWith('//')) return parseAuthority(url, text.slice(2))
        if (text.startsWith('/')) return parsePath(url, text)
        return parseOpaque(url, text)
      }
      if (scheme === 'file:') return parseFile(url, text, base?.scheme === 'file:' ? base : null)
    } else {
      if (base === null) return null
      if (typeof base.path === 'string') {
        if (text !== '' || hash < 0) return null
        return { ...base, fragment: url.fragment }
      }
      url.scheme = base.scheme
      if (base.scheme === 'file:') return parseFile(url, text, base)
    }
    return parseRelative(url, text, base)
  }

  function parseAuthority(url, text) {
    const end = text.search(isSpecial(url) ? /[/?\\]/ : /[/?]/)
    if (!setAuthority(url, end < 0 ? text : text.slice(0, end))) return null
    return parsePath(url, end < 0 ? '' : text.slice(end))
  }

  /** Parses the path from its slash, and the query. */
  function parsePath(url, text) {
    const mark = text.indexOf('?')
    const path = mark < 0 ? text : text.slice(0, mark)
    if (mark >= 0) setQuery(url, text.slice(mark + 1))
    if (path !== '' || isSpecial(url)) addPath(url, /^[/]/.test(path) || (isSpecial(url) && path[0] === '\\') ? path.slice(1) : path)
    return url
  }

  function parseOpaque(url, text) {
    const mark = text.indexOf('?')
    const path = mark < 0 ? text : text.slice(0, mark)
    if (mark >= 0) setQuery(url, text.slice(mark + 1))
    url.path = quote(path, NONE)
    // A trailing space would be lost when the URL is parsed again.
    if (url.path.endsWith(' ') && (url.query !== null || url.fragment !== null)) url.path = `${url.path.slice(0, -1)}%20`
    return url
  }

  function parseRelative(url, text, base) {
    const slashes = isSpecial(url) ? /^[/\\]{2}/ : /^\/\//
    if (slashes.test(text)) return parseAuthority(url, isSpecial(url) ? text.replace(/^[/\\]*/, '') : text.slice(2))
    const { username, password, host, port } = base
    Object.assign(url, { username, password, host, port })
    if (text[0] === '/' || (isSpecial(url) && text[0] === '\\')) return parsePath(url, text)
    return parseBeside(url, text, base)
  }

  /** Resolves a path relative to the folder of the base. */
  function parseBeside(url, text, base) {
    url.path = [...base.path]
    url.query = base.query
    if (text === '') return url
    url.query = null
    if (text[0] === '?') {
      setQuery(url, text.slice(1))
      return url
    }
    shorten(url)
    const mark = text.indexOf('?')
    if (mark >= 0) setQuery(url, text.slice(mark + 1))
    const path = mark < 0 ? text : text.slice(0, mark)
    // A path with its own drive is not relative.
    if (url.scheme === 'file:' && isDrive(path.split(/[/\\]/)[0])) url.path = []
    addPath(url, path)
    return url
  }

  function parseFile(url, text, base) {
    url.host = ''
    if (/^[/\\]{2}/.test(text)) {
      const rest = text.slice(2)
      const end = rest.search(/[/?\\]/)
      const host = end < 0 ? rest : rest.slice(0, end)
      if (isDrive(host)) return parsePath(url, `/${rest}`)
      if (host !== '') {
        const found = parseHost(host, false)
        if (found === null) return null
        url.host = found === 'localhost' ? '' : found
      }
      return parsePath(url, end < 0 ? '' : rest.slice(end))
    }
    if (/^[/\\]/.test(text)) {
      if (base !== null) {
        url.host = base.host
        if (!isDrive(text.slice(1).split(/[/\\?]/)[0]) && /^[a-z]:$/i.test(base.path[0] ?? '')) url.path = [base.path[0]]
      }
      return parsePath(url, text)
    }
    if (base === null) return parsePath(url, text === '' || text[0] === '?' ? text : `/${text}`)
    url.host = base.host
    return parseBeside(url, text, base)
  }

  function serialize(url) {
    const credentials = url.username === '' && url.password === '' ? '' : `${url.username}${url.password === '' ? '' : `:${url.password}`}@`
    const authority = url.host === null ? '' : `//${credentials}${url.host}${url.port === null ? '' : `:${url.port}`}`
    // Two slashes would be parsed as a host.
    const guard = url.host === null && typeof url.path !== 'string' && url.path.length > 1 && url.path[0] === '' ? '/.' : ''
    return `${url.scheme}${authority}${guard}${pathOf(url)}${url.query === null ? '' : `?${url.query}`}${url.fragment === null ? '' : `#${url.fragment}`}`
  }

  const pathOf = ({ path }) => (typeof path === 'string' ? path : path.map((part) => `/${part}`).join(''))

  return {
    ...{ __proto__: null, FRAGMENT, USERINFO, PORTS, quote, unquote, isSpecial },
    ...{ parse, parseHost, splitPort, addPath, setPort, setQuery, pathOf, serialize },
  }
})
