import { readFileSync } from 'node:fs'
import t from 'tap'
import { ageRatingOf, renderAgeRatings } from '#core/fields/age-rating.ts'
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

const SPELLINGS: readonly (readonly [age: number, texts: readonly string[]])[] = [
  [0, ['everyone', ' ALL AGES ', 'All', '0', '0+']],
  [9, ['ages 9+', 'Ages 9-12', '9 to 12']],
  [10, ['Everyone10Plus', 'everyone_10+']],
  [12, ['12+', 'FSK 12', '12 years and up', 'ab 12 Jahren']],
  [13, ['PG-13', 'Teens', 'TEEN (13+)']],
  [15, ['MA 15+', '15+ Only']],
  [16, ['16', '16.0', 'T+', 'Teen Plus', 'PEGI 16']],
  [17, ['mature17+', 'R']],
  [18, ['adults-only', 'Adult', 'NC-17', '+18', 'R-18', '\uff11\uff18\uff0b']],
  [99, ['99+']],
]

t.test('ratings are read in the spellings that files use', async (t) => {
  for (const [age, texts] of SPELLINGS) for (const text of texts) t.equal(ageRatingOf(text), age, text)
})

t.test('other words and numbers are no rating', async (t) => {
  for (const text of [
    '',
    ' ',
    'unknown',
    'rating-pending',
    'Vol 3',
    '100',
    '100+',
    '-',
    '+',
    '12.5.1',
    'under 18',
    `16${' '.repeat(200)}`,
    'mature?!9',
  ])
    t.equal(ageRatingOf(text), undefined, text)
  t.equal(ageRatingOf(undefined), undefined)
})

t.test('the page for parents has the table', async (t) => {
  t.ok(
    readFileSync(new URL('../../../docs/sharing.md', import.meta.url), 'utf8').includes(renderAgeRatings()),
    'write it with: npm run readme',
  )
})

t.test('series.json has an age as a number, as a word, or none', async (t) => {
  const read = (age_rating: unknown) =>
    readSeriesJson(Buffer.from(JSON.stringify({ metadata: { name: 'S', age_rating } }))).series?.fields?.ageRating
  t.same([17, '17+', 'Adult', 'All', null, 'y', [18]].map(read), [17, 17, 18, 0, undefined, undefined, undefined])
})
