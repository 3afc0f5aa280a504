import { readFileSync } from 'node:fs'
import t from 'tap'
import { ageRatingOf, renderAgeRatings } from '#workers/metadata/age-rating.ts'
import { readComicInfo } from '#workers/metadata/comic-info.ts'
import { readSeriesJson } from '#workers/metadata/series-json.ts'

const AGES: Record<string, number | undefined> = {
  ...{ Unknown: undefined, 'Rating Pending': undefined, Everyone: 0, G: 0, 'Early Childhood': 3, 'Kids to Adults': 6, PG: 8 },
  ...{ 'Everyone 10+': 10, Teen: 13, 'MA15+': 15, M: 17, 'Mature 17+': 17, 'R18+': 18, 'X18+': 18, 'Adults Only 18+': 18 },
}

t.test('every rating in the schemas of ComicInfo stands for an age, or for none', async (t) => {
  for (const version of ['2.0', '2.1-draft']) {
    const schema = readFileSync(new URL(`../../contract/opds/comicinfo/ComicInfo-${version}.xsd`, import.meta.url), 'utf8')
    const [, type = ''] = /<xs:simpleType name="AgeRating">(.*?)<\/xs:simpleType>/s.exec(schema) ?? []
    const values = [...type.matchAll(/enumeration value="([^"]*)"/g)].map(([, value = '']) => value)
    t.same(values.toSorted(), Object.keys(AGES).toSorted(), version)
    for (const value of values) {
      const { embedded } = readComicInfo('ComicInfo.xml', Buffer.from(`<ComicInfo><AgeRating>${value}</AgeRating></ComicInfo>`))
      t.equal(embedded.series?.fields?.ageRating, AGES[value], value)
    }
  }
})

t.test('ratings are read in the spellings that files use', async (t) => {
  for (const [text, age] of [
    ...([['everyone', 0], [' ALL AGES ', 0], ['All', 0], ['MA 15+', 15], ['mature17+', 17], ['adults-only', 18], ['Adult', 18]] as const),
    ...([['PG-13', 13], ['Teens', 13], ['T+', 16], ['Teen Plus', 16], ['Everyone10Plus', 10], ['TEEN (13+)', 13], ['NC-17', 18]] as const),
    ...([['12+', 12], ['16', 16], ['0', 0], ['99+', 99], ['16.0', 16], ['ages 9+', 9], ['Ages 9-12', 9], ['9 to 12', 9], ['+18', 18]] as const),
    ...([['15+ Only', 15], ['FSK 12', 12], ['PEGI 16', 16], ['R-18', 18], ['12 years and up', 12], ['\uff11\uff18\uff0b', 18]] as const),
  ])
    t.equal(ageRatingOf(text), age, text)
})

t.test('other words and numbers are no rating', async (t) => {
  for (const text of ['', ' ', 'unknown', 'rating-pending', 'Vol 3', '100', '100+', '-', '+', '12.5.1', 'under 18', `16${' '.repeat(200)}`, 'mature?!9'])
    t.equal(ageRatingOf(text), undefined, text)
  t.equal(ageRatingOf(undefined), undefined)
})

t.test('the page for parents has the table', async (t) => {
  t.ok(readFileSync(new URL('../../../docs/sharing.md', import.meta.url), 'utf8').includes(renderAgeRatings()), 'write it with: npm run readme')
})

t.test('series.json has an age as a number, as a word, or none', async (t) => {
  const read = (age_rating: unknown) => readSeriesJson(Buffer.from(JSON.stringify({ metadata: { name: 'S', age_rating } }))).series?.fields?.ageRating
  t.same([17, '17+', 'Adult', 'All', null, 'x', [18]].map(read), [17, 17, 18, 0, undefined, undefined, undefined])
})
