import fc from 'fast-check'
import t from 'tap'
import { boundMarks, cutText, normalizeText } from '#core/foundation/text.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'
import { MARKS_IN_A_ROW_MAX } from '../../../plugin-sdk/normalize-text.ts'

const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const
/** Quadratic work on these takes minutes. */
const ATTACK_LENGTH = 1_000_000
const SOON_MS = 3_000

const anyForm = fc.constantFrom(...FORMS)
/** Marks of several classes, letters before and between them, halves of characters. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .tuple(fc.constantFrom('\u0315', '\u0300', '\u0323', '\u0344', '\uff9e', '\u{1d165}', '\u{1e8d0}', '\u05b0'), fc.nat(70))
        .map(([mark, n]) => mark.repeat(n)),
      fc.constantFrom('e', 'が', '한', '\ufdfa', 'ﬁ', '\ud800', '\udc00'),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

t.test('cutting never splits a character', async (t) => {
  t.equal(cutText('abc', 2), 'ab')
  t.equal(cutText('a😀b', 2), 'a')
  t.equal(cutText('a😀b', 3), 'a😀')
  t.equal(normalizeText('a😀b', 2), 'a')
  t.equal(normalizeText('cafe\u0301 and more', 5), 'café')
  assertInTime(
    fc.property(anyText, fc.nat(200), (text, max) => {
      const cut = cutText(text, max)
      return text.startsWith(cut) && cut.length <= max && cut.length >= Math.min(text.length, max - 1)
    }),
  )
})

t.test('the result is the normal form of every text without long runs of marks', async (t) => {
  for (const text of ['', 'plain', 'e\u0301', 'が', '한국어', 'เก่ง', 'עִבְרִית', 'हिन्दी', '👩‍👩‍👧‍👦', 'ﬁ'])
    for (const form of FORMS) t.equal(normalizeText(text, 1_000, form), text.normalize(form), `${text} in ${form}`)
  assertInTime(
    fc.property(fc.string({ unit: 'grapheme' }), anyForm, (text, form) => normalizeText(text, 10_000, form) === text.normalize(form)),
  )
})

t.test('the result is a normal form, and normalizing it again changes nothing', async () => {
  assertInTime(
    fc.property(anyText, anyForm, (text, form) => {
      const bounded = boundMarks(text)
      const normal = normalizeText(text, 10_000, form)
      return normal === normal.normalize(form) && normal === bounded.normalize(form) && boundMarks(bounded) === bounded
    }),
  )
})

t.test('every character that decomposes into marks only counts as one mark', async (t) => {
  const missed: string[] = []
  for (let code = 0x80; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const character = String.fromCodePoint(code)
    if (!/^\p{M}+$/u.test(character.normalize('NFKD')) && !/^\p{M}+$/u.test(character.normalize('NFKC'))) continue
    if ([...boundMarks(character.repeat(MARKS_IN_A_ROW_MAX + 1))].length !== MARKS_IN_A_ROW_MAX) missed.push(code.toString(16))
  }
  t.same(missed, [])
})

t.test('runs of marks cost no more than other text', onlyCost, async (t) => {
  const attacks = {
    'marks in the wrong order': '\u0315\u0300',
    'marks of three classes': '\u0315\u0300\u0323',
    'a sign that becomes a mark, and one': '\uff9e\u0300',
    'marks of two units': '\u{1d165}\u{1d16e}\u{1e8d0}',
    'marks that are two': '\u0344\u0315',
  }
  for (const [name, unit] of Object.entries(attacks)) {
    const text = `a${unit.repeat(ATTACK_LENGTH / unit.length)}`
    for (const form of FORMS) {
      const start = threadCpuMs()
      normalizeText(text, ATTACK_LENGTH, form)
      const took = threadCpuMs() - start
      t.ok(took < SOON_MS, `${name} in ${form}: ${took.toFixed(0)} ms`)
    }
  }
  const runs = `${'\u0315\u0300'.repeat(MARKS_IN_A_ROW_MAX / 2)}a`.repeat(ATTACK_LENGTH / (MARKS_IN_A_ROW_MAX + 1))
  const start = threadCpuMs()
  normalizeText(runs, ATTACK_LENGTH)
  t.ok(threadCpuMs() - start < SOON_MS, 'nor do many runs of the longest allowed length')
})
