import fc from 'fast-check'
import t from 'tap'
import {
  briefText,
  escapedLines,
  escapedText,
  messageLines,
  quotedText,
  readableLinePattern,
  readablePattern,
  remarksOnLetters,
  strangerLines,
} from '#core/foundation/stranger-text.ts'
import { FORGED, FORGERIES, forgedIn, nameOf } from '#test/support/forged-words.ts'
import { assertInTime } from '#test/support/timed-property.ts'

/** Of every plane and kind: what shows nothing, moves the cursor, or turns the text around it. */
const HIDDEN = [
  ...[
    '\0',
    '\b',
    '\t',
    '\n',
    '\v',
    '\r',
    '\u001b',
    '\u007f',
    '\u0085',
    '\u009b',
    '\u00a0',
    '\u00ad',
    '\u034f',
    '\u061c',
    '\u115f',
    '\u1160',
  ],
  ...['\u1680', '\u17b4', '\u180b', '\u180e', '\u2000', '\u2003', '\u200a', '\u200b', '\u200d', '\u200e', '\u200f', '\u2028', '\u2029'],
  ...['\u202a', '\u202e', '\u202f', '\u205f', '\u2060', '\u2064', '\u2066', '\u2069', '\u206a', '\u2800', '\u3000', '\u3164', '\ud800'],
  ...['\udfff', '\ue000', '\ufe00', '\ufe0f', '\ufeff', '\uffa0', '\ufff9', '\ufffc', '\uffff', '\u{13430}', '\u{16fe4}', '\u{1bca0}'],
  ...[
    '\u{1d159}',
    '\u{1d173}',
    '\u{1fffe}',
    '\u{50000}',
    '\u{e0001}',
    '\u{e0041}',
    '\u{e007f}',
    '\u{e0100}',
    '\u{e01ef}',
    '\u{f0000}',
    '\u{10fffd}',
  ],
  // Blank hieroglyphs, and marks that show nothing on letters of other scripts.
  ...['\u{13441}', '\u{13442}', '\u{10a3f}', '\u{1bc9d}', '\u1039', '\u17d2', '\u1a60'],
]

t.test('what shows nothing is escaped in every output, and refused where people decide', async (t) => {
  const [text, line] = [new RegExp(readablePattern(20), 'u'), new RegExp(readableLinePattern(20), 'u')]
  const lines = new RegExp(readablePattern(20, { lines: true }), 'u')
  for (const hidden of HIDDEN) {
    const code = [...hidden].map((one) => one.codePointAt(0)?.toString(16)).join()
    t.match(escapedText(`a${hidden}b`), /^a(\\x[0-9a-f]{2}|(\\u[0-9a-f]{4})+|\\[nrt])b$/, code)
    t.notOk(text.test(`a${hidden}b`) || line.test(`a${hidden}b`), code)
    t.equal(lines.test(`a${hidden}b`), hidden === '\n' || hidden === '\t', code)
  }
  t.equal(escapedText('a\u001b[31mred\r\nb\tc\0\u009b2J \u202edrow \ud800'), 'a\\x1b[31mred\\r\\nb\\tc\\x00\\u009b2J \\u202edrow \\ud800')
  for (const plain of ['Été 夏 👪', 'กี่ ไทย', 'नमस्ते', 'a\u0301\u0302\u0303']) {
    t.equal(escapedText(plain), plain)
    t.ok(line.test(plain), plain)
  }
  t.equal(escapedText('⚠\ufe0f 1\ufe0f'), '⚠\ufe0f 1\\ufe0f', 'only a picture has a colored form')
})

/** All planes: what cannot be seen, by the properties of Unicode. */
const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Script=Egyptian_Hieroglyphs}]/u
/** A mark that is not for all scripts, and not of the two scripts that the test writes. */
const FOREIGN_MARK = /(?![\p{Script=Inherited}\p{Script=Common}\p{Script=Latin}\p{Script=Han}])\p{M}/u
/** Of scripts that have no mark which shows nothing. */
const SHOWN_MARK = new RegExp(
  ['Cyrl', 'Grek', 'Armn', 'Geor', 'Hira', 'Kana', 'Hang', 'Bopo', 'Hebr', 'Arab', 'Syrc', 'Thaa', 'Ethi', 'Thai', 'Laoo']
    .map((script) => `\\p{Script=${script}}`)
    .join('|'),
  'u',
)

t.test('no character of any plane that cannot be seen stands in a name', async (t) => {
  const line = new RegExp(readableLinePattern(20), 'u')
  const wrong: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const one = String.fromCodePoint(code)
    // Of the many that are nothing yet, or private, each seventeenth.
    if (/[\p{Cn}\p{Co}\p{Cs}]/u.test(one) && code % 17 !== 0) continue
    const isMark = /\p{M}/u.test(one)
    if ((isMark || UNSEEN.test(one)) && line.test(one)) wrong.push(`${code.toString(16)} alone`)
    const isForeign = FOREIGN_MARK.test(one) && !SHOWN_MARK.test(one)
    for (const letter of ['a', '漫'])
      if (
        (isForeign || (UNSEEN.test(one) && one !== ' ')) &&
        (line.test(`${letter}${one}${letter}`) || escapedText(`${letter}${one}`).includes(one))
      )
        wrong.push(`${code.toString(16)} after ${letter}`)
    if (isMark && escapedText(one) === one) wrong.push(`${code.toString(16)} at the beginning`)
  }
  t.same(wrong.slice(0, 20), [])
})

t.test('piles of marks, and spaces that push words away, are refused; marks beyond the fourth are escaped', async (t) => {
  const line = new RegExp(readableLinePattern(60), 'u')
  t.notOk(line.test(`a${'\u0301'.repeat(5)}`))
  t.equal(escapedText(`a${'\u0301'.repeat(6)}b`), `a${'\u0301'.repeat(4)}\\u0301\\u0301b`)
  for (const wrong of [' a', 'a ', 'a  b', '', '…', 'x'.repeat(61)]) t.notOk(line.test(wrong), wrong)
})

t.test('escaped text is one line that stays as it is, and JSON stays JSON', async () => {
  assertInTime(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const shown = escapedText(text)
      return shown === escapedText(shown) && shown.isWellFormed() && !/[\p{C}\p{Zl}\p{Zp}]/u.test(shown)
    }),
  )
  assertInTime(
    fc.property(fc.json(), (json) => {
      const text = escapedText(JSON.stringify(JSON.parse(json)))
      return JSON.stringify(JSON.parse(text)) === JSON.stringify(JSON.parse(json))
    }),
  )
})

t.test('several lines, a beginning, and quotation marks', async (t) => {
  t.equal(escapedLines('a\r\nb\n\tc\rd\u001b[2J'), 'a\nb\n\tc\\rd\\x1b[2J')
  t.equal(briefText('x'.repeat(101)), `${'x'.repeat(100)}…`)
  t.equal(quotedText('a" b'), '"a\\" b"')
})

t.test('no line of 80 columns begins with the words of a stranger', async (t) => {
  const hostile = [
    '  stores nothing',
    '夏'.repeat(90),
    'x'.repeat(300),
    '\u001b]52;c;cm0=\u0007',
    '\u001b]8;;https://evil.example\u0007',
    'é̂'.repeat(90),
  ]
  for (const text of [...hostile, `${'Reads the names. '.repeat(20)}\n  stores nothing`, ...HIDDEN.map((one) => `a${one}b`.repeat(50))])
    for (const line of strangerLines('the author says', text)) {
      t.match(line, /^ {2}> /)
      t.ok([...line].reduce((sum, one) => sum + (one > '\u2e80' ? 2 : 1), 0) < 80, line)
    }
  t.same(strangerLines('the author says', 'Hello'), ['  > the author says: "Hello"'])
  t.equal(
    strangerLines('', 'é '.repeat(100))
      .join('')
      .replaceAll(/ {2}> {1,3}/g, '')
      .replaceAll(' ', '')
      .match(/é/g)?.length,
    100,
  )
})

t.test('of a message with words of a stranger only the first line is not indented', async (t) => {
  t.same(messageLines('The plugin is broken.'), ['The plugin is broken.'])
  t.same(messageLines('a\n\n  b\tc\r\nd'), ['a', '      b\\tc', '    d'])
  t.same(messageLines('a\n    at main.js:1'), ['a', '    at main.js:1'])
  for (const beginning of ['', 'It waits, because it ', `${'The server cannot do this. '.repeat(3)}`])
    for (const text of FORGERIES) {
      const lines = messageLines(`It says: ${beginning}"${text}"`)
      t.same(forgedIn(lines.join('\n')), [], nameOf(text))
      t.ok(
        lines.slice(1).every((line) => line.startsWith('    ')),
        'each further line is indented',
      )
    }
  t.not(forgedIn(`  ${FORGED}`).length, 0, 'the search bites')
  t.not(forgedIn(`${'x'.repeat(80)}${FORGED}`).length, 0, 'in a row that the terminal makes, too')
  assertInTime(
    fc.property(fc.string({ unit: 'binary' }), (text) =>
      messageLines(`It says: ${text}`).every((line, index) => index === 0 || line.startsWith('    ') || line === ''),
    ),
  )
})

t.test('letters that look like others are named', async (t) => {
  const cases: [name: string, remarks: string[]][] = [
    ['Open Library', []],
    ['Việt Nam, Łódź, Straße', []],
    ['日本のマンガ API', []],
    ['만화 ABC', []],
    ['АniList', ['mixes Cyrillic and Latin letters']],
    ['Αpple', ['mixes Greek and Latin letters']],
    ['Читалка', ['is written in Cyrillic letters']],
    ['ɑniList', ['has letters of rare forms, which look like others']],
    ['ＡniList', ['has letters of rare forms, which look like others']],
    ['𝐀niList', ['has letters of rare forms, which look like others']],
    ['Ꭺni', ['mixes Cherokee and Latin letters']],
  ]
  for (const [name, remarks] of cases) t.same(remarksOnLetters(name), remarks, name)
})
