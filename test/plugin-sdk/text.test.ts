import fc from 'fast-check'
import t from 'tap'
import { readIsbns } from '#core/fields/isbn.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'
import { normalizeTitle, readDate, readIsbn, readIsbn13, readLanguage, titleSimilarity } from '../../plugin-sdk/text.ts'

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('the ', 'a ', 'an ', ' ', 'İ', 'ß', 'Σ', 'が', 'कि', "'", '&', '!', 'é', '\u0301') }),
)

t.test('titles are normalized before they are compared', async (t) => {
  for (const [title, expected] of [
    ['The Lord of the Rings', 'lord of the rings'],
    ['A', 'a'],
    ['The', 'the'],
    ['The The', 'the'],
    ['An A-Z of Cats', 'z of cats'],
    ['Theatre', 'theatre'],
    ['  Spaces\tand\u00a0more ', 'spaces and more'],
    ['Salt & Light', 'salt and light'],
    ['Don’t   Panic!', 'dont panic'],
    ["Don't panic", 'dont panic'],
    ['Amélie', 'amelie'],
    ['Ame\u0301lie', 'amelie'],
    ['Straße', 'strasse'],
    ['STRASSE', 'strasse'],
    ['Ærø og Łódź', 'aero og lodz'],
    ['Œuvres complètes', 'oeuvres completes'],
    ['İstanbul Hatırası', 'istanbul hatirasi'],
    ['ﬁve', 'five'],
    ['Ｆｕｌｌ　Ｗｉｄｔｈ', 'full width'],
    ['Ёлка и Йод', 'елка и иод'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['Όδος', 'οδοσ'],
    ['進撃の巨人', '進撃の巨人'],
    ['ガラスの仮面', 'ガラスの仮面'],
    ['ｶﾞﾗｽの仮面', 'ガラスの仮面'],
    ['나 혼자만 레벨업', '나 혼자만 레벨업'],
    ['गोदान', 'गोदान'],
    ['สี่แผ่นดิน', 'สี\u0e48แผ\u0e48นดิน'],
    ['أَلِف', 'الف'],
    ['שָׁלוֹם', 'שלום'],
    ['𝔇une', 'dune'],
    ['Vol. 3: 100% Cats', 'vol 3 100 cats'],
    ['!!!', '!!!'],
    ['?', '?'],
    ['', ''],
    [' \n', ''],
  ] as const)
    t.equal(normalizeTitle(title), expected, title)
  t.not(normalizeTitle('かき'), normalizeTitle('がき'), 'marks that form another letter stay')
  t.not(normalizeTitle('कल'), normalizeTitle('काल'))
})

t.test('normalizing is idempotent, in any case', async () => {
  assertInTime(fc.property(anyText, (text) => normalizeTitle(normalizeTitle(text)) === normalizeTitle(text)))
  assertInTime(fc.property(anyText, (text) => normalizeTitle(text.normalize('NFD')) === normalizeTitle(text.normalize('NFC'))))
  assertInTime(
    fc.property(fc.stringMatching(/^[a-zà-ÿ0-9 ]{0,40}$/), (text) => normalizeTitle(text.toUpperCase()) === normalizeTitle(text)),
  )
})

t.test('similar titles have a higher score than different ones', async (t) => {
  for (const [a, b, least, most] of [
    ['Dune', 'DUNE', 1, 1],
    ['The Hobbit', 'Hobbit', 1, 1],
    ['Attack on Titan', 'Attack on Titan, Vol. 1', 0.7, 0.95],
    ['Harry Potter and the Goblet of Fire', 'The Goblet of Fire, Harry Potter', 0.7, 0.99],
    ['進撃の巨人', '進撃の巨人 1', 0.7, 0.99],
    ['Dune', 'Emma', 0, 0],
    ['Dune', 'June', 0.3, 0.9],
    ['!!!', '!!!', 1, 1],
    ['!!!', '???', 0, 0],
    ['', '', 0, 0],
    ['', 'Dune', 0, 0],
    ['X', 'Y', 0, 0],
  ] as const) {
    const score = titleSimilarity(a, b)
    t.ok(score >= least && score <= most, `"${a}" and "${b}": ${score}`)
  }
  assertInTime(
    fc.property(anyText, anyText, (a, b) => {
      const score = titleSimilarity(a, b)
      return score >= 0 && score <= 1 && score === titleSimilarity(b, a)
    }),
  )
  assertInTime(fc.property(anyText, (text) => titleSimilarity(text, text) === (text.trim() === '' || normalizeTitle(text) === '' ? 0 : 1)))
})

t.test('long titles are fast', onlyCost, async (t) => {
  const at = threadCpuMs()
  titleSimilarity('the '.repeat(20_000), 'a very long title '.repeat(5_000))
  t.ok(threadCpuMs() - at < 2_000)
})

t.test('ISBNs are recognized, checked and converted', async (t) => {
  for (const [text, expected, thirteen] of [
    ['9780441172719', '9780441172719', '9780441172719'],
    ['978-0-441-17271-9', '9780441172719', '9780441172719'],
    ['978‐0‑441–17271 9', '9780441172719', '9780441172719'],
    ['ISBN 978 0441172719', '9780441172719', '9780441172719'],
    ['ISBN-13: 9780441172719', '9780441172719', '9780441172719'],
    ['urn:isbn:0441172717', '0441172717', '9780441172719'],
    ['0-8044-2957-x', '080442957X', '9780804429573'],
    ['9791032305690', '9791032305690', '9791032305690'],
    ['9780441172710', null, null],
    ['0441172718', null, null],
    ['0X41172717', null, null],
    ['4006381333931', null, null],
    ['978044117271', null, null],
    ['٩٧٨٠٤٤١١٧٢٧١٩', null, null],
    ['Dune', null, null],
    ['', null, null],
  ] as const) {
    t.equal(readIsbn(text), expected, text)
    t.equal(readIsbn13(text), thirteen, text)
  }
})

t.test('every ISBN has exactly one valid check digit, and the server reads the same ISBNs', async () => {
  const stem = fc.stringMatching(/^[0-9]{9}$/)
  assertInTime(
    fc.property(stem, fc.constantFrom('', '978', '979'), (digits, prefix) => {
      const valid = [...'0123456789X'].map((check) => `${prefix}${digits}${check}`).filter((isbn) => readIsbn(isbn) !== null)
      return valid.length === 1 && readIsbn13(valid[0] as string)?.length === 13
    }),
  )
  const digits = fc.stringMatching(/^(ISBN )?(97[89])?[-0-9 ]{9,13}[0-9Xx]?$/)
  assertInTime(
    fc.property(fc.oneof(digits, fc.string()), (text) => {
      if (/[,;]/.test(text)) return true
      return readIsbn(text) === (readIsbns(text).valid[0] ?? null)
    }),
    { numRuns: 500 },
  )
})

t.test('dates as in catalogs', async (t) => {
  const dates: [text: string, year: number | null, month?: number, day?: number][] = [
    ['1965', 1965],
    [' August 1965 ', 1965, 8],
    ['August 1, 1965', 1965, 8, 1],
    ['AUG. 1st 1965', 1965, 8, 1],
    ['1 Aug. 1965', 1965, 8, 1],
    ['2001 May 3', 2001, 5, 3],
    ['Sept 2001', 2001, 9],
    ['1965-08', 1965, 8],
    ['1965-08-01', 1965, 8, 1],
    ['1965-08-01T12:00:00Z', 1965, 8, 1],
    ['19650801', 1965, 8, 1],
    ['1965-08-00', 1965, 8],
    ['1965-00-00', 1965],
    ['c1965', 1965],
    ['©1965', 1965],
    ['[1965?]', 1965],
    ['(1965)', 1965],
    ['1965, reprinted 1965', 1965],
    // Ambiguous dates, and days that do not exist.
    ['01/08/1965', 1965],
    ['Feb 30, 2001', 2001],
    ['1965-13-01', 1965],
    ['Spring 1965', 1965],
    ['1965-1985', null],
    ['19--', null],
    ['1965 or 1966', null],
    ['may', null],
    ['', null],
    ['0012', null],
    ['12345', null],
    ['20013301', null],
    [`1965${' '.repeat(60)}`, null],
  ]
  for (const [text, year, month, day] of dates)
    t.same(readDate(text), year === null ? null : { year, ...(month && { month }), ...(day && { day }) }, JSON.stringify(text))
})

t.test('every date is read back, and invalid dates are never accepted', async (t) => {
  assertInTime(
    fc.property(fc.date({ min: new Date('1000-01-01'), max: new Date('2999-12-31'), noInvalidDate: true }), (date) => {
      const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]
      t.same(readDate(date.toISOString()), { year, month, day })
    }),
  )
  assertInTime(
    fc.property(fc.oneof(anyText, fc.string({ unit: fc.constantFrom('1', '9', '0', '-', ' ', 'may', ',', '.') })), (text) => {
      const date = readDate(text)
      if (date === null) return true
      const { year, month = 1, day = 1 } = date
      return new Date(Date.UTC(year, month - 1, day))
        .toISOString()
        .startsWith(`${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`)
    }),
  )
})

t.test('languages as in catalogs', async (t) => {
  const languages: [code: string, language: string | null][] = [
    ...([
      ['en', 'en'],
      ['eng', 'en'],
      ['ger', 'de'],
      ['deu', 'de'],
      ['chi', 'zh'],
      [' FRE ', 'fr'],
    ] as [string, string][]),
    ...([
      ['pt_BR', 'pt-BR'],
      ['zh-hant-tw', 'zh-Hant-TW'],
      ['grc', 'grc'],
    ] as [string, string][]),
    ...(['und', 'mul', 'zxx', 'mis', '', 'x', 'english', 'e n', '/languages/eng', 'de--at'].map((code) => [code, null]) as [
      string,
      null,
    ][]),
  ]
  for (const [code, language] of languages) t.equal(readLanguage(code), language, JSON.stringify(code))
  assertInTime(
    fc.property(anyText, (text) => readLanguage(text) === null || readLanguage(readLanguage(text) as string) === readLanguage(text)),
  )
})
