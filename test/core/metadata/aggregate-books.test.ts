import t from 'tap'
import type { SeriesHints } from '#core/fields/embedded.ts'
import { aggregateBooks } from '#core/metadata/aggregate-books.ts'
import type { BookHints } from '#core/metadata/series-aggregate-store.ts'

const NOTHING = { seriesId: 's', sources: {}, publisher: null, imprint: null, languageIso: null, summary: null, year: null, authors: null }
const book = (fields: SeriesHints['fields'] = {}): BookHints => ({ ...NOTHING, embedded: { series: { fields } } })
const bookOf = (name: string): BookHints => ({ ...book({ ageRating: 18 }), sources: {}, authors: [{ name, role: 'writer' }] })
const aggregate = (books: BookHints[], sidecar: SeriesHints | null = null, total = books.length) =>
  aggregateBooks(books, { total, sidecar })

t.test('the age rating is the highest of all books, whatever else they agree on', async (t) => {
  const ageOf = (...given: Parameters<typeof aggregate>) => aggregate(...given).hints.fields?.ageRating
  t.equal(ageOf([]), undefined)
  t.equal(ageOf([book(), book()]), undefined)
  t.equal(ageOf([book({ ageRating: 0 })]), 0)
  t.equal(ageOf([...Array.from({ length: 99 }, () => book()), book({ ageRating: 16 })]), 16, 'one of a hundred')
  t.equal(ageOf([...Array.from({ length: 99 }, () => book({ ageRating: 3 })), book({ ageRating: 16 })]), 16, 'against ninety-nine')
  t.equal(ageOf([book({ ageRating: 9 }), book({ ageRating: 13 })], null, 50), 13, 'most books have not been analyzed yet')
  t.equal(
    ageOf(Array.from({ length: 200_000 }, (_, index) => book({ ageRating: index % 18 }))),
    17,
    'of more books than a call takes arguments',
  )
})

t.test('a folder of unrelated titles has nothing but the age rating of its books', async (t) => {
  const named = ['A', 'B', 'C'].map((title, index) => book({ title, status: 'ended', ageRating: index * 8 }))
  t.match(aggregate(named), { hints: { fields: { ageRating: 16 }, genres: [] }, unrelated: true })
  t.same(Object.keys(aggregate(named).hints.fields ?? {}), ['ageRating'])
  const people = ['A', 'B', 'C'].map(bookOf)
  t.match(aggregate(people), { hints: { fields: { ageRating: 18 } }, unrelated: true }, 'by their people')
})

t.test('the file of a series says its age rating itself', async (t) => {
  const adult = [book({ ageRating: 18 }), book({ title: 'A' }), book({ title: 'B' })]
  t.same(aggregate(adult, { fields: { ageRating: 12 } }).hints.fields, { ageRating: 12 }, 'of unrelated titles')
  t.same(
    aggregate(adult, { fields: { title: 'Mine' } }).hints.fields,
    { title: 'Mine', ageRating: 18 },
    'without one it is that of the books',
  )
  t.equal(aggregate([book({ ageRating: 18 })], { fields: { ageRating: 12 } }).hints.fields?.ageRating, 12)
  t.equal(aggregate([book({ ageRating: 18 })], { genres: ['x'] }).hints.fields?.ageRating, 18)
})
