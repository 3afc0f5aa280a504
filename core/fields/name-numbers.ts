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
const FRACTION = '\\.(?!(?:19|20)\\d\\d(?!\\d))\\d{1,4}'
const DIGITS = `(\\d{1,7}(?:${FRACTION})?)(?!\\d)`
/** "Глава 4,5" lies between two chapters; "Chapters 4,5" are two, and "1,234" is one number. */
const DIGITS_OF_CHAPTER = `(\\d{1,7}(?:${FRACTION}|(?<!(?:s|ы|li)[.:-]? {0,4}#?\\d{1,7}),\\d(?![\\d,]))?)(?!\\d)`
const digitsOf = (role: NameRole) => (role === 'chapter' ? DIGITS_OF_CHAPTER : DIGITS)
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
  return new RegExp(`${start}${before}${digitsOf(role)}(?:[-–~]${more}[. ]?\\d{1,7}(?!\\d|\\.\\d))?${END}`, 'diu')
}

/** Between a number and the word behind it; the dot is that of an ordinal ("3. kötet"). */
const BETWEEN = '(?:\\. {0,4}| {1,4})'
const SPACED_BEHIND = escaped((['volume', 'chapter', 'issue'] as const).flatMap(wordsBehind).filter(hasSpaces))
/** A number behind the word belongs to it, as in "Cilt 3 Bölüm 12", unless it has a word behind it too, as in "3. kötet 12. fejezet". */
const BEHIND_WORD = `(?!\\p{L}|[.:]? ?#?\\d(?!\\d{0,6}${BETWEEN}(?:${SPACED_BEHIND})(?!\\p{L}|[.:]? ?#?\\d)))`

/** Japanese, Chinese and Korean have the word behind the number; so may others, with a space or the dot of an ordinal. A total (全10巻) is none. */
function counters(role: NameRole): RegExp[] {
  const words = wordsBehind(role)
  const [spaced, attached] = [words.filter(hasSpaces), words.filter((word) => !hasSpaces(word))]
  const number = `(?<![全共총\\d.]|[全共총] )[第제]? ?${digitsOf(role)}(?:[-–~]\\d{1,7})?`
  const forms = [new RegExp(`${number} ?(?:${escaped(attached)})`, 'du'), new RegExp(`第 ?(${HAN_DIGITS}) ?(?:${escaped(attached)})`, 'du')]
  if (spaced.length > 0) forms.push(new RegExp(`${number}${BETWEEN}(?:${escaped(spaced)})${BEHIND_WORD}`, 'diu'))
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
/** Words for "number" may belong to a title, as in "Kaiju No. 8" and "Agent Number 9"; the others are for one of many. */
const isForNumber = (word: string) => /^[nč№]|^номер/u.test(word)
const WORDS_FOR_ISSUE = wordsBefore('issue').filter((word) => !isForNumber(word))
const issueMarker = (words: readonly string[]) => `${START}(?:${escaped(words)})[.:]? {0,4}${DIGITS}${END}`
/** Followed by another number, it belongs to the title: "Kaiju No. 8 012". */
const BEFORE_NUMBER = ' {1,4}(?!(?:19|20)\\d\\d(?!\\d))\\d'
/** The same before a dash, where the other number has a zero in front, and is the last of the name: "Kaiju No. 8 - 012". */
const BEFORE_LAST_NUMBER = ` {1,4}[-–—] {1,4}0\\d{1,6}(?:\\.\\d{1,2})?[a-d]?[ ${YEAR_MARK}]{0,20}$`
const ISSUE_WORD = [
  new RegExp(`${issueMarker(WORDS_FOR_ISSUE)}(?!${BEFORE_NUMBER})`, 'diu'),
  new RegExp(`${issueMarker(wordsBefore('issue').filter(isForNumber))}(?!${BEFORE_NUMBER}|${BEFORE_LAST_NUMBER})`, 'diu'),
  new RegExp(`第 ?${DIGITS}`, 'du'),
  new RegExp(`${START}(?:sp|ova|hs) ?${DIGITS}${END}`, 'diu'),
]
const ISSUE_BEFORE_VOLUME = [new RegExp(issueMarker(WORDS_FOR_ISSUE), 'diu')]
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
/** Where a title begins: it may do so with a mark, or a number of its own. Not "Name 05 12", whose last number is that of the book. */
const MARKS = '(?:[&+] )?[^\\p{L}\\d\\s]{0,3}'
const TITLE = `${MARKS}(?:\\p{L}|\\d[\\d.,]{0,6} ?\\p{L})`
const CAPITAL = `${MARKS}(?:[\\p{Lu}\\p{Lo}]|\\d[\\d.,]{0,6} ?\\p{L})`

/** `Name - 01 - Title`, `Name 01`, `01. Title` and `01 - Title`: the most reliable first. */
const BARE = [
  new RegExp(`(?<=[^ ] {1,4}[-–—] {1,4})${DIGITS}(?= {1,4}[-–—] {1,4}[^ ])`, 'dgu'),
  new RegExp(`(?<=^|[ \\-.]|[${CJK}])${DIGITS}(?:[a-d]|v[2-9]|\\.[A-Z]{2,3}|AU|HU|INH|LR|MU|NOW)?$`, 'dgu'),
  new RegExp(`^ {0,4}${DIGITS}(?=\\. {0,4}[^ \\d.]| {1,4}[-–—] {1,4}[^ ])`, 'dgu'),
  new RegExp(`(?<=[^ ] {1,4})${DIGITS}(?= [-–—] [^ ]|: [^ ])`, 'dgu'),
  new RegExp(`(?<=[^ ] {1,4})${DIGITS}(?=b \\p{L})`, 'dgu'),
  new RegExp(`(?<=[${CJK}] )${DIGITS}(?= [${CJK}])`, 'dgu'),
  // The month in "National Geographic 2019-04 Title".
  /(?<= (?:19|20)\d\d-)(0[1-9]|1[0-2])(?= )/dgu,
]
/** `Name 010 Title`, `Name-03-Title` and `001 Title`. Without a zero it may be a word of the title, as in "Avengers 3 men"; three digits beside a year are a number. */
const BEFORE_TITLE = [
  new RegExp(`(?<=[^ ] {1,4})${DIGITS}(?=[a-d]?[.,;:]? ${TITLE})`, 'dgu'),
  new RegExp(`(?<=\\p{L}-)${DIGITS}(?=-${TITLE})`, 'dgu'),
  new RegExp(`^ {0,4}${DIGITS}(?=[a-d]?[.,;:]? ${TITLE})`, 'dgu'),
]
/** Behind these a number counts what the title names: "The 100 Girlfriends", "Les 101 Dalmatiens". */
const BEFORE_COUNT =
  'the of and or an in on for from with to by at my our his her their over under after before les des mes ses nos aux et de du en pour los las mis sus os as die der den und von mit im gli nel het van'
/** In front of these, as in "Batman 80 Page Giant" and "Fairy Tail 100 Years Quest". Not "X-Men 141 Days of Future Past". */
const BEHIND_COUNT = 'years pages page ans jahre años anni лет'
const COUNTED = new RegExp(`^[ -](?:${BEHIND_COUNT.replaceAll(' ', '|')})(?!\\p{L})`, 'iu')
const anyCase = (words: string) => words.replace(/\p{Ll}/gu, (letter) => `[${letter}${letter.toUpperCase()}]`).replaceAll(' ', '|')
const BEFORE_DATED_TITLE = [
  new RegExp(
    `(?<=[^ ] {1,4})([1-9]\\d\\d)(?<!(?<![\\p{L}\\d'’])(?:${anyCase(BEFORE_COUNT)}) \\d{3})(?=[a-d]? \\p{Lu})(?! (?:${anyCase(BEHIND_COUNT)})(?!\\p{L}))`,
    'dgu',
  ),
]
/** Where the name of the folder stands before it, or nothing, it needs no zero: `10 Title`, `Name 10 Title`, `Name - 10 Title` and `Name-10-Title`. */
const OWN_NUMBER = new RegExp(
  `(?<=^|[ \\-–—])([1-9]\\d{0,3}(?:\\.\\d{1,2})?)(?=[a-d]?[.,;:]? (?:[-–—] )?${CAPITAL}|(?<=\\p{L}-\\d{1,4})-\\p{L})`,
  'dgu',
)
/** "Saga 012 2013 Digital", in names without brackets. */
const BARE_YEAR = /(?<=\d) (?:19|20)\d\d(?= |$)/
/** Words that scanners append without brackets. */
const SCAN_WORDS = /(?: (?:c2c|ctc|noads|digital|webrip|scan|scans|hd|fixed|repack|fcbd|[完终終완]|完[结結]|완결|全集)){1,9}$/iu
/** "Vol 324 No 5": elsewhere, "no" without a dot is a word. */
const ISSUE_BEHIND_VOLUME = new RegExp(`^[ \\-–—.,:]*no ?${DIGITS}${END}`, 'diu')
/** Directly behind a volume: alone, with a zero, or before a dash. */
const BEHIND_VOLUME = new RegExp(`^[ \\-–—.,:]*${DIGITS}(?=[a-d]?(?:$|${YEAR_MARK}| [-–—] | ))`, 'du')
/** "X-Men v1 141 Days of Future Past (1981)" */
const DATED_TITLE = new RegExp(`^(?:[a-d] )?${MARKS}\\p{Lu}`, 'u')
/** In front of a volume, or of the year before it. Not "Gundam 00" and "Gundam 0079", whose zeros belong to the title. */
const BEFORE_VOLUME = [/(?<=[^ ] {1,4})(0(?=\d?[1-9]|[1-9]\d)\d{1,2}(?:\.\d{1,2})?)(?=[a-d]?[ \-–—.,:]{0,4}$)/dgu]
/** Beside a title, a fair where the book was sold: "[C97]". Chapters have a zero in front, and ranges a dash. */
const FAIR = /^c[1-9]\d{1,2}$/i

/**
 * Reads the numbers of a book from its name. The most exact one is the place in the series: `#N`, a chapter, a number at a place where names have one,
 * a part, a number in brackets; a volume only if there is no other. Brackets describe the file: a marker in them counts only if it is all they hold.
 * @param own what {@link ownNumber} found
 */
export function numbersInName({ free, groups }: PlainName, own: Found | null = null): NameNumbers {
  const { chapter: inText, exact } = exactIn(free)
  let volume = find(VOLUME, free)
  let number = exact ?? (volume ? besideVolume(free, volume) : placed(free, own))
  const isEmpty = !/[\p{L}\d]/u.test(free)
  const start = free.search(/[^ \u0001]/)
  // In front of a name stand its owners and events: (C86) is no chapter.
  const inner = isEmpty ? groups : groups.filter(({ at }) => at > start)
  const unsold = isEmpty ? groups : inner.filter(({ text }) => !FAIR.test(text))
  const chapter = inText ?? (number === null ? inGroups(CHAPTER, unsold, isEmpty ? /^/ : /\d\d|\p{L}{2}|\P{ASCII}/u) : null)
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
    const found = match && foundIn(match, from)
    if (found) return found
  }
  return null
}

function foundIn(match: RegExpExecArray, from = 0): Found | null {
  const group = match.findIndex((digits, index) => index > 0 && digits !== undefined)
  if (group === -1) return null
  const value = numberOf(match[group] as string)
  const end = match.indices?.[group]?.[1] ?? match.input.length
  // The second half of a chapter that appeared in two: 12b stands between 12 and 13.
  const isSecondHalf = Number.isInteger(value) && /^b(?![\p{L}\d])/u.test(match.input.slice(end, end + 3))
  return { value: isSecondHalf ? value + 0.5 : value, at: from + match.index, end: from + match.index + match[0].length }
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

/**
 * The number that stands before a title without a zero in front, as in `Tintin 10 Title`, in the folder of the series: before it, a name has nothing or the name of
 * the folder, or one of these two ends with the other. What else is in the folder makes no difference, so books that come later do not change it.
 * @param folder its name without brackets
 */
export function ownNumber(free: string, folder: string): Found | null {
  const name = wordsOf(folder)
  if (name === '') return null
  for (const match of free.matchAll(OWN_NUMBER)) {
    const digits = match[1] as string
    const [before, behind] = [wordsOf(free.slice(0, match.index)), free.slice(match.index + digits.length)]
    // In "The Best of 100 Bullets" a "100 Bullets" has no number.
    const isOwn =
      before === ''
        ? digits.length <= 3 && ![...name.matchAll(/\d+/g)].some(([other]) => other === digits)
        : ` ${name}`.endsWith(` ${before}`) || ` ${before}`.endsWith(` ${name}`)
    if (isOwn && !isYear(digits) && !COUNTED.test(behind)) return foundIn(match)
  }
  return null
}

const wordsOf = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()

/** A number at a place where names have one. */
function placed(free: string, own: Found | null): Found | null {
  const exact = find(ISSUE_WORD, free) ?? find(OF_HOW_MANY, free)
  if (exact) return exact
  const part = find(PART, free)
  // "Dune 2 Part 1": without a title between them, the part is the number.
  const owned = own && (!part || /[\p{L}\d]/u.test(free.slice(own.end, part.at))) ? own : null
  const isDated = free.includes(YEAR_MARK)
  const before = free.split(isDated ? YEAR_MARK : BARE_YEAR, 1)[0] as string
  const texts = [before, free.replaceAll(YEAR_MARK, ' ')].flatMap((text) =>
    part ? [text.slice(0, part.at), text.slice(part.end)] : [text],
  )
  for (const text of texts.map(trimmed)) {
    const padded = bare(text, true) ?? owned
    const number = padded ?? (part ? null : bare(text, false)) ?? (isDated ? bareIn(BEFORE_DATED_TITLE, text, false) : null)
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
  const isDated = free.includes(YEAR_MARK)
  const match = BEHIND_VOLUME.exec(behind)
  const digits = match?.[1] as string
  const rest = match ? trimmed(behind.slice(match[0].length).split(YEAR_MARK, 1)[0] as string).trimStart() : ''
  const isBeforeTitle = isDated && /^[1-9]\d\d$/.test(digits) && DATED_TITLE.test(rest) && !COUNTED.test(` ${rest}`)
  if (match && !isYear(digits) && (rest === '' || isPadded(digits) || isBeforeTitle || /^[-–—]/.test(rest)))
    return find([BEHIND_VOLUME], free, volume.end)
  const before = free.slice(0, volume.at)
  const issue = find(ISSUE_BEFORE_VOLUME, before) ?? find(OF_HOW_MANY, before) ?? directlyBefore(before)
  if (issue) return issue
  // "Rex 013 The Walk Book 2 (2016)": a story of several issues.
  const isStory = isDated && /^book/i.test(free.slice(volume.at))
  return isStory ? bareIn(BEFORE_TITLE, before, true) : null
}

const directlyBefore = (text: string) =>
  bareIn(BEFORE_VOLUME, text, true) ?? bareIn(BEFORE_VOLUME, text.split(YEAR_MARK, 1)[0] as string, true)

const bare = (text: string, padded: boolean) => bareIn(padded ? [...BARE, ...BEFORE_TITLE] : BARE, text, padded)

function bareIn(forms: readonly RegExp[], text: string, padded: boolean): Found | null {
  for (const form of forms) {
    // matchAll() would make each expression anew.
    form.lastIndex = 0
    for (let match = form.exec(text); match; match = form.exec(text)) {
      const digits = match[1] as string
      if (padded ? isPadded(digits) : !isYear(digits)) return foundIn(match)
    }
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

/** Also of Chinese and Japanese numbers, and of the first, middle and last of three volumes. */
function numberOf(digits: string): number {
  if (/^[-\d.]/.test(digits)) return Number(digits.replace(',', '.'))
  const ofThree = '上中下'.indexOf(digits)
  return ofThree === -1 ? hanNumber(digits) : ofThree + 1
}

/** A Chinese or Japanese number up to 999. */
export function hanNumber(digits: string): number {
  let sum = 0
  let one = 0
  for (const letter of digits) {
    const scale = letter === '百' ? 100 : letter === '十' ? 10 : 0
    if (scale > 0) sum += (one || 1) * scale
    one = scale > 0 ? 0 : HAN.indexOf(letter) + 1
  }
  return sum + one
}
