import { toNameText } from '#core/foundation/name-text.ts'

/** The metadata of a book in the name of its file. */
interface NamedBook {
  title: string
  /** Place in the series; may be fractional. */
  number: number | null
  volume: number | null
  chapter: number | null
}

// A marker word counts at the beginning of a word; that of a chapter also directly after its volume (v01c002).
const START = '(?<=^|[\\s_\\-\\[(,.])'
const DIGITS = '(\\d{1,7}(?:\\.\\d{1,4})?)(?![\\d])'
const marker = (words: string, start = START) => new RegExp(`${start}(?:${words})[.:]?[\\s_]*${DIGITS}`, 'i')

const VOLUME = marker('v|vol|volume')
const CHAPTER = marker('c|ch|chap|chapter', '(?:(?<=^|[\\s_\\-\\[(,.])|(?<=(?:^|[\\s_\\-\\[(])v(?:ol)?\\.?\\d{1,4}))')
/** The ways to write a number, the most reliable first. */
const NUMBER_FORMS = [
  /#[\s_]*(-?\d{1,7}(?:\.\d{1,4})?)(?!\d)/,
  VOLUME,
  CHAPTER,
  marker('part|pt'),
  marker('ep|episode'),
  new RegExp(`[([][\\s_]*${DIGITS}[\\s_]*[)\\]]`, 'g'),
]
/** "(2019) (Digital) [Group]" after the actual name. */
const TRAILING_BRACKETS = /(?:[\s_]*(?:\([^()]*\)|\[[^[\]]*\]|\{[^{}]*\}))+[\s_]*$/
const TRAILING_NUMBER = /(?<=^|[\s_\-.])(\d{1,7}(?:\.\d{1,4})?)$/
/** Used if no other form matches: `T05`, then ` - 01 - ` between two names, then `01. ` or `01 - ` before a name. */
const LAST_RESORTS = [
  new RegExp(`${START}t(?:ome[\\s_.]*)?${DIGITS}(?=$|[\\s_\\-.,)\\]])`, 'i'),
  new RegExp(`(?<=[^\\s_][\\s_]{1,4}[-–—][\\s_]{1,4})${DIGITS}(?=[\\s_]+[-–—][\\s_]+[^\\s_])`),
  new RegExp(`^[\\s_]*${DIGITS}(?=\\.[\\s_]*[^\\s_\\d.]|[\\s_]+[-–—][\\s_]+[^\\s_])`),
]
/** "1 of 6" is the first, not the sixth. */
const OF_HOW_MANY = /(?<=\d)[\s_]{1,4}of[\s_]{1,4}\d{1,7}(?![\d.])/gi
/** "001-006": one file that contains several issues. */
const RANGE = /(?<=^|[\s_#([])(\d{1,7}(?:\.\d{1,4})?)[-–](\d{1,7})(?=$|[\s_)\].])/g

/** A file's name without its extension. */
const stemOf = (fileName: string) => fileName.replace(/(?<=.)\.[^.\s]{1,5}$/s, '')

/** The title from a file's name: a text that users may enter too; never empty. */
export const titleOfFileName = (fileName: string): string => toNameText(stemOf(fileName))

/**
 * Reads title, number, volume and chapter from a file name with its extension. Numbers are found, in this order, as `#N`, `v N`, `c N`,
 * `part N`, `ep N`, `(N)`, last in the name, `TN`, ` - N - ` in the middle and first in the name (`N. `, `N - `). In `N of M` and the range
 * `N-M` the number is N; a year such as (2019) is not a number.
 */
export function readFileName(fileName: string): NamedBook {
  const stem = stemOf(fileName)
  const volume = firstNumber(VOLUME, stem)
  return {
    title: toNameText(stem),
    number: findNumber(stem),
    volume: volume !== null && Number.isInteger(volume) ? volume : null,
    chapter: firstNumber(CHAPTER, stem),
  }
}

function findNumber(given: string): number | null {
  const name = given.replace(OF_HOW_MANY, '').replace(RANGE, (range, from: string, to: string) => {
    return Number(from) < Number(to) && !isYear(from) ? from : range
  })
  for (const form of NUMBER_FORMS) {
    const found = firstNumber(form, name)
    if (found !== null) return found
  }
  const bare = name.replace(TRAILING_BRACKETS, '').trimEnd()
  for (const form of [TRAILING_NUMBER, ...LAST_RESORTS]) {
    const found = firstNumber(form, bare)
    if (found !== null) return found
  }
  return null
}

function firstNumber(form: RegExp, name: string): number | null {
  // Only the bracket form has several matches: a "(3)" may follow "(2019)".
  const matches = form.global ? name.matchAll(form) : [form.exec(name)]
  for (const match of matches) {
    const text = match?.[1]
    if (text === undefined) continue
    if (!(isBare(form) && isYear(text))) return Number(text)
  }
  return null
}

/** Forms without a marker word: their number may be a year. */
const isBare = (form: RegExp) => form.global || form === TRAILING_NUMBER || LAST_RESORTS.includes(form)

const isYear = (text: string) => /^(?:19|20)\d\d$/.test(text)
