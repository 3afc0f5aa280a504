import { isolate } from '#texts/isolate.ts'

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
const saidPseudo = new URLSearchParams(location.search).get('pseudo')
const isPseudo = saidPseudo !== null
const isRightToLeft = saidPseudo === 'rtl'

/**
 * Texts of an area as functions: `defineTexts({ pages: { one: '{count} page', other: '{count} pages' }, by: 'by {name}' })` gives
 * `pages({ count: 2 })` and `by({ name })`. Numbers are written as the language writes them. What strangers chose stands in quotation marks, as in
 * `"{name}" is connected`: such a value cannot end them by itself.
 */
export function defineTexts<const T extends Record<string, Text>>(texts: T): { readonly [Key in keyof T]: Said<T[Key]> } {
  const functions = Object.entries(texts).map(([key, text]) => [
    key,
    (values: Record<string, Value> = {}) => {
      const form = typeof text === 'string' ? text : plurals.select(Number(values['count'])) === 'one' ? text.one : text.other
      return (isPseudo ? pseudo(form) : form).replace(
        /("?)\{([a-zA-Z]+)\}/g,
        (whole, mark: string, name: string) =>
          `${mark}${write(mark === '' ? values[name] : unended(values[name]), whole.slice(mark.length))}`,
      )
    },
  ])
  return Object.fromEntries(functions)
}

/** As the server writes it in its messages. */
const unended = (value: Value | undefined): Value | undefined => (typeof value === 'string' ? value.replaceAll('"', '\\"') : value)

function write(value: Value | undefined, otherwise: string): string {
  if (value === undefined) return otherwise
  return typeof value === 'number' ? numbers.format(value) : isolate(value, { isRightToLeft })
}

function pseudo(text: string): string {
  const accented = text.replace(
    /\{[a-zA-Z]+\}|[aeiounAEIOU]/g,
    (found) => ({ a: 'á', e: 'é', i: 'í', o: 'ö', u: 'ü', n: 'ñ', A: 'Á', E: 'É', I: 'Í', O: 'Ö', U: 'Ü' })[found] ?? found,
  )
  return `[${accented}${'~'.repeat(Math.ceil(text.length / 3))}]`
}
