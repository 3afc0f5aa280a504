import { type NameRole, wordsBefore, wordsBehind } from '#core/fields/name-words.ts'
import { type PlainName, YEAR_MARK } from '#core/fields/plain-name.ts'

/** The numbers in the name of a file. Each may be fractional. */
export interface NameNumbers {
  /** Place in the series. */
  number: number | null
  volume: number | null
  chapter: number | null
  /** Named in brackets beside the number. */
  series: string | null
  /** Where in the free text the first of them, or its marker, stands: before it is the name of the series. Null without any. */
  at: number | null
}

// "012.2013" is a number and a year, not a fraction.
const DIGITS = '(\\d{1,7}(?:\\.(?!(?:19|20)\\d\\d(?!\\d))\\d{1,4})?)(?!\\d)'
/** Not within a word, such as "Rev2". Japanese, Chinese and Thai have no spaces: their letters do not count. */
const START = "(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Script=Arabic}\\d'’])"
/** The "c2" of "c2c" is none: behind a number stands only a variant (012b), an extra (012x1), a version (012v2), or the chapter of a volume (v01c002). */
const END = '(?=[abd]?(?![\\p{Script=Latin}\\d])|[cvx]\\d)'
const HAN_DIGITS = '[一二三四五六七八九十百]{1,6}'
const ONE_OF_THREE = '[上中下]'

const escaped = (words: readonly string[]) => words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
const hasSpaces = (word: string) => !/^[\p{Script=Han}\p{Script=Hangul}]/u.test(word)

/** Words before a number, and letters, which stand directly before it: "Vitamin C 12" has none. "v01-03" and "v01-v03" are several in one file. */
function marker(role: NameRole, { letter, start = START }: { letter?: string; start?: string } = {}): RegExp {
  const words = escaped(wordsBefore(role))
  const before = letter ? `(?:(?:${words})[.:-]? {0,4}#?|${letter}(?:\\. ?)?)` : `(?:${words})[.:-]? {0,4}#?`
  const more = letter ? `(?:${words}|${letter})?` : `(?:${words})?`
  return new RegExp(`${start}${before}${DIGITS}(?:[-–~]${more}[. ]?\\d{1,7}(?!\\d|\\.\\d))?${END}`, 'diu')
}

/** Japanese, Chinese and Korean have the word behind the number; so may Russian, with a space. A total (全10巻) is none. */
function counters(role: NameRole): RegExp[] {
  const words = wordsBehind(role)
  const [spaced, attached] = [words.filter(hasSpaces), words.filter((word) => !hasSpaces(word))]
  const number = `(?<![全共총\\d.]|[全共총] )[第제]? ?${DIGITS}(?:[-–~]\\d{1,7})?`
  const forms = [new RegExp(`${number} ?(?:${escaped(attached)})`, 'du'), new RegExp(`第 ?(${HAN_DIGITS}) ?(?:${escaped(attached)})`, 'du')]
  if (spaced.length > 0) forms.push(new RegExp(`${number} {1,4}(?:${escaped(spaced)})(?!\\p{L}| ?\\d)`, 'diu'))
  return forms
}

/** In "012 v2" it is the version of a scan. "T1000" is a robot. */
const LETTERS_OF_VOLUME = '(?:(?<!(?<![\\d.])0\\d{1,3} )v|v(?=\\d\\d|\\d\\.\\d)|t(?=\\.? ?\\d{1,3}(?!\\d)|(?:19|20)\\d\\d #))'
const VOLUME = [
  ...counters('volume'),
  marker('volume', { letter: LETTERS_OF_VOLUME }),
  new RegExp(`[巻卷](${HAN_DIGITS})(?!\\p{Script=Han})`, 'du'),
  new RegExp(`(${ONE_OF_THREE})[巻卷册冊編篇权권]`, 'du'),
  new RegExp(`(?<= )(${ONE_OF_THREE}) ?(?=$|${YEAR_MARK})`, 'du'),
]
const CHAPTER = [
  ...counters('chapter'),
  marker('chapter', { letter: 'c', start: `(?:${START}|(?<=${START}v(?:ol)?\\.?\\d{1,4}))` }),
  new RegExp(`${START}s\\d{1,2} ?ep? ?${DIGITS}${END}`, 'diu'),
]
const SEASON = [
  ...counters('season'),
  marker('season'),
  new RegExp(`${START}s(\\d{1,2})(?= ?e[p\\d]| {1,4}(?:[-–—] )?(?:e|c|ch)?\\d| {1,4}(?:ep|ch)|$)`, 'diu'),
]
const ISSUE = [/# {0,4}(-?\d{1,7}(?:\.\d{1,4})?)(?!\d)/du, ...counters('issue')]
/** Followed by another number, it belongs to the title: "Kaiju No. 8 012". */
const ISSUE_WORD = [
  new RegExp(`${START}(?:${escaped(wordsBefore('issue'))})[.:]? {0,4}${DIGITS}${END}(?! {1,4}(?!(?:19|20)\\d\\d(?!\\d))\\d)`, 'diu'),
  new RegExp(`第 ?${DIGITS}`, 'du'),
  new RegExp(`${START}(?:sp|ova|hs) ?${DIGITS}${END}`, 'diu'),
]
const OF_HOW_MANY = [
  new RegExp(`(?<![\\d.])(?<!${START}(?:${escaped(wordsBefore('part'))})[.:-]? {0,4}#?)${DIGITS} {1,4}of {1,4}\\d{1,7}(?!\\d)`, 'diu'),
]
/** "Part 1 of 3" tells the part, not the place among all books. */
const PART_OF = `(?:[a-d]? {1,4}of {1,4}\\d{1,7}(?!\\d))?`
const PART = [...counters('part'), new RegExp(`${marker('part').source}${PART_OF}`, 'diu')]
const IN_BRACKETS = /^#? {0,4}(\d{1,3}(?:\.\d{1,4})?)(?: of \d{1,7}|[-–~]\d{1,4})?$/diu
/** The end of "(Mistborn #1)" and "(Mistborn, Book 1)", which name a series and the number in it. */
const BEHIND_SERIES = new RegExp(`(?<=[\\p{L}\\d!?.]),? (?:#|(?:book|vol|volume|band|tome|no)\\.? ?#?|(?=0\\d))${DIGITS}$`, 'diu')

const CJK = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー'
/** `Name - 01 - Title`, `Name 01`, `01. Title` and `01 - Title`: the most reliable first. */
const BARE = [
  new RegExp(`(?<=[^ ] {1,4}[-–—] {1,4})${DIGITS}(?= {1,4}[-–—] {1,4}[^ ])`, 'du'),
  new RegExp(`(?<=^|[ \\-.]|[${CJK}])${DIGITS}(?:[a-d]|v[2-9]|\\.[A-Z]{2,3}|AU|HU|INH|LR|MU|NOW)?$`, 'du'),
  new RegExp(`^ {0,4}${DIGITS}(?=\\. {0,4}[^ \\d.]| {1,4}[-–—] {1,4}[^ ])`, 'du'),
  new RegExp(`(?<=[^ ] {1,4})${DIGITS}(?= [-–—] [^ ]|: [^ ])`, 'du'),
  new RegExp(`(?<=[^ ] {1,4})${DIGITS}(?=b \\p{L})`, 'du'),
  new RegExp(`(?<=[${CJK}] )${DIGITS}(?= [${CJK}])`, 'du'),
]
/** `Name 010 Title`, `Name-03-Title` and `001 Title`. Without a zero it may be a word of the title, as in "Avengers 3 men"; three digits beside a year are a number. */
const BEFORE_TITLE = [
  new RegExp(`(?<=[^ ] {1,4})${DIGITS}(?=[a-d]? ["'“]?\\p{L})`, 'du'),
  new RegExp(`(?<=\\p{L}-)${DIGITS}(?=-\\p{L})`, 'du'),
  new RegExp(`^ {0,4}${DIGITS}(?= \\p{L})`, 'du'),
]
const BEFORE_DATED_TITLE = /(?<=[^ ] {1,4})(?<!\b(?:of|the|and) )([1-9]\d\d)(?=[a-d]? \p{Lu})/du

/** "Saga 012 2013 Digital", in names without brackets. */
const BARE_YEAR = /(?<=\d) (?:19|20)\d\d(?= |$)/
/** Words that scanners append without brackets. */
const SCAN_WORDS = /(?: (?:c2c|ctc|noads|digital|webrip|scan|scans|hd|fixed|repack|fcbd|[完终終완]|完[结結]|완결|全集)){1,9}$/iu
/** "Vol 324 No 5": elsewhere, "no" without a dot is a word. */
const ISSUE_BEHIND_VOLUME = new RegExp(`^[ \\-–—.,:]*no ?${DIGITS}${END}`, 'diu')
/** Directly behind a volume: alone, with a zero, or before a dash. */
const BEHIND_VOLUME = new RegExp(`^[ \\-–—.,:]*${DIGITS}(?=[a-d]?(?:$|${YEAR_MARK}| [-–—] | ))`, 'du')

/**
 * Reads the numbers of a book from its name. The most exact one is the place in the series: `#N`, a chapter, a number at a place where names have one,
 * a part, a number in brackets; a volume only if there is no other. Brackets describe the file: a marker in them counts only if it is all they hold.
 */
export function numbersInName({ free, groups }: PlainName): NameNumbers {
  const { chapter: inText, exact } = exactIn(free)
  let volume = find(VOLUME, free)
  let number = exact ?? (volume ? besideVolume(free, volume) : placed(free))
  const isEmpty = !/[\p{L}\d]/u.test(free)
  const start = free.search(/[^ \u0001]/)
  // In front of a name stand its owners and events: (C86) is no chapter.
  const inner = isEmpty ? groups : groups.filter(({ at }) => at > start)
  const chapter = inText ?? (number === null ? inGroups(CHAPTER, inner, isEmpty ? /^/ : /\d\d|\p{L}{2}|\P{ASCII}/u) : null)
  volume ??= inGroups(VOLUME, inner, isEmpty || chapter ? /^/ : /\d\d|\p{L}{2}|\P{ASCII}/u)
  const season = find(SEASON, free) ?? inGroups(SEASON, groups, /^/)
  const named = (number ?? volume ?? chapter) ? null : seriesInBrackets(groups)
  number ??= chapter ?? named?.number ?? inGroups([IN_BRACKETS], groups, /^/)
  const used = [season, volume, chapter, number].filter((one) => one !== null)
  return {
    number: (number ?? volume ?? season)?.value ?? null,
    volume: (volume ?? season)?.value ?? null,
    chapter: chapter?.value ?? null,
    series: named?.series ?? null,
    at: used.length === 0 ? null : Math.min(...used.map(({ at }) => at)),
  }
}

interface Found {
  value: number
  at: number
  end: number
}

/** @param from where to begin */
function find(forms: readonly RegExp[], text: string, from = 0): Found | null {
  const searched = from === 0 ? text : text.slice(from)
  for (const form of forms) {
    const match = form.exec(searched)
    const group = match?.findIndex((digits, index) => index > 0 && digits !== undefined) ?? -1
    if (!match || group === -1) continue
    const value = numberOf(match[group] as string)
    const end = match.indices?.[group]?.[1] ?? searched.length
    // The second half of a chapter that appeared in two: 12b stands between 12 and 13.
    const isSecondHalf = Number.isInteger(value) && /^b(?![\p{L}\d])/u.test(searched.slice(end, end + 3))
    return { value: isSecondHalf ? value + 0.5 : value, at: from + match.index, end: from + match.index + match[0].length }
  }
  return null
}

/** "Monster #8 Ch. 1" and "Episode 3 - Banquet #02": the last one numbers the book, the other one belongs to the title. */
function exactIn(free: string): { chapter: Found | null; exact: Found | null } {
  const chapter = find(CHAPTER, free)
  const hash = find(ISSUE, free)
  if (!chapter || !hash || /^ *#/.test(free)) return { chapter, exact: hash ?? chapter }
  return chapter.at > hash.at ? { chapter, exact: chapter } : { chapter: null, exact: hash }
}

/** A group that holds nothing but markers with their numbers, such as "(v01)" and "(v01c02)". */
function inGroups(forms: readonly RegExp[], groups: PlainName['groups'], condition: RegExp): Found | null {
  for (const { text, at } of groups) {
    const found = condition.test(text) ? find(forms, ` ${text}`) : null
    if (found && !/[\p{L}\d]/u.test([forms, VOLUME, CHAPTER, SEASON].reduce(without, ` ${text}`))) return { ...found, at }
  }
  return null
}

function without(text: string, forms: readonly RegExp[]): string {
  const found = find(forms, text)
  return found ? `${text.slice(0, found.at)} ${text.slice(found.end)}` : text
}

function seriesInBrackets(groups: PlainName['groups']): { series: string; number: Found } | null {
  for (const { text, at } of groups) {
    const found = find([BEHIND_SERIES], text)
    if (found) return { series: text.slice(0, found.at), number: { ...found, at } }
  }
  return null
}

/** A number at a place where names have one. */
function placed(free: string): Found | null {
  const exact = find(ISSUE_WORD, free) ?? find(OF_HOW_MANY, free)
  if (exact) return exact
  const part = find(PART, free)
  const isDated = free.includes(YEAR_MARK)
  const before = free.split(isDated ? YEAR_MARK : BARE_YEAR, 1)[0] as string
  const texts = [before, free.replaceAll(YEAR_MARK, ' ')].flatMap((text) =>
    part ? [text.slice(0, part.at), text.slice(part.end)] : [text],
  )
  for (const text of texts.map(trimmed)) {
    const number = bare(text, true) ?? (part ? null : bare(text, false)) ?? (isDated ? bareIn([BEFORE_DATED_TITLE], text, false) : null)
    if (number !== null) return number
  }
  return part
}

/** A number elsewhere belongs to a title, as in "Mob Psycho 100 v05" and "Naruto Vol. 3 - Team 7". */
function besideVolume(free: string, volume: Found): Found | null {
  const exact = find(ISSUE_WORD, free, volume.end) ?? find(OF_HOW_MANY, free, volume.end)
  if (exact) return exact
  const behind = free.slice(volume.end)
  if (ISSUE_BEHIND_VOLUME.test(behind)) return find([ISSUE_BEHIND_VOLUME], free, volume.end)
  const match = BEHIND_VOLUME.exec(behind)
  const digits = match?.[1] as string
  const rest = match ? trimmed(behind.slice(match[0].length).split(YEAR_MARK, 1)[0] as string).trimStart() : ''
  if (match && !isYear(digits) && (rest === '' || isPadded(digits) || /^[-–—]/.test(rest))) return find([BEHIND_VOLUME], free, volume.end)
  // "Rex 013 The Walk Book 2 (2016)": a story of several issues.
  const isStory = /^book/i.test(free.slice(volume.at)) && free.includes(YEAR_MARK)
  return isStory ? bareIn(BEFORE_TITLE, free.slice(0, volume.at), true) : null
}

const bare = (text: string, padded: boolean) => bareIn(padded ? [...BARE, ...BEFORE_TITLE] : BARE, text, padded)

function bareIn(forms: readonly RegExp[], text: string, padded: boolean): Found | null {
  for (const form of forms) {
    const digits = form.exec(text)?.[1]
    if (digits !== undefined && (padded ? isPadded(digits) : !isYear(digits))) return find([form], text)
  }
  return null
}

const isYear = (text: string) => /^(?:19|20)\d\d$/.test(text)
const isPadded = (text: string) => /^0\d/.test(text)
const trimmed = (text: string) =>
  text
    .trimEnd()
    .replace(SCAN_WORDS, '')
    .replace(/[ \-–—]{1,12}$/, '')
    .trimEnd()

const HAN = '一二三四五六七八九'

/** Chinese and Japanese numbers up to 999; the first, middle and last of three volumes. */
function numberOf(digits: string): number {
  if (/^[-\d.]/.test(digits)) return Number(digits)
  const ofThree = '上中下'.indexOf(digits)
  if (ofThree !== -1) return ofThree + 1
  let sum = 0
  let one = 0
  for (const letter of digits) {
    const scale = letter === '百' ? 100 : letter === '十' ? 10 : 0
    if (scale > 0) sum += (one || 1) * scale
    one = scale > 0 ? 0 : HAN.indexOf(letter) + 1
  }
  return sum + one
}
