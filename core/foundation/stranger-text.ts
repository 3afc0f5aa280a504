import { cutText, normalizeText } from '#core/foundation/text.ts'

/**
 * The one printer of strangers' words: of everything that authors of plugins, repositories and services wrote and that stands beside words of this
 * program, in terminals, messages, logs and pages. Such a text must not look like the program's, and must not hide anything.
 */

/**
 * The members of a class in a regular expression: characters that show nothing, or change how others are shown. Controls, formats (direction marks,
 * zero-width ones, tags), halves of characters, private and unassigned ones, all separators and spaces, whatever may be ignored, hieroglyphs (of which
 * some are blank, and others arrange their neighbors), and the three symbols that Unicode defines as blank. The ordinary space is exempt.
 */
const SHOWS_NOTHING = '\\p{C}\\p{Z}\\p{Default_Ignorable_Code_Point}\\p{sc=Egyp}\\u2800\\ufffc\\u{1d159}'
/** The scripts whose marks can all be seen on any letter. Some of the others have marks that only arrange letters of the same script. */
const PLAIN_MARKS = 'Zyyy Latn Cyrl Grek Armn Geor Hani Hira Kana Hang Bopo Hebr Arab Syrc Thaa Ethi Thai Laoo'
  .split(' ')
  .map((script) => `\\p{sc=${script}}`)
  .join('')
/** No spelling of a living language has more; a longer pile covers the lines above and below. */
const MARKS_MAX = 4
/** Marks beyond the limit; without a letter, so that they change what stands before the text; of a script that the letter does not belong to, where they can show nothing. */
const STRAY_MARK = [
  `(?<=\\p{M}{${MARKS_MAX}})`,
  '(?<![\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}])',
  `(?<=(?:^|[${PLAIN_MARKS}${SHOWS_NOTHING}])\\p{M}{0,${MARKS_MAX}})(?![${PLAIN_MARKS}\\p{sc=Zinh}])`,
].join('|')
/** What is refused where people decide, and escaped in every output. */
const HIDDEN = `(?! )[${SHOWS_NOTHING}]|(?=\\p{M})(?:${STRAY_MARK})\\p{M}`

/**
 * The pattern of a text that people read before they agree to something; a text of several lines keeps its line ends and tabs. Lengths are counted
 * in code points here, because `maxLength` counts graphemes, and one grapheme may consist of thousands of code points.
 */
export const readablePattern = (length: number, { lines = false } = {}): string =>
  `^(?![\\s\\S]*${lines ? '(?![\\n\\t])' : ''}(?:${HIDDEN}))[\\s\\S]{0,${length}}$`

/** The same for one line that says something: with a letter or digit, and no spaces that push a part of it away. */
export const readableLinePattern = (length: number): string =>
  `^(?=[^\\p{L}\\p{N}]*[\\p{L}\\p{N}])(?! |.* $|.*  )${readablePattern(length).slice(1)}`

/** What both patterns refuse, in words. */
export const UNREADABLE =
  'control, direction and invisible characters, special spaces, hieroglyphs, marks that do not belong to the letter before them, and letters with more than four marks'

const PLAIN = /^[ -~]*$/
/** The sign after a picture only chooses its colored form. */
const ESCAPED = new RegExp(`(?!\\ufe0f(?<=\\p{Extended_Pictographic}\\ufe0f))(?:${HIDDEN})`, 'gu')
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** By units of UTF-16, as in JSON: a text that is JSON stays JSON, and is whole evidence. */
function numbered(found: string): string {
  const code = found.charCodeAt(0)
  if (code < 0x20) return SHORT[found] ?? `\\x${code.toString(16).padStart(2, '0')}`
  return `\\u${code.toString(16).padStart(4, '0')}${found.length > 1 ? numbered(found.charAt(1)) : ''}`
}

/** One line, in which every character that shows nothing is written as its number. Escaping a text again changes nothing. */
export const escapedText = (text: string): string => (PLAIN.test(text) ? text : text.replace(ESCAPED, numbered))

/** The same for a text of several lines, whose line ends and tabs stay. */
export const escapedLines = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .split(/([\n\t])/)
    .map((part) => (part === '\n' || part === '\t' ? part : escapedText(part)))
    .join('')

/** The beginning of a text, for a message: longer ones tell nothing more. */
export const briefText = (text: string, lengthMax = 100): string =>
  escapedText(text.length > lengthMax ? `${cutText(text, lengthMax)}…` : text)

/** Enough to recognize a value. */
const VALUE_LENGTH_MAX = 60

/** A value as JSON, which shows its type too, for a message that says what was given in place of something else. Not for secrets. */
export const briefJson = (value: unknown): string => briefText(JSON.stringify(value) ?? 'nothing', VALUE_LENGTH_MAX)

/** A text in quotation marks, which it cannot end by itself. */
export const quotedText = (text: string): string => `"${escapedText(text).replaceAll('"', '\\"')}"`

/** The width for which lines are made; terminals that are narrower are rare. */
const COLUMNS = 80
/** Begins each line with words of a stranger; no line of the program begins with it. */
const AUTHOR_MARK = '  > '
/** Begins each further line of a line of the program; none of its first lines is indented so far. */
const INDENT = '    '

/** Wide characters take two columns; that some others count two as well makes lines only shorter. */
const columnsOf = (character: string): number => (character < '\u0300' ? 1 : 2)
const widthOf = (word: string): number => [...word].reduce((sum, character) => sum + columnsOf(character), 0)

/** Wraps a text after the beginning of a line; each further line begins with `indent`. */
function wrap(beginning: string, text: string, indent: string): string[] {
  const lines: string[] = []
  let line = beginning
  let columns = widthOf(line)
  const next = () => {
    lines.push(line.trimEnd())
    line = indent
    columns = indent.length
  }
  for (const word of text.split(/(?<= )/)) {
    const width = widthOf(word.trimEnd())
    if (columns + width >= COLUMNS && width < COLUMNS - indent.length) next()
    for (const character of word) {
      if (columns + columnsOf(character) >= COLUMNS) {
        // A space ends the line; the next begins after it.
        if (character === ' ') continue
        next()
      }
      line += character
      columns += columnsOf(character)
    }
  }
  return [...lines, line.trimEnd()]
}

/**
 * The words of a stranger as lines of their own: marked, quoted, and wrapped here, so that no terminal of 80 columns makes a line that begins with them.
 * @param label who says it, such as `the author says`
 */
export const strangerLines = (label: string, text: string): string[] =>
  wrap(`${AUTHOR_MARK}${label}: `, quotedText(text), `${AUTHOR_MARK}  `)

/**
 * A message of ours with words of a stranger in it, such as an error or a line of a log, as lines: only the first is not indented. A line end in it
 * begins an indented line too.
 */
export function messageLines(message: string): string[] {
  const [first = '', ...others] = escapedLines(message).replaceAll('\t', '\\t').split('\n')
  return [
    ...wrap('', first, INDENT),
    ...others.flatMap((line) => (line === '' ? [] : wrap(line.startsWith(INDENT) ? '' : INDENT, line, `${INDENT}  `))),
  ]
}

const scripts = (names: string): (readonly [string, RegExp])[] =>
  names.split(' ').map((name) => [name.replaceAll('_', ' '), new RegExp(`\\p{Script=${name}}`, 'u')] as const)
/** The scripts of living languages; letters of the others are "another script". */
const SCRIPTS = [
  ...scripts('Latin Cyrillic Greek Armenian Georgian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu'),
  ...scripts('Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Ethiopic Cherokee Canadian_Aboriginal Mongolian Khmer Coptic Lisu Vai'),
  ...scripts('Han Hiragana Katakana Hangul Bopomofo Yi'),
]
/** Written together in one text; the Latin script too. */
const EAST_ASIAN = new Set(['Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo'])
/** Extensions of the Latin script for phonetics and old texts, many of which look like ordinary letters. */
const RARE_LATIN = /[\u0180-\u024f\u0250-\u02af\u1d00-\u1dbf\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f]/
/** Romanian and Azerbaijani, among living languages with many readers, use these of them. */
const KNOWN_LATIN = /[ơưƠƯșțȘȚəƏ]/g

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** No name of a manifest or index is longer. */
const NAME_LENGTH_MAX = 1_000

/** What a person should know about the letters of a name that could pass for another name. */
export function remarksOnLetters(name: string): string[] {
  if (PLAIN.test(name)) return []
  const letters = [...name].filter((character) => /(?![\p{Script=Common}\p{Script=Inherited}])[\p{L}\p{M}]/u.test(character))
  const found = new Set(letters.map((letter) => SCRIPTS.find(([, script]) => script.test(letter))?.[0] ?? 'other'))
  const unusual = [...found].filter((script) => script !== 'Latin' && !EAST_ASIAN.has(script))
  const remarks: string[] = []
  if (unusual.length > 0) remarks.push(`${found.size > 1 ? 'mixes' : 'is written in'} ${listed([...found])} letters`)
  if (
    normalizeText(name, NAME_LENGTH_MAX, 'NFKC') !== normalizeText(name, NAME_LENGTH_MAX) ||
    RARE_LATIN.test(name.replace(KNOWN_LATIN, ''))
  )
    remarks.push('has letters of rare forms, which look like others')
  return remarks
}
