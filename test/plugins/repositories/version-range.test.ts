import fc from 'fast-check'
import compare from 'semver/functions/compare.js'
import t from 'tap'
import { emptinessOf, RANGE_LENGTH_MAX, readRange } from '#plugins/repositories/version-range.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost, sizeOf } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const holds = (version: string, text: string, preReleases = false): boolean => {
  const range = readRange(text, { preReleases })
  if (range === null) throw new Error(`${text} is not a range`)
  return range.test(version)
}

/** Ranges with versions inside and outside of them, by npm's rules. */
const TABLE: [text: string, within: string[], without: string[]][] = [
  ['1.2.3', ['1.2.3'], ['1.2.4', '1.2.2', '2.2.3', '1.2.3-rc.1']],
  ['=1.2.3', ['1.2.3'], ['1.2.4']],
  ['= 1.2.3', ['1.2.3'], ['1.2.4']],
  ['>1.2.3', ['1.2.4', '2.0.0', '1.3.0'], ['1.2.3', '1.2.2', '1.2.4-rc.1']],
  ['>=1.2.3', ['1.2.3', '9.0.0'], ['1.2.2', '1.2.3-rc.1', '2.0.0-rc.1']],
  ['<1.2.3', ['1.2.2', '0.0.0'], ['1.2.3', '1.2.3-rc.1', '1.0.0-rc.1']],
  ['<=1.2.3', ['1.2.3', '0.9.9'], ['1.2.4', '1.2.3-rc.1']],
  ['^1.2.3', ['1.2.3', '1.2.4', '1.99.0'], ['1.2.2', '2.0.0', '2.0.0-rc.1', '0.9.0']],
  ['^0.2.3', ['0.2.3', '0.2.9'], ['0.2.2', '0.3.0', '1.0.0']],
  ['^0.0.3', ['0.0.3'], ['0.0.4', '0.0.2', '0.1.0']],
  ['^1.2', ['1.2.0', '1.9.9'], ['1.1.9', '2.0.0']],
  ['^1', ['1.0.0', '1.9.9'], ['0.9.9', '2.0.0']],
  ['^0.1', ['0.1.0', '0.1.9'], ['0.2.0', '0.0.9']],
  ['^0.0', ['0.0.0', '0.0.9'], ['0.1.0']],
  ['^0', ['0.0.0', '0.9.9'], ['1.0.0']],
  ['~1.2.3', ['1.2.3', '1.2.9'], ['1.2.2', '1.3.0', '1.3.0-rc.1']],
  ['~1.2', ['1.2.0', '1.2.9'], ['1.3.0', '1.1.9']],
  ['~1', ['1.0.0', '1.9.9'], ['2.0.0', '0.9.9']],
  ['~0.2.3', ['0.2.3', '0.2.4'], ['0.3.0', '0.2.2']],
  ['1.2', ['1.2.0', '1.2.9'], ['1.3.0', '1.1.0']],
  ['1.2.x', ['1.2.0', '1.2.9'], ['1.3.0']],
  ['1.x', ['1.0.0', '1.9.9'], ['2.0.0', '0.9.9', '1.0.0-rc.1']],
  ['1.*.*', ['1.0.0', '1.9.9'], ['2.0.0']],
  ['1', ['1.0.0', '1.9.9'], ['2.0.0']],
  ['>1', ['2.0.0'], ['1.9.9']],
  ['>1.2', ['1.3.0'], ['1.2.9']],
  ['>=1.2', ['1.2.0'], ['1.1.9']],
  ['<=1.2', ['1.2.9'], ['1.3.0']],
  ['<1.2', ['1.1.9'], ['1.2.0']],
  ['*', ['0.0.0', '9.9.9'], ['1.0.0-rc.1']],
  ['X', ['1.0.0'], []],
  ['>=*', ['1.0.0'], []],
  ['<*', [], ['0.0.0', '1.0.0']],
  ['>*', [], ['1.0.0']],
  ['>=1.0 <3', ['1.0.0', '2.9.9'], ['0.9.9', '3.0.0', '3.0.0-rc.1']],
  ['>= 1.0   <  3', ['1.0.0', '2.9.9'], ['3.0.0']],
  ['1.x || 3.1.0', ['1.5.0', '3.1.0'], ['2.0.0', '3.1.1']],
  ['<1||>=2 <2.5||^4.1.0', ['0.1.0', '2.4.9', '4.2.0'], ['1.0.0', '2.5.0', '4.0.9']],
  ['>2 <1', [], ['1.5.0', '0.1.0', '3.0.0']],
  ['1.2 - 2.0.5', ['1.2.0', '2.0.5'], ['1.1.9', '2.0.6']],
  ['v1.2.3', ['1.2.3'], ['1.2.4']],
  ['1.2.3-rc.1', ['1.2.3-rc.1'], ['1.2.3', '1.2.3-rc.2']],
  ['^1.2.3-rc.2', ['1.2.3-rc.2', '1.2.3-rc.10', '1.2.3', '1.9.0'], ['1.2.3-rc.1', '1.2.4-rc.5', '2.0.0', '1.2.3-alpha']],
  ['>=1.2.3-rc.2', ['1.2.3-rc.3', '1.2.3', '2.0.0'], ['1.2.3-beta', '1.2.4-rc.3']],
  ['~0.0.1-a', ['0.0.1-a', '0.0.1-b', '0.0.1', '0.0.9'], ['0.1.0', '0.0.2-b']],
  ['<1.2.3-rc.2', ['1.2.3-rc.1', '1.2.2'], ['1.2.3-rc.2', '1.2.3', '1.2.2-rc.1']],
]

t.test('ranges contain versions by npm’s rules', async (t) => {
  for (const [text, within, without] of TABLE) {
    for (const version of within) t.equal(holds(version, text), true, `${version} is in ${text}`)
    for (const version of without) t.equal(holds(version, text), false, `${version} is not in ${text}`)
  }
})

t.test('in revoked ranges, pre-releases are compared by order', async (t) => {
  const cases: [version: string, text: string, within: boolean][] = [
    ['1.2.3-rc.1', '<1.2.3', true],
    ['1.2.3-rc.1', '>=1.2.3', false],
    ['1.0.0-rc.1', '1.x', true],
    ['2.0.0-rc.1', '1.x', false],
    ['2.0.0-rc.1', '^1.2.3', false],
    ['1.5.0-rc.1', '^1.2.3', true],
    ['2.0.0-rc.1', '>1', true],
    ['1.0.0-rc.1', '<1', false],
    ['1.0.0-rc.1', '*', true],
  ]
  for (const [version, text, within] of cases) t.equal(holds(version, text, true), within, `${version} in ${text}`)
})

t.test('invalid ranges are refused', async (t) => {
  const bad = [
    ...['', ' ', '||', '1.0.0 ||', '|| 1.0.0', '1.0.0 | 2.0.0', 'latest', '1.0.0.0', '01.0.0', '1.0.00', '-1', '1.-1.0'],
    ...['=>1.0.0', '><1.0.0', '>', '^', '>=', '^^1.0.0', '^ ~1.0.0', '1.0-rc.1', '1.x-rc.1', '1.x.3', 'x.1', '*.1.0', '1..0'],
    ...['1.0.0-', '1.0.0-01', '1.0.0-a..b', '1.0.0\n', '\n1.0.0', '1.0.0\t||\n2', '1.0.0\u00a0', '１.0.0', '90071992547409910.0.0', '1e3'],
    ...['>=1.0.0<2.0.0', '(1.0.0)', '1.0.0,2.0.0', '!1.0.0', '1.0.0;', 'NaN', 'null'],
    ...['^'.repeat(RANGE_LENGTH_MAX + 1), '1.0.0 '.repeat(200), '1 '.repeat(21)],
  ]
  for (const text of bad) t.equal(readRange(text), null, encodeURI(JSON.stringify(text)).slice(0, 60))
  t.not(readRange('1 '.repeat(20)), null, 'twenty conditions are allowed')
})

t.test('hostile ranges are parsed fast', onlyCost, async (t) => {
  const nasty = [
    '>'.repeat(RANGE_LENGTH_MAX),
    '>= '.repeat(66),
    `1.0.0-${'-'.repeat(190)}`,
    `1.0.0-${'0a'.repeat(95)}!`,
    '|'.repeat(200),
    ' '.repeat(200),
  ]
  const started = threadCpuMs()
  for (const text of nasty) for (let times = 0; times < 100; times++) readRange(text)
  t.ok(threadCpuMs() - started < 1_000, 'six hundred of them within a second')
})

const number = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 999_999 }))
const core = fc.tuple(number, number, number)
const words = fc.array(fc.constantFrom('0', '1', '9', '10', 'a', 'b', 'rc', 'x-y', '0a'), { minLength: 1, maxLength: 3 })
const version = fc.tuple(core, fc.option(words)).map(([numbers, pre]) => numbers.join('.') + (pre ? `-${pre.join('.')}` : ''))

t.test('every version and every range', async () => {
  assertInTime(
    fc.property(version, version, (a, b) => {
      const order = compare(a, b)
      const by = (sign: string) => holds(a, `${sign}${b}`, true)
      const expected = { '>': order > 0, '>=': order >= 0, '<': order < 0, '<=': order <= 0, '=': order === 0, '': order === 0 }
      for (const [sign, within] of Object.entries(expected)) if (by(sign) !== within) return false
      // Caret and tilde contain only later versions, tilde fewer than caret, and both contain the version itself.
      if (by('^') && !by('>=')) return false
      if (by('~') && !by('>=')) return false
      if (!a.startsWith('0.') && by('~') && !by('^')) return false
      if (!holds(b, `^${b}`) || !holds(b, `~${b}`)) return false
      // A union contains no less than each part, an intersection no more.
      if (holds(a, `${b} || ${a}`) !== true) return false
      if (holds(a, `>=${b} <=${b}`, true) !== (order === 0)) return false
      // Excluding pre-releases only removes versions.
      return ['^', '~', '>=', '<=', '>', '<'].every((sign) => !holds(a, `${sign}${b}`) || by(sign))
    }),
    { numRuns: sizeOf('pairs of versions', { main: 400, full: 2_000 }) },
  )
})

t.test('any text is parsed as a range or refused, without exceptions', async () => {
  const pieces = fc.constantFrom('>', '<', '=', '^', '~', '|', '||', ' ', '.', '-', '*', 'x', '0', '1', '12', 'rc', '1.2.3', '\t')
  assertInTime(
    fc.property(
      fc.oneof(
        fc.string({ maxLength: 250 }),
        fc.array(pieces, { maxLength: 30 }).map((all) => all.join('')),
      ),
      version,
      (text, one) => {
        const read = readRange(text)
        return read === null || typeof read.test(one) === 'boolean'
      },
    ),
    { numRuns: sizeOf('texts of ranges', { main: 600, full: 3_000 }) },
  )
})

t.test('ranges that would revoke nothing', async (t) => {
  for (const text of ['1.0.0-2.4.0', '1.0.0-2', 'v1.0.0-v2.0.0', '<1 || 1.0.0-2.4.0'])
    t.match(emptinessOf(text), /spaces around the hyphen/, text)
  for (const text of ['<*', '>*', '>2 <1', '<0.0.0-0', '>2 <1 || <*']) t.equal(emptinessOf(text), 'matches no version', text)
  for (const text of ['*', '1.0.0 - 2.4.0', '=1.0.0-2', '>=1.0.0-2 <1.0.0', '1.2.3-rc.1', '<1.2.0', '<0.0.1', '>2 <1 || 1.x', '^1.2.3-4.5'])
    t.equal(emptinessOf(text), null, text)
})
