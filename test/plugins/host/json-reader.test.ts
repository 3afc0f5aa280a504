import fc from 'fast-check'
import t from 'tap'
import { JsonReader } from '#plugins/host/json-reader.ts'
import { jsonExcess } from '#plugins/packages/json-bounds.ts'
import { JSON_BOUNDS, JsonText, MAIN_LENGTH_MAX } from '#plugins/runtime/guest-text.ts'
import { watchTurns } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.setTimeout(240_000)

const SEARCH = 'metadata.series.search'
const answerOf = (count: number) => ({
  results: Array.from({ length: count }, (_, n) => ({
    externalId: `${n}`,
    title: 'Title '.repeat(100).trim(),
    alternateTitles: ['x'.repeat(200)],
  })),
})

t.test('long texts are parsed in a thread, with the same result', async (t) => {
  const reader = new JsonReader()
  t.teardown(() => reader.close())
  for (const count of [1, 90]) {
    const text = JSON.stringify(answerOf(count))
    t.equal(text.length > MAIN_LENGTH_MAX, count === 90)
    t.same(await reader.readResult(SEARCH, text), answerOf(count))
  }
  const long = `{"results":"${'x'.repeat(MAIN_LENGTH_MAX)}"}`
  await t.rejects(reader.readResult(SEARCH, long), { code: 'invalid_result', message: /an invalid answer: .*results/ })
  await t.rejects(reader.readResult(SEARCH, `{${'x'.repeat(MAIN_LENGTH_MAX)}`), { code: 'invalid_result' })
  const value = { list: Array(30_000).fill('x') }
  const payload = (await reader.readLarge('storage.set', JSON.stringify({ payload: { key: 'k', value, ttlSeconds: 5 } }))) as object
  t.match(payload, { key: 'k', ttlSeconds: 5 })
  const kept = (payload as { value: unknown }).value
  t.ok(kept instanceof JsonText)
  t.same(JSON.parse((kept as JsonText).text), value)
  t.same(await reader.readLarge('fetch', JSON.stringify({ payload: { body: 'x'.repeat(100_000) } })), { body: 'x'.repeat(100_000) })
  await t.rejects(reader.readLarge('fetch', '['.repeat(100_000)), { own: 'invalid_argument', message: /nested deeper/ })
})

t.test('texts that are costly to parse or check are not parsed in this thread', onlyCost, async (t) => {
  const reader = new JsonReader()
  t.teardown(() => reader.close())
  await reader.readResult(SEARCH, JSON.stringify(answerOf(90)))
  const ids = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`source ${n}`, `${n}`]))
  const costly: [method: string, text: string][] = [
    [SEARCH, '['.repeat(1_000_000)],
    [SEARCH, `[${'[],'.repeat(300_000)}[]]`],
    [SEARCH, `{"results":[${'{},'.repeat(300_000)}{}]}`],
    ['metadata.series.get', JSON.stringify({ externalId: '1', externalIds: ids(45_000) })],
    ['metadata.series.get', JSON.stringify({ externalId: '1', externalIds: ids(2_500) })],
    [SEARCH, `{"results":[${'{},'.repeat(20_000)}{}]}`],
    [SEARCH, `{"results":${'['.repeat(99)}${']'.repeat(99)}}`],
  ]
  const turns = watchTurns()
  for (const [method, text] of costly) await reader.readResult(method, text).catch(() => {})
  turns.close()
  t.ok(turns.longestMs() < 1_500, `the longest that this thread stood still is ${Math.round(turns.longestMs())} ms`)
})

t.test('what waits is refused when the reader closes, and so is more than the queue holds', async (t) => {
  const reader = new JsonReader()
  const text = JSON.stringify(answerOf(90))
  const outcomes = Promise.allSettled(Array.from({ length: 80 }, () => reader.readResult(SEARCH, text)))
  const failed = (await outcomes).filter(({ status }) => status === 'rejected')
  t.equal(failed.length, 80 - 65)
  t.match(failed[0], { reason: { code: 'invalid_result', message: /others are already queued/ } })
  const left = reader.readResult(SEARCH, text)
  reader.close()
  await t.rejects(left, { code: 'invalid_result', message: /stopping/ })
  await t.rejects(reader.readResult(SEARCH, text), { message: /stopping/ })
})

t.test('the scan counts the values that parsing would create', (t) => {
  const sizeOf = (value: unknown): { depth: number; values: number } => {
    if (value === null || typeof value !== 'object') return { depth: 0, values: 1 }
    const below = Object.values(value).map(sizeOf)
    return { depth: 1 + Math.max(0, ...below.map(({ depth }) => depth)), values: below.reduce((sum, { values }) => sum + values, 1) }
  }
  assertInTime(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      const text = JSON.stringify(value)
      const { depth, values } = sizeOf(value)
      const deep = jsonExcess(text, { depthMax: depth - 1, valuesMax: 1e9 })
      const many = jsonExcess(text, { depthMax: 1e9, valuesMax: values - 1 })
      // Brackets count as a value of their own: the count is never too low, and at most twice the real number.
      const fits = jsonExcess(text, { depthMax: depth, valuesMax: 2 * values + 1 })
      return (depth === 0 || deep !== null) && many !== null && fits === null
    }),
  )
  assertInTime(
    fc.property(fc.string({ unit: fc.constantFrom('[', '{', '"', '\\', ',', ']', '}') }), (text) => jsonExcess(text, JSON_BOUNDS) === null),
  )
  t.end()
})
