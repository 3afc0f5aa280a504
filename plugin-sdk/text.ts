/** Comparing titles, and parsing ISBNs, dates and languages, the same way in every plugin. */

import { normalizeText } from './normalize-text.ts'

export { boundMarks, cutText, MARKS_IN_A_ROW_MAX, type NormalForm, normalizeText } from './normalize-text.ts'

/**
 * Marks that people omit or cannot type: accents of Latin, Greek and Cyrillic, points of Hebrew and vowel signs of Arabic. Marks of other
 * scripts stay, because they distinguish letters: without them が would be か and कि would be क.
 */
const LOOSE_MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]/g
/** Letters without a decomposition, and their spelling without special letters. */
const SPELLED: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i', ς: 'σ' }

/** Longer than any title; longer texts are compared by their beginning. */
const TITLE_LENGTH_MAX = 2_000

/** A title without the details that people write differently: case, accents, width, leading English articles, punctuation and double spaces. */
export function normalizeTitle(title: string): string {
  const decomposed = normalizeText(title, TITLE_LENGTH_MAX, 'NFKD').replace(LOOSE_MARKS, '').toLowerCase()
  // Lower-casing can add marks, for example to İ.
  const plain = normalizeText(decomposed, decomposed.length, 'NFKD').replace(LOOSE_MARKS, '')
  const folded = normalizeText(
    plain.replace(/[ßæœøłđðþıς]/g, (letter) => SPELLED[letter] as string),
    2 * plain.length,
  )
  const words = folded
    .replace(/[’‘ʼ'`]/g, '')
    .replace(/&/g, ' and ')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()
    .replace(/^(?:(?:the|an|a) )+/, '')
  // A title of only punctuation keeps it.
  return words === '' ? folded.replace(/\s+/g, ' ').trim() : words
}

/** Similarity of two titles, from 0 to 1: the higher of that of their letters in order and that of their words in any order. */
export function titleSimilarity(a: string, b: string): number {
  const [x, y] = [normalizeTitle(a), normalizeTitle(b)]
  if (x === '' || y === '') return 0
  if (x === y) return 1
  return Math.max(pairSimilarity(x, y), wordSimilarity(x, y))
}

/** Twice the shared pairs of adjacent letters over all pairs (Dice). */
function pairSimilarity(a: string, b: string): number {
  const first = pairsOf(a)
  const second = pairsOf(b)
  const counts = new Map<string, number>()
  for (const pair of first) counts.set(pair, (counts.get(pair) ?? 0) + 1)
  let shared = 0
  for (const pair of second) {
    const left = counts.get(pair) ?? 0
    if (left === 0) continue
    counts.set(pair, left - 1)
    shared += 1
  }
  return shared === 0 ? 0 : (2 * shared) / (first.length + second.length)
}

const pairsOf = (text: string): string[] => {
  const letters = [...text]
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`)
}

function wordSimilarity(a: string, b: string): number {
  const [x, y] = [new Set(a.split(' ')), new Set(b.split(' '))]
  const shared = [...x].filter((word) => y.has(word)).length
  return (2 * shared) / (x.size + y.size)
}

/**
 * ISBN-10 or ISBN-13 without hyphens, spaces and prefix, from texts such as `ISBN 978-0-441-17271-9` or `urn:isbn:0441172717`; null if it is
 * not an ISBN or its check digit is wrong.
 */
export function readIsbn(text: string): string | null {
  const digits = text
    .trim()
    .replace(/^(urn:)?isbn(-1[03])?[:\s]*/i, '')
    .replace(/[\s\u00ad\u2010-\u2015-]/g, '')
    .toUpperCase()
  if (/^97[89]\d{10}$/.test(digits)) return digits.endsWith(check13(digits)) ? digits : null
  if (/^\d{9}[\dX]$/.test(digits)) return digits.endsWith(check10(digits)) ? digits : null
  return null
}

/** The ISBN-13 of an ISBN in any notation, so that you can compare two; null if it is not an ISBN. */
export function readIsbn13(text: string): string | null {
  const isbn = readIsbn(text)
  if (isbn === null || isbn.length === 13) return isbn
  const stem = `978${isbn.slice(0, 9)}`
  return stem + check13(stem)
}

const weighted = (digits: string, count: number, weight: (index: number) => number): number =>
  [...digits.slice(0, count)].reduce((total, digit, index) => total + Number(digit) * weight(index), 0)

const check13 = (digits: string): string => String((10 - (weighted(digits, 12, (index) => (index % 2 === 0 ? 1 : 3)) % 10)) % 10)

function check10(digits: string): string {
  const rest = (11 - (weighted(digits, 9, (index) => 10 - index) % 11)) % 11
  return rest === 10 ? 'X' : String(rest)
}

export interface ReadDate {
  year: number
  /** From 1. */
  month?: number
  /** From 1. */
  day?: number
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MONTH = '(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\\.?'
const YEAR = '(\\d{4})'
const DAY = '(\\d{1,2})(?:st|nd|rd|th)?'
/** What catalogs write. Only what can be read in one way: 01/08/1965 is the first of August or the eighth of January, and so only a year. */
const DATES: readonly [pattern: RegExp, read: (groups: string[]) => (string | undefined)[]][] = [
  [/^(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?:t.*)?$/, ([year, month, day]) => [year, month, day]],
  [/^(\d{4})(\d{2})(\d{2})$/, ([year, month, day]) => [year, month, day]],
  [new RegExp(`^${MONTH} ${DAY},? ${YEAR}$`), ([month, day, year]) => [year, month, day]],
  [new RegExp(`^${DAY}\\.? ${MONTH},? ${YEAR}$`), ([day, month, year]) => [year, month, day]],
  [new RegExp(`^${MONTH},? ${YEAR}$`), ([month, year]) => [year, month]],
  [new RegExp(`^${YEAR},? ${MONTH}(?: ${DAY})?$`), ([year, month, day]) => [year, month, day]],
]
/** Dates are short; a longer text is a sentence, in which a number may mean anything. */
const DATE_LENGTH_MAX = 60

/**
 * A date as catalogs write it: `1965`, `August 1965`, `August 1, 1965`, `1 Aug. 1965`, `1965-08-01`, `c1965`, `[1965?]`. For ambiguous dates only the
 * year; null if there is no year either.
 */
export function readDate(text: string): ReadDate | null {
  if (text.length > DATE_LENGTH_MAX) return null
  const plain = text
    .toLowerCase()
    .replace(/[[\]()?©]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
  for (const [pattern, read] of DATES) {
    const found = pattern.exec(plain)
    if (found === null) continue
    const [year = '', month, day] = read(found.slice(1))
    const date = dateOf(Number(year), month, day)
    if (date !== null) return date
  }
  const years = [...plain.matchAll(/(?<!\d)(\d{4})(?!\d)/g)].map(([year]) => Number(year))
  const [year] = years.filter(isYear)
  // Two different years, as in "1965-1985" or "reprint 1984 of 1965", are ambiguous.
  return year === undefined || years.some((other) => other !== year) ? null : { year }
}

const isYear = (year: number): boolean => year >= 1000 && year <= 2999

function dateOf(year: number, monthText: string | undefined, dayText: string | undefined): ReadDate | null {
  if (!isYear(year)) return null
  if (monthText === undefined) return { year }
  const named = MONTHS.indexOf(monthText.slice(0, 3))
  const month = named === -1 ? Number(monthText) : named + 1
  // Some catalogs write 00 for unknown.
  if (month === 0) return { year }
  if (month > 12) return null
  const day = Number(dayText ?? 0)
  if (day === 0) return { year, month }
  return new Date(Date.UTC(year, month - 1, day)).getUTCMonth() === month - 1 ? { year, month, day } : null
}

/**
 * A language as BCP 47, from codes that catalogs write: `en`, `eng`, `ger`, `pt_BR`. Null for names and invalid codes, and for the codes of an unknown
 * language (`und`), several languages (`mul`) or no language (`zxx`).
 */
export function readLanguage(code: string): string | null {
  try {
    const [language] = Intl.getCanonicalLocales(code.trim().replaceAll('_', '-'))
    return language === undefined || !/^[a-z]{2,3}\b/.test(language) || /^(und|mul|zxx|mis)\b/.test(language) ? null : language
  } catch {
    return null
  }
}
