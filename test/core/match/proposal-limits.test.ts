import t from 'tap'
import { mergedFact } from '#core/match/proposal.ts'
import { ALTERNATE_TITLES_MAX } from '#core/metadata/limits.ts'

type Titles = { label: string; title: string }[]
const titlesOf = (count: number, start = 0): Titles =>
  Array.from({ length: count }, (_entry, index) => ({ label: 'Synonym', title: `Título ${start + index} ${'größer '.repeat(100)}` }))

t.test('titles, genres and tags are merged in linear time, however many are given', async (t) => {
  for (const count of [500, 5_000]) {
    const begun = process.cpuUsage()
    const merged = mergedFact('alternateTitles', titlesOf(10), titlesOf(count, 5))
    t.equal(merged.length, ALTERNATE_TITLES_MAX)
    t.same(merged.slice(0, 10), titlesOf(10), 'what is there stays')
    t.equal(mergedFact('alternateTitles', titlesOf(count), titlesOf(count, count)).length, count, 'what is beyond the limit already stays')
    const names = titlesOf(count).map(({ title }) => title)
    t.equal(mergedFact('genres', names, [...names].reverse()).length, count)
    const ms = process.cpuUsage(begun).user / 1000
    t.comment(`${count}: ${Math.round(ms)} ms`)
    // Each compared with each would be 25 million times two texts of 700 characters.
    t.ok(ms < 5_000)
  }
})
