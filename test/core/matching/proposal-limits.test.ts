import t from 'tap'
import { mergedFact } from '#core/matching/fact.ts'
import { ALTERNATE_TITLES_MAX } from '#core/metadata/limits.ts'
import { NAMES_MAX } from '#core/metadata/name.ts'

type Titles = { label: string; title: string }[]
const titlesOf = (count: number, start = 0): Titles =>
  Array.from({ length: count }, (_entry, index) => ({ label: 'Synonym', title: `Título ${start + index} ${'größer '.repeat(100)}` }))

t.test('titles, genres and tags are merged in linear time, however many are given', async (t) => {
  for (const count of [500, 5_000]) {
    const begun = process.cpuUsage()
    const known = (count: number) => ({ value: titlesOf(count), givers: {} })
    const { value: merged } = mergedFact('alternateTitles', known(10), titlesOf(count, 5))
    t.equal(merged.length, ALTERNATE_TITLES_MAX)
    t.same(merged.slice(0, 10), titlesOf(10), 'what is there stays')
    t.equal(
      mergedFact('alternateTitles', known(count), titlesOf(count, count)).value.length,
      count,
      'what is beyond the limit already stays',
    )
    const names = titlesOf(count).map(({ title }) => title)
    t.equal(
      mergedFact('genres', { value: names, givers: {} }, [...names].reverse()).value.length,
      count,
      'what people gave stays, however much',
    )
    t.equal(mergedFact('genres', { value: [], givers: {} }, names).value.length, NAMES_MAX)
    const ms = process.cpuUsage(begun).user / 1000
    t.comment(`${count}: ${Math.round(ms)} ms`)
    // Each compared with each would be 25 million times two texts of 700 characters.
    t.ok(ms < 5_000)
  }
})
