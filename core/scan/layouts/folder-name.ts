import { hanNumber } from '#core/fields/name-numbers.ts'
import { plainDigit } from '#core/fields/plain-name.ts'
import { normalizeText } from '#core/foundation/text.ts'
import type { FolderWords } from '#core/scan/layouts/folder-words.ts'

/** What the name of a part folder says about its books. */
export interface PartMark {
  volume?: number
  chapter?: number
}

/** Names longer than this are no markers; keeps every expression here short. */
const MARKED_LENGTH_MAX = 200
const DATE = /^(?:19|20)\d\d(?: ?年)?(?:[-. ](?:0?[1-9]|1[0-2])(?:[-. ](?:0?[1-9]|[12]\d|3[01]))?)?$/
const YEARS = /^(?:19|20)\d\d ?[-–] ?(?:19|20)\d\d$/
const MONTH = /^(?:0?[1-9]|1[0-2])$/
/** A series of one run, such as "Batman (2016)" and "Batman (2016 - Present)". */
const RUN = /\((?:19|20)\d\d(?: ?[-–] ?(?:(?:19|20)\d\d|present|ongoing)?)?\)$/i
/** At the end: "Vol 1 [Digital]", "Vol 1 (2016)". */
const TRAILING_GROUP = /(?:\([^()]*\)|\[[^[\]]*\])$/
const CALIBRE_ID = / \(\d{1,9}\)$/
const BEFORE = /^([\p{L}\p{M}]{1,20})[. ]{0,2}#?(\d{1,5}(?:\.\d{1,3})?)(?: ?[-–~&] ?(?:[\p{L}\p{M}]{1,20}[. ]{0,2})?(\d{1,5}))?$/u
const BEHIND = /^[第제]? ?(\d{1,5}(?:\.\d{1,3})?)(?: ?[-–~] ?(\d{1,5}))? ?([\p{L}\p{M}]{1,20})$/u
const ROMAN = /^([\p{L}\p{M}]{1,20})[. ]{1,2}([ivx]{1,5})$/u
/** First, middle and last volume. */
const HAN_PARTS = /^[上中下](?:[巻卷冊册])?$/u
const HAN_NUMBER = /[一二三四五六七八九十百]{1,6}(?=[^一二三四五六七八九十百]{1,2}$)/u

/** Digits that NFKC leaves as they are. */
const OTHER_DIGITS = /[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0e50-\u0e59]/g

const ROMAN_VALUES: Record<string, number> = { i: 1, v: 5, x: 10 }
function romanNumber(text: string): number {
  const values = [...text].map((letter) => ROMAN_VALUES[letter] as number)
  return values.reduce((sum, value, index) => sum + (value < (values[index + 1] ?? 0) ? -value : value), 0)
}

/** Longer than titles of series may be. */
const KEY_LENGTH_MAX = 2_000

/** A name that distinguishes the series of one folder: NFC, folded case, single spaces. */
export const seriesKey = (name: string): string => normalizeText(name, KEY_LENGTH_MAX).toLowerCase().replace(/\s+/g, ' ').trim()

export const nameOfFolder = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
/** '' for a folder in the root. */
export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))
/** Whether a name ends in a year in brackets. */
export const isRun = (name: string): boolean => RUN.test(name.trim())
export const hasCalibreId = (name: string): boolean => CALIBRE_ID.test(name)
export const withoutCalibreId = (name: string): string => name.replace(CALIBRE_ID, '') || name

/** The form of a name in which words and numbers are looked for. */
const plain = (name: string): string =>
  normalizeText(name, MARKED_LENGTH_MAX, 'NFKC')
    .toLowerCase()
    .replace(OTHER_DIGITS, plainDigit)
    .replace(/[_\s]+/g, ' ')
    .trim()

/** Without the brackets at its end. @param kept those that stay, with what is in front of them */
function withoutBrackets(text: string, kept?: RegExp): string {
  let rest = text
  while (TRAILING_GROUP.test(rest) && !kept?.test(rest)) rest = rest.replace(TRAILING_GROUP, '').trim()
  return rest
}

/** Without brackets but those with a year, which tell runs of one name apart. */
const withoutTags = (text: string): string => withoutBrackets(text, RUN)

/** @returns null for a name that is more than a marker and a number */
function markIn(text: string, words: FolderWords): PartMark | null {
  if (HAN_PARTS.test(text)) return {}
  const counted = text.replace(HAN_NUMBER, (digits) => String(hanNumber(digits)))
  const before = BEFORE.exec(counted)
  if (before) return markOf(before[1] as string, before[3] === undefined ? Number(before[2]) : null, words)
  const behind = BEHIND.exec(counted)
  if (behind) return markOf(behind[3] as string, behind[2] === undefined ? Number(behind[1]) : null, words)
  const roman = ROMAN.exec(counted)
  return roman ? markOf(roman[1] as string, romanNumber(roman[2] as string), words) : null
}

function markOf(word: string, number: number | null, words: FolderWords): PartMark | null {
  if (words.chapter.has(word)) return number === null ? {} : { chapter: number }
  if (!words.volume.has(word) && !words.section.has(word)) return null
  return number === null || !Number.isInteger(number) ? {} : { volume: number }
}

/** What is behind the name of the folder above, with or without its brackets; nothing when the name does not begin with it, or is equal. */
function restsBehind(text: string, parentName: string): string[] {
  const parent = plain(parentName)
  const forms = new Set([parent, withoutTags(parent), withoutBrackets(parent)])
  return [...forms].flatMap((form) => {
    const rest = form !== '' && text.startsWith(form) ? text.slice(form.length) : ''
    return /^[ \-–,:.]/.test(rest) ? rest.replace(/^[ \-–,:.]+/, '') || [] : []
  })
}

/** Whether the name is only a year, a date, or a word for an edition: such a folder may hold books of several series. */
export function isCollection(name: string, parentName: string, words: FolderWords): boolean {
  const text = withoutTags(plain(name))
  // A year before another one in brackets is a title, as in "1984 (1949)".
  const isMonth = MONTH.test(text) && DATE.test(withoutTags(plain(parentName)))
  return DATE.test(text) || YEARS.test(text) || isMonth || words.edition.has(withoutBrackets(text))
}

/**
 * The marks of a folder that is a part of the series of the folder above; null when it is none. Brackets behind a marker say nothing; behind the name of the
 * folder above, they tell series apart, as in "Batman (2011)" and "Batman (Rebirth)".
 */
export function partMark(name: string, parentName: string, words: FolderWords): PartMark | null {
  const [text, parent] = [plain(name), plain(parentName)]
  const isSame = text !== '' && (text === parent || text === withoutTags(parent))
  const isEdition = restsBehind(withoutTags(text), parentName).some((rest) => words.edition.has(rest))
  if (isSame || isEdition || isCollection(name, parentName, words)) return {}
  const short = withoutBrackets(text)
  for (const rest of [...restsBehind(short, parentName), short]) {
    const mark = markIn(rest, words)
    if (mark) return mark
  }
  return null
}

/** Whether the folder holds books beside the numbered ones of the folder above. */
export function isSideName(name: string, parentName: string, words: FolderWords): boolean {
  const text = plain(name)
  return words.side.has(withoutBrackets(text)) || restsBehind(withoutTags(text), parentName).some((rest) => words.side.has(rest))
}

export const isOneshotsName = (name: string, words: FolderWords): boolean =>
  words.oneshot.has(withoutBrackets(plain(name)).replace(/^[^\p{L}]+/u, ''))

/** The volume in the name of a folder that is a volume by the strategy, with or without a marker. */
export function volumeOfName(name: string, parentName: string, words: FolderWords): PartMark {
  const text = withoutTags(plain(name))
  return /^\d{1,5}$/.test(text) && !DATE.test(text) ? { volume: Number(text) } : (partMark(name, parentName, words) ?? {})
}
