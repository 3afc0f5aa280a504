import t from 'tap'
import { isNameText } from '#core/foundation/name-text.ts'

/** The report of a test must not have the characters themselves: they break its lines. */
const codesOf = (text: string) => [...text].map((one) => one.codePointAt(0)?.toString(16)).join(' ')

t.test('names of every script are names', async (t) => {
  for (const name of [
    ...['Saga', 'L’Étranger', '進撃の巨人', 'مرحبا', 'א\u200fב', 'क्‍ष', '👩‍🚀', '🐉', '#1', '…', 'a\u00a0b', 'x\u200b', '\ue000', ''],
  ]) {
    t.equal(isNameText(name), true, codesOf(name))
  }
})

t.test('names contain no control characters, line ends and direction overrides', async (t) => {
  for (const bad of ['\n', '\r', '\t', '\u001b', '\u007f', '\u0085', '\u2028', '\u2029', '\u202e', '\u2066']) {
    t.equal(isNameText(`a${bad}b`), false, codesOf(bad))
  }
})

t.test('invisible characters alone are not a name', async (t) => {
  for (const bad of [
    '\u200b',
    '\u200d\u2060',
    '\ufeff',
    '\u00ad',
    '\u3164',
    '\ufe0f',
    '\u2800',
    ' \u200b ',
    '\u00a0',
    '\u{13441}\u{13442}',
    '\u{10a3f}',
    '\u{1d159}',
  ]) {
    t.equal(isNameText(bad), false, codesOf(bad))
  }
  for (let code = 0; code <= 0x10ffff; code++) {
    const one = String.fromCodePoint(code)
    if (/[\p{Z}\p{M}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(one) && isNameText(one)) t.fail(codesOf(one))
  }
})
