type Names<T extends string> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
type Value = string | number
/** Forms by the number `count`, as Intl.PluralRules names them. */
type Plural = { readonly one: string; readonly other: string }
type Text = string | Plural
type Said<T extends Text> = T extends string
  ? [Names<T>] extends [never]
    ? () => string
    : (values: Record<Names<T>, Value>) => string
  : T extends Plural
    ? (values: Record<Names<T['other']> | 'count', Value>) => string
    : never

const LANGUAGE = 'en'
const plurals = new Intl.PluralRules(LANGUAGE)
const numbers = new Intl.NumberFormat(LANGUAGE)

/** A pseudo language: texts that stay in plain English are not in the catalogue, and texts grow by a third, as in German. For tests. */
const isPseudo = new URLSearchParams(location.search).has('pseudo')

/**
 * Texts of an area as functions: `defineTexts({ pages: { one: '{count} page', other: '{count} pages' }, by: 'by {name}' })` gives
 * `pages({ count: 2 })` and `by({ name })`. Numbers are written as the language writes them.
 */
export function defineTexts<const T extends Record<string, Text>>(texts: T): { readonly [Key in keyof T]: Said<T[Key]> } {
  const functions = Object.entries(texts).map(([key, text]) => [
    key,
    (values: Record<string, Value> = {}) => {
      const form = typeof text === 'string' ? text : plurals.select(Number(values['count'])) === 'one' ? text.one : text.other
      return (isPseudo ? pseudo(form) : form).replace(/\{([a-zA-Z]+)\}/g, (whole, name: string) => write(values[name], whole))
    },
  ])
  return Object.fromEntries(functions)
}

function write(value: Value | undefined, otherwise: string): string {
  if (value === undefined) return otherwise
  return typeof value === 'number' ? numbers.format(value) : isolate(value)
}

/** Letters that are written from right to left, and the characters that set a direction (Unicode Standard Annex 9). */
const DIRECTED = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
/** One that is not closed, or closes what it did not open, would reach beyond the value. */
const ISOLATES = /[\u2066-\u2069]/g

/** Titles and names in a sentence do not change the order of its other words. What cannot do so, as most names, stays as it is. */
function isolate(value: string): string {
  const isSafe = globalThis.document?.documentElement.dir !== 'rtl' && !DIRECTED.test(value)
  return isSafe ? value : `\u2068${value.replace(ISOLATES, '')}\u2069`
}

function pseudo(text: string): string {
  const accented = text.replace(
    /\{[a-zA-Z]+\}|[aeiounAEIOU]/g,
    (found) => ({ a: 'á', e: 'é', i: 'í', o: 'ö', u: 'ü', n: 'ñ', A: 'Á', E: 'É', I: 'Í', O: 'Ö', U: 'Ü' })[found] ?? found,
  )
  return `[${accented}${'~'.repeat(Math.ceil(text.length / 3))}]`
}
