/** The numbers in the name of a file. Each may be fractional, except the volume. */
interface NameNumbers {
  /** Place in the series. */
  number: number | null
  volume: number | null
  chapter: number | null
}

// "012.2013" is a number and a year, not a fraction.
const DIGITS = '(\\d{1,7}(?:\\.(?!(?:19|20)\\d\\d(?!\\d))\\d{1,4})?)(?!\\d)'
/** Not within a Latin word, such as "Rev2"; letters of other scripts do not count, because Japanese and Chinese have no spaces. */
const START = "(?<![\\p{Script=Latin}\\d'’])"
/** The "c2" of "c2c" is none: behind a number stands only a variant (012b), an extra (012x1), a version (012v2), or the chapter of a volume (v01c002). */
const END = '(?=[ab]?(?![\\p{Script=Latin}\\d])|[cvx]\\d)'

/** Words before a number, and letters, which stand directly before it: "Vitamin C 12" has none. "v01-03" and "v01-v03" are several in one file. */
function marker({ words, letter = words, start = START }: { words: string; letter?: string; start?: string }): RegExp {
  const before = `(?:(?:${words})[.:]? {0,4}|${letter}(?:\\. ?)?)`
  return new RegExp(`${start}${before}${DIGITS}(?:[-–~](?:${words}|${letter})?[. ]?\\d{1,7}(?!\\d|\\.\\d))?${END}`, 'iu')
}

/** Japanese, Chinese and Korean have the word behind the number. A total (全10巻) is none. */
const counters = (words: string): RegExp[] => [
  new RegExp(`(?<![全共총\\d.])${DIGITS}(?:[-–~]\\d{1,7})? ?(?:${words})`, 'u'),
  new RegExp(`第 ?([一二三四五六七八九十百]{1,6}) ?(?:${words})`, 'u'),
]

const ISSUE = [/# {0,4}(-?\d{1,7}(?:\.\d{1,4})?)(?!\d)/u, ...counters('月?号|月?號|期|호')]
const CHAPTER = [
  marker({ words: 'chapter|chapitre|chap|chp|ch', letter: 'c', start: `(?:${START}|(?<=${START}v(?:ol)?\\.?\\d{1,4}))` }),
  ...counters('話|话|章|回|화'),
]
const EPISODE = [marker({ words: 'episode|ep', letter: 's\\d{1,2} ?e' }), ...counters('集|편')]
/** Followed by another number, it belongs to the title: "Kaiju No. 8 012". */
const ISSUE_WORD = [new RegExp(`${START}(?:issue|iss\\.|no\\.|nr\\.?|prog|n[°º]|№) {0,4}${DIGITS}${END}(?! {1,4}\\d)`, 'iu')]
const OF_HOW_MANY = [new RegExp(`(?<![\\d.])${DIGITS} {1,4}of {1,4}\\d{1,7}(?!\\d)`, 'iu')]
const VOLUME = [marker({ words: 'volume|vol|vols', letter: 'v' }), ...counters('巻|卷|冊|册|권'), new RegExp(`巻[ノの]? ?${DIGITS}`, 'u')]
const PART = [marker({ words: 'part|pt|book' })]
const TOME = [marker({ words: 'tome|tomo|band|bd', letter: 't' })]
const IN_BRACKETS = /[([] {0,4}#?(\d{1,3}(?:\.\d{1,4})?)(?: of \d{1,7}|[-–~]\d{1,4})? {0,4}[)\]]/iu

const CJK = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー'
/** `Name - 01 - Title`, `Name 01`, `01. Title` and `01 - Title`: the most reliable first. */
const BARE = [
  new RegExp(`(?<=[^ ] {1,4}[-–—] {1,4})${DIGITS}(?= {1,4}[-–—] {1,4}[^ ])`, 'u'),
  new RegExp(`(?<=^|[ \\-.]|[${CJK}])${DIGITS}(?:[a-d]|\\.[A-Z]{2,3})?$`, 'u'),
  new RegExp(`^ {0,4}${DIGITS}(?=\\. {0,4}[^ \\d.]| {1,4}[-–—] {1,4}[^ ])`, 'u'),
  new RegExp(`(?<=[^ ] )${DIGITS}(?= [-–—] [^ ]|: [^ ])`, 'u'),
]
/** `Name 010 Title`. Without a zero it may be a word of the title, as in "Avengers 3 men"; three digits beside a year are a number. */
const BEFORE_TITLE = new RegExp(`(?<=[^ ] )${DIGITS}(?= ["'“]?\\p{L})`, 'u')
const BEFORE_DATED_TITLE = /(?<=[^ ] )(?<!\b(?:of|the|and) )([1-9]\d\d)(?= \p{Lu})/u

/** In place of brackets with a year: what stands before it is the name. */
const YEAR_MARK = '\u0001'
const GROUP = /\([^()[\]{}]*\)|\[[^()[\]{}]*\]|\{[^()[\]{}]*\}/g
const YEAR = /(?<!\d)(?:19|20)\d\d(?!\d)/
/** "Saga 012 2013 Digital", in names without brackets. */
const BARE_YEAR = /(?<=\d) (?:19|20)\d\d(?= |$)/
/** Words that scanners append without brackets. */
const SCAN_WORDS = /(?: (?:c2c|ctc|noads|digital|webrip|scan|hd|fixed|repack|fcbd)){1,9}$/i
/** Directly behind a volume: alone, with a zero, or before a dash. */
const BEHIND_VOLUME = new RegExp(`^[ \\-–—.,:]*${DIGITS}(?=$|${YEAR_MARK}| [-–—] | )`, 'u')

/**
 * Reads the numbers of a book from the name of its file without the extension. The most exact one is the place in the series: `#N`, a chapter, an episode,
 * a number at a place where names have one, a part, a number in brackets; a volume only if there is no other. Brackets describe the file: a marker in them
 * is none, nor is a year.
 */
export function numbersInName(stem: string): NameNumbers {
  const name = plainName(stem)
  const free = withoutGroups(name)
  const volume = find(VOLUME, free)
  const chapter = find(CHAPTER, free)
  const exact = find(ISSUE, free) ?? chapter ?? find(EPISODE, free)
  const number = exact?.value ?? (volume ? besideVolume(free, volume) : placed(free)) ?? inBrackets(name) ?? volume?.value ?? null
  return { number, volume: volume && Number.isInteger(volume.value) ? volume.value : null, chapter: chapter?.value ?? null }
}

interface Found {
  value: number
  at: number
  end: number
}

function find(forms: readonly RegExp[], text: string): Found | null {
  for (const form of forms) {
    const match = form.exec(text)
    const digits = match?.slice(1).find((group) => group !== undefined)
    if (match && digits !== undefined) return { value: numberOf(digits), at: match.index, end: match.index + match[0].length }
  }
  return null
}

/** A number at a place where names have one. */
function placed(free: string): number | null {
  const word = find(ISSUE_WORD, free)
  if (word) return word.value
  const part = find(PART, free)
  const rest = part ? `${free.slice(0, part.at)} ${free.slice(part.end)}` : free
  const ofMany = find(OF_HOW_MANY, rest)
  if (ofMany) return ofMany.value
  const tome = find(TOME, rest)
  const isDated = rest.includes(YEAR_MARK)
  const before = rest.split(isDated ? YEAR_MARK : BARE_YEAR, 1)[0] as string
  for (const text of [before, rest.replaceAll(YEAR_MARK, ' ')].map(trimmed)) {
    const number =
      bare(text, true) ?? (part || tome ? null : (bare(text, false) ?? (isDated ? bareIn([BEFORE_DATED_TITLE], text, false) : null)))
    if (number !== null) return number
  }
  return part?.value ?? (tome && !isYear(String(tome.value)) ? tome.value : null)
}

/** A number elsewhere belongs to a title, as in "Mob Psycho 100 v05" and "Naruto Vol. 3 - Team 7". */
function besideVolume(free: string, volume: Found): number | null {
  const behind = free.slice(volume.end)
  const exact = find(ISSUE_WORD, behind) ?? find(OF_HOW_MANY, behind)
  if (exact) return exact.value
  const match = BEHIND_VOLUME.exec(behind)
  const rest = match ? trimmed(behind.slice(match[0].length).split(YEAR_MARK, 1)[0] as string) : ''
  if (match && !isYear(match[1] as string) && (rest === '' || isPadded(match[1] as string) || /^[-–—] /.test(rest))) return Number(match[1])
  return bare(trimmed(free.slice(0, volume.at).split(YEAR_MARK, 1)[0] as string), true)
}

const bare = (text: string, padded: boolean) => bareIn(padded ? [...BARE, BEFORE_TITLE] : BARE, text, padded)

function bareIn(forms: readonly RegExp[], text: string, padded: boolean): number | null {
  for (const form of forms) {
    const digits = form.exec(text)?.[1]
    if (digits !== undefined && (padded ? isPadded(digits) : !isYear(digits))) return Number(digits)
  }
  return null
}

const inBrackets = (name: string): number | null => find([IN_BRACKETS], name)?.value ?? null

const isYear = (text: string) => /^(?:19|20)\d\d$/.test(text)
const isPadded = (text: string) => /^0\d/.test(text)
const trimmed = (text: string) => text.trimEnd().replace(SCAN_WORDS, '').trimEnd()

/** Brackets are replaced from the inside; real names nest them once. */
function withoutGroups(name: string): string {
  const once = (text: string) => text.replace(GROUP, (group) => (YEAR.test(group) ? YEAR_MARK : ' '))
  return once(once(name))
}

const FRACTIONS: Readonly<Record<string, string>> = { '½': '.5', '¼': '.25', '¾': '.75', '⅓': '.3333', '⅔': '.6667' }
const DATE = /(?<!\d)(?:19|20)\d\d([-.])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])(?!\d)/g
/** "001-006": one file that contains several issues. */
const RANGE = /(?<=^|[ #([])(\d{1,7}(?:\.\d{1,4})?)[-–~](\d{1,7})(?=$|[ )\].])/g

/** The name with plain digits, brackets and spaces; ranges are their first number, and "(of 6)" is a word. */
function plainName(stem: string): string {
  const wide = stem
    .replace(/[\uff01-\uff5e]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0xfee0))
    .replace(/[【「『〈《]/g, '[')
    .replace(/[】」』〉》]/g, ']')
    .replace(/[\s_\u0001]/g, ' ')
  const spaced =
    !wide.includes(' ') && wide.indexOf('.') !== wide.lastIndexOf('.') ? wide.replace(/\.(?!(?<=\d\.)\d{1,2}(?!\d))/g, ' ') : wide
  return spaced
    .replace(/(\d) ?([½¼¾⅓⅔])/g, (_, digit: string, part: string) => digit + FRACTIONS[part])
    .replace(/(?<=# ?)[½¼¾⅓⅔]|(?<= )[½¼¾⅓⅔](?= ?$| ?[([])/g, (part) => `0${FRACTIONS[part]}`)
    .replace(/(?<=\d) ?\(of (\d{1,7})\)/gi, ' of $1 ')
    .replace(DATE, ' ')
    .replace(RANGE, (range, from: string, to: string) => (Number(from) < Number(to) && !isYear(from) ? from : range))
}

const KANJI = '一二三四五六七八九'

/** Kanji numbers up to 999. */
function numberOf(digits: string): number {
  if (!/[一-龯]/.test(digits)) return Number(digits)
  let sum = 0
  let one = 0
  for (const letter of digits) {
    const scale = letter === '百' ? 100 : letter === '十' ? 10 : 0
    if (scale > 0) sum += (one || 1) * scale
    one = scale > 0 ? 0 : KANJI.indexOf(letter) + 1
  }
  return sum + one
}
