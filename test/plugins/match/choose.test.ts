import fc from 'fast-check'
import t from 'tap'
import { CONFIDENCE_MIN, rankResults } from '#plugins/match/choose.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const wanted = (title: string, more = {}) => ({ title, alternateTitles: [], year: null, authors: [], isbn: null, ...more })

t.test('what is the same is certain, what is another work is not, whatever the plugin says', async (t) => {
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
    const [best] = rankResults(wanted(title, more), [{ externalId: '1', title: '', ...found }])
    t.equal((best?.confidence ?? 0) >= CONFIDENCE_MIN, isCertain, `${title} and ${JSON.stringify(found)}: ${best?.confidence}`)
  }
})

t.test('confidence lies between 0 and 1, and the order is always the same', async () => {
  const result = fc.record({
    externalId: fc.string({ minLength: 1 }),
    title: fc.string(),
    year: fc.option(fc.integer({ min: -9999, max: 9999 })),
    relevance: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  assertInTime(
    fc.property(fc.string(), fc.option(fc.integer()), fc.array(result, { maxLength: 8 }), (title, year, results) => {
      const ranked = rankResults(wanted(title, { year }), results)
      const again = rankResults(wanted(title, { year }), [...results].reverse())
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
