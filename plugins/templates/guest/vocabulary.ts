import type { HelperOptions } from 'handlebars'
import { Handlebars } from './handlebars.ts'

/** The helpers for templates, and how values appear in text. The server does not trust this code: the budget limits its time and its output. */

/** In a template: Handlebars counts columns from 0. */
export interface TemplatePosition {
  line: number
  column: number
}

/** Of a block; in a value there are no functions. */
type Options = HelperOptions & { fn: (given: unknown, options?: object) => string }

const OUTPUT_LENGTH_MAX = 256 * 1024
/** Every length argument is limited, or a short template could produce a long text. */
const PAD_MAX = 1_000

export class TemplateError extends Error {
  readonly code: string
  readonly line: number | null
  readonly column: number | null

  /** @param at Handlebars counts columns from 0, people from 1 */
  constructor(code: string, message: string, at?: TemplatePosition | null) {
    super(message)
    this.code = code
    this.line = at?.line ?? null
    this.column = at === undefined || at === null ? null : at.column + 1
  }
}

const tooLong = () => new TemplateError('output_too_long', `The output is longer than ${OUTPUT_LENGTH_MAX} characters.`)
export const bounded = (text: string): string => {
  if (text.length > OUTPUT_LENGTH_MAX) throw tooLong()
  return text
}
export const own = (holder: unknown, key: string | number): unknown =>
  holder !== null && typeof holder === 'object' && Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined
const isMissing = (value: unknown) => value === undefined || value === null || value === ''

/** A value as text: people and titles by their names, lists with commas. */
function show(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return bounded(value.map(show).join(', '))
  if (typeof value === 'object') {
    for (const key of ['name', 'title', 'id']) {
      const found = own(value, key)
      if (typeof found === 'string') return found
    }
    return bounded(JSON.stringify(value))
  }
  return String(value)
}
Handlebars.Utils.escapeExpression = show

const number = (value: unknown): number =>
  typeof value === 'string' && value.trim() !== '' ? Number(value) : typeof value === 'number' ? value : Number.NaN
const HTML: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '`': '&#96;' }

/** A condition works as a block with an else, or as a value inside of another helper. */
const condition = (test: (...given: unknown[]) => boolean) =>
  function conditional(this: unknown, ...given: unknown[]): unknown {
    const options = given.pop() as Options
    const holds = test(...given)
    if (typeof options.fn !== 'function') return holds
    return holds ? options.fn(this) : options.inverse(this)
  }
const isTrue = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))
const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (!isMissing(a) && !isMissing(b) && typeof a !== 'object' && typeof b !== 'object' && String(a) === String(b))
const compare = (a: unknown, b: unknown): number => {
  const [x, y] = [number(a), number(b)]
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y
  if (isMissing(a) || isMissing(b)) return Number.NaN
  return show(a) < show(b) ? -1 : show(a) > show(b) ? 1 : 0
}

function replaceAll(value: unknown, search: unknown, replacement: unknown): string {
  const [from, to] = [show(search), show(replacement)]
  const whole = show(value)
  if (from === '') return whole
  const parts = whole.split(from)
  if (whole.length + (parts.length - 1) * (to.length - from.length) > OUTPUT_LENGTH_MAX) throw tooLong()
  return parts.join(to)
}

function joinAll(list: unknown, separator: unknown): string {
  const between = typeof separator === 'string' ? separator : ', '
  const entries = (Array.isArray(list) ? list : [list]).map(show)
  if ((entries.length - 1) * between.length > OUTPUT_LENGTH_MAX) throw tooLong()
  return bounded(entries.join(between))
}

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December']
const two = (value: number) => String(value).padStart(2, '0')
function formatDate(value: unknown, format: unknown): string {
  const date = typeof value === 'number' || typeof value === 'string' ? new Date(value) : new Date(Number.NaN)
  if (Number.isNaN(date.getTime())) return ''
  const year = String(date.getUTCFullYear()).padStart(4, '0')
  const month = date.getUTCMonth()
  const parts: Record<string, string> = {
    YYYY: year,
    YY: year.slice(-2),
    MMMM: MONTHS[month] as string,
    MMM: (MONTHS[month] as string).slice(0, 3),
    MM: two(month + 1),
    M: String(month + 1),
    DD: two(date.getUTCDate()),
    D: String(date.getUTCDate()),
    HH: two(date.getUTCHours()),
    mm: two(date.getUTCMinutes()),
    ss: two(date.getUTCSeconds()),
  }
  return bounded(
    (typeof format === 'string' ? format : 'YYYY-MM-DD').replace(/YYYY|YY|MMMM|MMM|MM|M|DD|D|HH|mm|ss/g, (part) => parts[part] as string),
  )
}

function calculate(a: unknown, operator: string, b: unknown): number | '' {
  const [x, y] = [number(a), number(b)]
  const results: Record<string, number> = { '+': x + y, '-': x - y, '*': x * y, '/': x / y, '%': x % y }
  const result = results[operator]
  return result !== undefined && Number.isFinite(result) ? result : ''
}

/** As in Handlebars, with a limit for its output. */
function each(this: unknown, items: unknown, options: Options): string {
  const results: string[] = []
  let length = 0
  const data = options.data ? Handlebars.createFrame(options.data) : undefined
  const keys = Array.isArray(items) ? [...items.keys()] : items !== null && typeof items === 'object' ? Object.keys(items) : []
  const count = keys.length
  for (let index = 0; index < count; index++) {
    const key = keys[index] as string | number
    const item = (items as Record<string | number, unknown>)[key]
    if (data) Object.assign(data, { key, index, first: index === 0, last: index === count - 1 })
    const result = options.fn(item, { data, blockParams: [item, key] })
    length += result.length
    if (length > OUTPUT_LENGTH_MAX) throw tooLong()
    results.push(result)
  }
  return count === 0 ? options.inverse(this) : results.join('')
}

const HELPERS: Record<string, (this: unknown, ...given: never[]) => unknown> = {
  lowercase: (value: unknown) => show(value).toLowerCase(),
  uppercase: (value: unknown) => show(value).toUpperCase(),
  capitalize: (value: unknown) =>
    show(value).replace(/(^|[\s-])(\p{L})/gu, (_, before: string, letter: string) => before + letter.toUpperCase()),
  trim: (value: unknown) => show(value).trim(),
  truncate: (value: unknown, length: unknown, suffix: unknown) => {
    const [whole, most] = [[...show(value)], typeof length === 'number' ? length : 100]
    return whole.length <= most
      ? whole.join('')
      : whole.slice(0, Math.max(0, most)).join('').trimEnd() + (typeof suffix === 'string' ? suffix : '...')
  },
  replace: (value: unknown, search: unknown, replacement: unknown) =>
    replaceAll(value, search, typeof replacement === 'object' ? '' : replacement),
  split: (value: unknown, separator: unknown, index: unknown) => {
    const parts = show(value).split(typeof separator === 'string' ? separator : ',')
    return typeof index === 'number' ? (parts.at(index) ?? '') : parts
  },
  join: joinAll,
  default: (...given: unknown[]) => given.slice(0, -1).find((value) => !isMissing(value)) ?? '',
  urlencode: (value: unknown) => bounded(encodeURIComponent(show(value).toWellFormed())),
  length: (value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.keys(value).length
      : Array.isArray(value)
        ? value.length
        : [...show(value)].length,
  padStart: (value: unknown, length: unknown, pad: unknown) =>
    show(value).padStart(Math.min(typeof length === 'number' ? length : 2, PAD_MAX), typeof pad === 'string' ? pad : '0'),
  math: calculate,
  lookup: (holder: unknown, key: unknown) => (typeof key === 'string' || typeof key === 'number' ? own(holder, key) : undefined),
  formatDate,
  json: (value: unknown) => bounded(JSON.stringify(value ?? null)),
  first: (value: unknown, count: unknown) => {
    const list = Array.isArray(value) ? value : [...show(value)]
    if (typeof count !== 'number') return list[0] ?? ''
    return Array.isArray(value) ? list.slice(0, count) : list.slice(0, count).join('')
  },
  html: (value: unknown) => bounded(show(value).replace(/[&<>"'`]/g, (character) => HTML[character] as string)),
  exists: condition((value) => !isMissing(value)),
  ifEquals: condition(isSame),
  ifNotEquals: condition((a, b) => !isSame(a, b)),
  gt: condition((a, b) => compare(a, b) > 0),
  lt: condition((a, b) => compare(a, b) < 0),
  and: condition((...values) => values.every(isTrue)),
  or: condition((...values) => values.some(isTrue)),
  includes: condition((list, value) =>
    Array.isArray(list) ? list.some((item) => isSame(item, value) || isSame(show(item), value)) : show(list).includes(show(value)),
  ),
  each,
}

/** Built-in blocks of Handlebars. */
export const BLOCKS = ['each', 'if', 'unless', 'with']
for (const name of Object.keys(Handlebars.helpers))
  if (!['if', 'unless', 'with', 'helperMissing', 'blockHelperMissing'].includes(name)) Handlebars.unregisterHelper(name)
Handlebars.registerHelper(HELPERS as Handlebars.HelperDeclareSpec)
export const KNOWN = [...new Set([...BLOCKS, ...Object.keys(HELPERS)])]
export const knownHelpers = Object.fromEntries(KNOWN.map((name) => [name, true]))
export const isKnown = (name: string): boolean => Object.hasOwn(knownHelpers, name)
