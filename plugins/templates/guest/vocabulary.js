/**
 * The helpers for templates, and how values appear in text. One of the scripts that run in the isolate of templates, after
 * handlebars.js; they share their results in `globalThis.parts`, which the last of them removes. The server does not trust this code: the budget
 * limits its time and its output.
 */
;(function vocabulary() {
  // biome-ignore lint/suspicious/noRedundantUseStrict: it runs as a classic script
  'use strict'

  const { Handlebars } = globalThis

  const OUTPUT_LENGTH_MAX = 256 * 1024
  /** Every length argument is limited, or a short template could produce a long text. */
  const PAD_MAX = 1_000

  class TemplateError extends Error {
    constructor(code, message, at) {
      super(message)
      this.code = code
      this.line = at?.line ?? null
      // Handlebars counts columns from 0, people from 1.
      this.column = at === undefined || at === null ? null : at.column + 1
    }
  }

  const tooLong = () => new TemplateError('output_too_long', `The output is longer than ${OUTPUT_LENGTH_MAX} characters.`)
  const bounded = (text) => {
    if (text.length > OUTPUT_LENGTH_MAX) throw tooLong()
    return text
  }
  const own = (holder, key) => (holder !== null && typeof holder === 'object' && Object.hasOwn(holder, key) ? holder[key] : undefined)
  const isMissing = (value) => value === undefined || value === null || value === ''

  /** A value as text: people and titles by their names, lists with commas. */
  function show(value) {
    if (typeof value === 'string') return value
    if (value === undefined || value === null) return ''
    if (Array.isArray(value)) return bounded(value.map(show).join(', '))
    if (typeof value === 'object') {
      for (const key of ['name', 'title', 'id']) if (typeof own(value, key) === 'string') return value[key]
      return bounded(JSON.stringify(value))
    }
    return String(value)
  }
  Handlebars.Utils.escapeExpression = show

  const text = (value) => show(value)
  const number = (value) =>
    typeof value === 'string' && value.trim() !== '' ? Number(value) : typeof value === 'number' ? value : Number.NaN
  const HTML = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '`': '&#96;' }

  /** A condition works as a block with an else, or as a value inside of another helper. */
  const condition = (test) =>
    function conditional(...given) {
      const options = given.pop()
      const holds = test(...given)
      if (typeof options.fn !== 'function') return holds
      return holds ? options.fn(this) : options.inverse(this)
    }
  const isTrue = (value) => (Array.isArray(value) ? value.length > 0 : Boolean(value))
  const isSame = (a, b) =>
    a === b || (!isMissing(a) && !isMissing(b) && typeof a !== 'object' && typeof b !== 'object' && String(a) === String(b))
  const compare = (a, b) => {
    const [x, y] = [number(a), number(b)]
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y
    if (isMissing(a) || isMissing(b)) return Number.NaN
    return text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0
  }

  function replaceAll(value, search, replacement) {
    const [from, to] = [text(search), text(replacement)]
    const whole = text(value)
    if (from === '') return whole
    const parts = whole.split(from)
    if (whole.length + (parts.length - 1) * (to.length - from.length) > OUTPUT_LENGTH_MAX) throw tooLong()
    return parts.join(to)
  }

  function joinAll(list, separator) {
    const between = typeof separator === 'string' ? separator : ', '
    const entries = (Array.isArray(list) ? list : [list]).map(show)
    if ((entries.length - 1) * between.length > OUTPUT_LENGTH_MAX) throw tooLong()
    return bounded(entries.join(between))
  }

  const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December']
  const two = (value) => String(value).padStart(2, '0')
  function formatDate(value, format) {
    const date = typeof value === 'number' || typeof value === 'string' ? new Date(value) : new Date(Number.NaN)
    if (Number.isNaN(date.getTime())) return ''
    const year = String(date.getUTCFullYear()).padStart(4, '0')
    const month = date.getUTCMonth()
    const parts = {
      YYYY: year,
      YY: year.slice(-2),
      MMMM: MONTHS[month],
      MMM: MONTHS[month].slice(0, 3),
      MM: two(month + 1),
      M: String(month + 1),
      DD: two(date.getUTCDate()),
      D: String(date.getUTCDate()),
      HH: two(date.getUTCHours()),
      mm: two(date.getUTCMinutes()),
      ss: two(date.getUTCSeconds()),
    }
    return bounded(
      (typeof format === 'string' ? format : 'YYYY-MM-DD').replace(/YYYY|YY|MMMM|MMM|MM|M|DD|D|HH|mm|ss/g, (part) => parts[part]),
    )
  }

  function calculate(a, operator, b) {
    const [x, y] = [number(a), number(b)]
    const result = { '+': x + y, '-': x - y, '*': x * y, '/': x / y, '%': x % y }[operator]
    return Number.isFinite(result) ? result : ''
  }

  /** As in Handlebars, with a limit for its output. */
  function each(items, options) {
    const results = []
    let length = 0
    const data = options.data ? Handlebars.createFrame(options.data) : undefined
    const isList = Array.isArray(items)
    const keys = isList ? null : items !== null && typeof items === 'object' ? Object.keys(items) : []
    const count = isList ? items.length : keys.length
    for (let index = 0; index < count; index++) {
      const key = isList ? index : keys[index]
      if (data) Object.assign(data, { key, index, first: index === 0, last: index === count - 1 })
      const result = options.fn(items[key], { data, blockParams: [items[key], key] })
      length += result.length
      if (length > OUTPUT_LENGTH_MAX) throw tooLong()
      results.push(result)
    }
    return count === 0 ? options.inverse(this) : results.join('')
  }

  const HELPERS = {
    lowercase: (value) => text(value).toLowerCase(),
    uppercase: (value) => text(value).toUpperCase(),
    capitalize: (value) => text(value).replace(/(^|[\s-])(\p{L})/gu, (_, before, letter) => before + letter.toUpperCase()),
    trim: (value) => text(value).trim(),
    truncate: (value, length, suffix) => {
      const [whole, most] = [[...text(value)], typeof length === 'number' ? length : 100]
      return whole.length <= most
        ? whole.join('')
        : whole.slice(0, Math.max(0, most)).join('').trimEnd() + (typeof suffix === 'string' ? suffix : '...')
    },
    replace: (value, search, replacement) => replaceAll(value, search, typeof replacement === 'object' ? '' : replacement),
    split: (value, separator, index) => {
      const parts = text(value).split(typeof separator === 'string' ? separator : ',')
      return typeof index === 'number' ? (parts.at(index) ?? '') : parts
    },
    join: joinAll,
    default: (...given) => given.slice(0, -1).find((value) => !isMissing(value)) ?? '',
    urlencode: (value) => bounded(encodeURIComponent(text(value).toWellFormed())),
    length: (value) =>
      value !== null && typeof value === 'object' && !Array.isArray(value)
        ? Object.keys(value).length
        : Array.isArray(value)
          ? value.length
          : [...text(value)].length,
    padStart: (value, length, pad) =>
      text(value).padStart(Math.min(typeof length === 'number' ? length : 2, PAD_MAX), typeof pad === 'string' ? pad : '0'),
    math: calculate,
    lookup: (holder, key) => (typeof key === 'string' || typeof key === 'number' ? own(holder, key) : undefined),
    formatDate,
    json: (value) => bounded(JSON.stringify(value ?? null)),
    first: (value, count) => {
      const list = Array.isArray(value) ? value : [...text(value)]
      if (typeof count !== 'number') return list[0] ?? ''
      return Array.isArray(value) ? list.slice(0, count) : list.slice(0, count).join('')
    },
    html: (value) => bounded(text(value).replace(/[&<>"'`]/g, (character) => HTML[character])),
    exists: condition((value) => !isMissing(value)),
    ifEquals: condition(isSame),
    ifNotEquals: condition((a, b) => !isSame(a, b)),
    gt: condition((a, b) => compare(a, b) > 0),
    lt: condition((a, b) => compare(a, b) < 0),
    and: condition((...values) => values.every(isTrue)),
    or: condition((...values) => values.some(isTrue)),
    includes: condition((list, value) =>
      Array.isArray(list) ? list.some((item) => isSame(item, value) || isSame(show(item), value)) : text(list).includes(text(value)),
    ),
    each,
  }

  /** Built-in blocks of Handlebars. */
  const BLOCKS = ['each', 'if', 'unless', 'with']
  for (const name of Object.keys(Handlebars.helpers))
    if (!['if', 'unless', 'with', 'helperMissing', 'blockHelperMissing'].includes(name)) Handlebars.unregisterHelper(name)
  Handlebars.registerHelper(HELPERS)
  const KNOWN = [...new Set([...BLOCKS, ...Object.keys(HELPERS)])]
  const knownHelpers = Object.fromEntries(KNOWN.map((name) => [name, true]))
  const isKnown = (name) => Object.hasOwn(knownHelpers, name)

  globalThis.parts = { TemplateError, KNOWN, BLOCKS, knownHelpers, isKnown, bounded, own }
})()
