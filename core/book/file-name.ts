/** What the name of a file says about the book in it. */
export interface NamedBook {
  title: string
  /** Place in the series; may be fractional. */
  number: number | null
  volume: number | null
  chapter: number | null
}

// A marker word counts where a word begins, and a chapter also right behind its volume (v01c002).
const START = '(?<=^|[\\s_\\-\\[(,.])'
const DIGITS = '(\\d{1,7}(?:\\.\\d{1,4})?)(?![\\d])'
const marker = (words: string, start = START) => new RegExp(`${start}(?:${words})[.:]?[\\s_]*${DIGITS}`, 'i')

const VOLUME = marker('v|vol|volume')
const CHAPTER = marker('c|ch|chap|chapter', '(?:(?<=^|[\\s_\\-\\[(,.])|(?<=(?:^|[\\s_\\-\\[(])v(?:ol)?\\.?\\d{1,4}))')
/** How a number is written, the surest way first. */
const NUMBER_FORMS = [
  /#[\s_]*(-?\d{1,7}(?:\.\d{1,4})?)(?!\d)/,
  VOLUME,
  CHAPTER,
  marker('part|pt'),
  marker('ep|episode'),
  new RegExp(`[([][\\s_]*${DIGITS}[\\s_]*[)\\]]`, 'g'),
]
/** "(2019) (Digital) [Group]" behind the name proper. */
const TRAILING_BRACKETS = /(?:[\s_]*(?:\([^()]*\)|\[[^[\]]*\]|\{[^{}]*\}))+[\s_]*$/
const TRAILING_NUMBER = /(?<=^|[\s_\-.])(\d{1,7}(?:\.\d{1,4})?)$/

/** A file's name without its extension; never empty. */
export const stemOf = (fileName: string) => fileName.replace(/(?<=.)\.[^.\s]{1,5}$/s, '')

/**
 * Reads title, number, volume and chapter from a file name with its extension. Numbers are found, in this order, as `#N`, `v N`, `c N`,
 * `part N`, `ep N`, `(N)` and last in the name; a year such as (2019) is no number.
 */
export function readFileName(fileName: string): NamedBook {
  const title = stemOf(fileName)
  const volume = firstNumber(VOLUME, title)
  return {
    title,
    number: findNumber(title),
    volume: volume !== null && Number.isInteger(volume) ? volume : null,
    chapter: firstNumber(CHAPTER, title),
  }
}

function findNumber(name: string): number | null {
  for (const form of NUMBER_FORMS) {
    const found = firstNumber(form, name)
    if (found !== null) return found
  }
  return firstNumber(TRAILING_NUMBER, name.replace(TRAILING_BRACKETS, '').trimEnd())
}

function firstNumber(form: RegExp, name: string): number | null {
  // Only the bracket form looks on: behind "(2019)" a "(3)" may follow.
  const matches = form.global ? name.matchAll(form) : [form.exec(name)]
  for (const match of matches) {
    const text = match?.[1]
    if (text === undefined) continue
    const bare = form === TRAILING_NUMBER || form.global
    if (!(bare && isYear(text))) return Number(text)
  }
  return null
}

const isYear = (text: string) => /^(?:19|20)\d\d$/.test(text)
