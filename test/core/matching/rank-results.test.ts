import fc from 'fast-check'
import t from 'tap'
import { CONFIDENCE_MIN, rankResults } from '#core/matching/rank-results.ts'
import { likeness, titlePreparer } from '#core/matching/title-likeness.ts'
import { threadCpuMs, watchTurns } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertEventually, assertInTime } from '#test/support/timed-property.ts'
import { titleSimilarity } from '../../../plugin-sdk/text.ts'

const wanted = (title: string, more = {}) => ({ title, alternateTitles: [], year: null, authors: [], isbn: null, ...more })

t.test('an equal record has a high confidence and another work a low one, whatever relevance the plugin gives', async (t) => {
  const cases: [title: string, found: object, more: object, isCertain: boolean][] = [
    ['Berserk', { title: 'Berserk' }, {}, true],
    ['Berserk', { title: 'berserk', relevance: 1 }, { year: 1989 }, true],
    ['The Sandman', { title: 'Sandman' }, {}, true],
    ['Attack on Titan', { title: 'Shingeki no Kyojin', alternateTitles: ['Attack on Titan'] }, {}, true],
    ['Shingeki no Kyojin', { title: 'Attack on Titan' }, { alternateTitles: ['Attack on Titan'] }, true],
    ['Berserk', { title: 'Something else', relevance: 1 }, {}, false],
    ['Dune', { title: 'Dune Messiah', relevance: 1 }, {}, false],
    ['Nana', { title: 'Nana', year: 2000 }, { year: 2015 }, true],
    ['Naruto', { title: 'Boruto', relevance: 1 }, {}, false],
  ]
  for (const [title, found, more, isCertain] of cases) {
    const [best] = await rankResults(wanted(title, more), [{ externalId: '1', title: '', ...found }])
    t.equal((best?.confidence ?? 0) >= CONFIDENCE_MIN, isCertain, `${title} and ${JSON.stringify(found)}: ${best?.confidence}`)
  }
})

t.test('the confidence is between 0 and 1, and the order is always the same', async () => {
  const result = fc.record({
    externalId: fc.string({ minLength: 1 }),
    title: fc.string(),
    year: fc.option(fc.integer({ min: -9999, max: 9999 })),
    relevance: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  await assertEventually(
    fc.asyncProperty(fc.string(), fc.option(fc.integer()), fc.array(result, { maxLength: 8 }), async (title, year, results) => {
      const ranked = await rankResults(wanted(title, { year }), results)
      const again = await rankResults(wanted(title, { year }), [...results].reverse())
      return (
        ranked.every(
          ({ confidence }, index) =>
            confidence >= 0 && confidence <= 1 && (index === 0 || (ranked[index - 1]?.confidence ?? 1) >= confidence),
        ) && ranked.map(({ confidence }) => confidence).join() === again.map(({ confidence }) => confidence).join()
      )
    }),
    { numRuns: 300 },
  )
})

t.test('titles are as similar as in the SDK, and each is prepared once', async () => {
  const title = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'é', '👪') }))
  assertInTime(
    fc.property(title, title, (a, b) => {
      const prepare = titlePreparer()
      return Math.abs(likeness(prepare(a), prepare(b)) - titleSimilarity(a, b)) < 1e-9
    }),
    { numRuns: 500 },
  )
})

t.test('ranking the largest answer against the most titles does not block the event loop', onlyCost, async (t) => {
  const long = (n: number) => `${n} ${'alternate title of a work that has many of them '.repeat(20)}`.slice(0, 1_000)
  const many = (count: number, from: number) => Array.from({ length: count }, (_, n) => long(from + n))
  const results = Array.from({ length: 210 }, (_, n) => ({ externalId: `${n}`, title: long(n), alternateTitles: many(60, n * 1_000) }))
  const turns = watchTurns()
  const begun = threadCpuMs()
  const ranked = await rankResults(wanted('Berserk', { alternateTitles: many(60, 0) }), results)
  const tookMs = threadCpuMs() - begun
  turns.close()
  t.equal(ranked.length, 200, 'entries beyond the limits are ignored')
  t.ok(tookMs < 30_000, `it took ${Math.round(tookMs)} ms`)
  t.ok(turns.longestMs() < 2_000, `other work waited at most ${Math.round(turns.longestMs())} ms`)
})
