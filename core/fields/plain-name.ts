import { type NameRole, wordsBefore } from '#core/fields/name-words.ts'
import { normalizeText } from '#core/foundation/text.ts'

/** File systems allow 255 bytes. */
export const FILE_NAME_LENGTH_MAX = 1_000
/** In place of brackets with a year, and of dates: what stands before it is the name. */
export const YEAR_MARK = '\u0001'

/** A name in a form in which numbers can be looked for. */
export interface PlainName {
  /** Without brackets and what is in them: a space stands for each, or a {@link YEAR_MARK}. */
  free: string
  /** What the outer brackets hold, and where in `free` they stood. */
  groups: { text: string; at: number }[]
  /** Of the first date, which `free` does not hold. */
  dateYear: number | null
}

const MONTH =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'
const YEAR = '(?:19|20)\\d\\d(?!\\d)'
const DATES = [
  /(?<!\d)(?:19|20)\d\d([-.])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])(?!\d)/g,
  /(?<![\d.-])(?:0?[1-9]|[12]\d|3[01])([-.])(?:0?[1-9]|1[0-2])\1(?:19|20)\d\d(?!\d)/g,
  /(?<!\d)(?:19[3-9]|20[0-3])\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)/g,
  new RegExp(`(?<![\\p{L}\\d])(?:\\d{1,2} )?${MONTH}\\.?(?: \\d{1,2})?,? ${YEAR}`, 'giu'),
]
const DAY = '(?:0?[1-9]|[12]\\d|3[01])'
/** The beginnings of spans: "13-19 May 2023", "May 13-19, 2023", "29 April - 5 May 2023", "April 29-May 5, 2023". What is left is the date of the last day. */
const SPANS = [
  new RegExp(`(?<![\\p{L}\\d.-])${DAY}\\.?[-–~](?=${DAY}(?:\\.? ${MONTH}\\.?,? |\\.(?:0?[1-9]|1[0-2])\\.)${YEAR})`, 'giu'),
  new RegExp(`(?<=(?<!\\p{L})${MONTH}\\.? )${DAY}[-–~](?=${DAY},? ${YEAR})`, 'giu'),
  new RegExp(`(?<![\\p{L}\\d.-])${DAY}\\.? ${MONTH}\\.? ?[-–~] ?(?=${DAY}\\.? ${MONTH}\\.?,? ${YEAR})`, 'giu'),
  new RegExp(`(?<!\\p{L})${MONTH}\\.? ${DAY} ?[-–~] ?(?=${MONTH}\\.? ${DAY},? ${YEAR})`, 'giu'),
]
const HAS_YEAR = /(?<!\d)(?:19|20)\d\d(?!\d)|\u0001/
/** Of a magazine: "2019.03" and "03.2019" are no fractions, and "03-2019" is no range. No part of a date, of a range, or of "#03". */
const MONTHS = [
  /(?<![\p{L}\d#]|\d[.-])(?<year>19[3-9]\d|20[0-3]\d)\.(?<month>0[1-9]|1[0-2])(?![\p{L}\d]|[.-]\d)/gu,
  /(?<![\p{L}\d#]|\d[.-])(?<month>0?[1-9](?=\.)|0[1-9]|1[0-2])[.-](?<year>19[3-9]\d|20[0-3]\d)(?![\p{L}\d]|[.-]\d)/gu,
]
const LAST_WORD = /([\p{L}°]{1,20})[.:-]? {0,4}$/u
const plainWords = (role: NameRole) => wordsBefore(role).map((word) => word.replace('.', ''))
const ISSUE_WORDS = new Set(plainWords('issue'))
const OTHER_WORDS = new Set([...plainWords('volume'), ...plainWords('chapter'), ...plainWords('part'), 'v', 't', 'c'])
/** "012,5": a list would be "012,013". */
const DECIMAL_COMMA = /(?<![\d.,])(0\d{1,5}),(\d)(?![\d,])/g
const FRACTIONS: Readonly<Record<string, string>> = { '½': '.5', '¼': '.25', '¾': '.75', '⅓': '.3333', '⅔': '.6667' }
/** "001-006": one file that contains several issues. Its first number gets a zero in front, because a range is a number even where 1 may be a word. */
const RANGE = /(?<=^|[ #([])(\d{1,7}(?:\.\d{1,4})?)[-–~](\d{1,7})b?(?=$|[ )\].])/g
/** "Book Two" and "Vol. IV": words and Roman numerals count only behind a word for a volume. */
const SPELLED =
  'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'.split(
    ' ',
  )
const ROMAN = 'I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX'.split(' ')
const SPELLED_VOLUME = new RegExp(
  `(?<![\\p{L}\\d])(book|volume|vol\\.?|tome|band|tomo) (${SPELLED.join('|')}|${ROMAN.toReversed().join('|')})(?![\\p{L}\\d'’])`,
  'giu',
)
/** Between author and title, as in "Terry Pratchett - [Discworld 31] - Monstrous Regiment". */
const BRACKETED_SERIES = /(?<= - )\[([^[\]]{0,100}\p{L}) (\d{1,3}(?:\.\d)?)\](?= - )/u
/** Arabic, Persian, Devanagari, Bengali and Thai. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50]
const isYear = (text: string) => /^(?:19|20)\d\d$/.test(text)

/** Reads a file name without its extension, or the name of a folder. */
export function toPlainName(stem: string): PlainName {
  const spaced = toPlainText(stem)
  // Most names have none, and these expressions are slow.
  const year = (/(?:19|20)\d\d/.test(spaced) ? DATES : [])
    .map((date) => spaced.match(date)?.[0].match(/(?:19|20)\d\d/)?.[0])
    .find((found) => found !== undefined)
  const undated = year === undefined ? spaced : DATES.reduce((text, date) => text.replace(date, YEAR_MARK), spaced)
  return { ...splitGroups(undated), dateYear: year === undefined ? null : Number(year) }
}

/** Plain digits, brackets and single spaces; ranges are their first number, those of days their last, and "(of 6)" is a word. */
function toPlainText(stem: string): string {
  const wide = normalizeText(stem, FILE_NAME_LENGTH_MAX)
    .replace(/[\uff01-\uff5e]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0xfee0))
    .replace(/[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u0e50-\u0e59]/g, plainDigit)
    .replace(/[①-⑳]/g, (letter) => String(letter.charCodeAt(0) - 0x245f))
    .replace(/[【「『〈《〔]/g, '[')
    .replace(/[】」』〉》〕]/g, ']')
    .replace(/[\s_\u0001]/g, ' ')
    .trim()
  const isDotted = !wide.includes(' ') && wide.indexOf('.') !== wide.lastIndexOf('.')
  const spaced = isDotted ? wide.replace(/\.(?!(?<=\d\.)\d{1,2}(?!\d))/g, ' ') : wide
  const ended = /(?:19|20)\d\d/.test(spaced) ? SPANS.reduce((text, span) => text.replace(span, ''), spaced) : spaced
  const dated = /\d[.-]\d/.test(ended) ? MONTHS.reduce((text, form) => text.replace(form, plainMonth), ended) : ended
  return dated
    .replace(/(\d) ?([½¼¾⅓⅔])/g, (_, digit: string, part: string) => digit + FRACTIONS[part])
    .replace(/(?<=# ?)[½¼¾⅓⅔]|(?<= )[½¼¾⅓⅔](?= ?$| ?[([])/g, (part) => `0${FRACTIONS[part]}`)
    .replace(/(?<=\d) ?\(of (\d{1,7})\)/gi, ' of $1 ')
    .replace(DECIMAL_COMMA, '$1.$2')
    .replace(RANGE, (range, from: string, to: string) => (Number(from) < Number(to) && !isYear(from) ? `0${from}` : range))
    .replace(SPELLED_VOLUME, (_, word: string, number: string) => `${word} ${numberOfWord(number)}`)
    .replace(BRACKETED_SERIES, '[$1 #$2]')
    .replace(/ {2,}/g, ' ')
}

/** As "2019-03"; behind "Nr." as "03 2019". What stands behind "Ch." is that of a chapter. */
function plainMonth(...match: unknown[]): string {
  const [{ year, month }, text, at] = [match.at(-1) as Record<'year' | 'month', string>, match.at(-2) as string, match.at(-3) as number]
  const word = LAST_WORD.exec(text.slice(0, at))?.[1]?.toLowerCase() ?? ''
  if (OTHER_WORDS.has(word)) return match[0] as string
  return ISSUE_WORDS.has(word) ? `${month} ${year}` : `${year}-${month.padStart(2, '0')}`
}

const numberOfWord = (word: string): number => Math.max(SPELLED.indexOf(word.toLowerCase()), ROMAN.indexOf(word.toUpperCase())) + 1

export function plainDigit(letter: string): string {
  const code = letter.charCodeAt(0)
  return String(code - (ZEROS.findLast((zero) => zero <= code) as number))
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** Brackets that are not closed are ordinary characters. */
function splitGroups(name: string): Pick<PlainName, 'free' | 'groups'> {
  if (!/[([{]/.test(name)) return { free: name, groups: [] }
  const ends = new Map<number, number>()
  const open: number[] = []
  for (let at = 0; at < name.length; at++) {
    const letter = name[at] as string
    if (letter in CLOSING) open.push(at)
    else if (open.length > 0 && CLOSING[name[open.at(-1) as number] as string] === letter) ends.set(open.pop() as number, at)
  }
  let free = ''
  const groups: PlainName['groups'] = []
  for (let at = 0; at < name.length; at++) {
    const end = ends.get(at)
    const letter = name[at] as string
    if (end === undefined) {
      if (letter !== ' ' || !free.endsWith(' ')) free += letter
      continue
    }
    const text = name.slice(at + 1, end).trim()
    groups.push({ text, at: free.length })
    if (HAS_YEAR.test(text)) free += YEAR_MARK
    else if (!free.endsWith(' ')) free += ' '
    at = end
  }
  return { free, groups }
}
