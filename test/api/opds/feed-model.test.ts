import fc from 'fast-check'
import t from 'tap'
import { type FeedAddress, hrefOf, latestOf, pagesOf, placeWith } from '#api/opds/feed-model.ts'

const place: FeedAddress = { path: '/books', query: { sort: 'added', libraryId: undefined }, kind: 'acquisition' }

t.test('addresses of feeds keep their parameters', async (t) => {
  t.equal(hrefOf('/opds/v2', place), '/opds/v2/books?sort=added')
  t.equal(hrefOf('/opds/v2', { path: '', kind: 'navigation' }), '/opds/v2')
  t.equal(hrefOf('/o', placeWith(place, { sort: undefined, page: 2 })), '/o/books?page=2')
  t.equal(hrefOf('/o', { ...place, query: { genre: 'A & B|^`<"' } }), '/o/books?genre=A+%26+B%7C%5E%60%3C%22')
})

t.test('pages lead through the whole list and never out of it', async (t) => {
  fc.assert(
    fc.property(fc.nat(5_000), fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 200 }), (total, pageSize, page) => {
      const last = Math.max(Math.ceil(total / pageSize), 1)
      const pages = pagesOf({ place, paging: { page, pageSize, total } })
      const number = (to: FeedAddress | undefined) => (to === undefined ? null : Number(to.query?.['page'] ?? 1))
      t.equal(number(pages.self), page)
      t.equal(number(pages.first), 1)
      t.equal(number(pages.last), last)
      t.equal(number(pages.next), page < last ? page + 1 : null)
      t.equal(number(pages.previous), page === 1 ? null : Math.min(page - 1, last))
    }),
  )
  t.same(Object.keys(pagesOf({ place, paging: null })), ['self'])
})

t.test('a feed has changed when the last of its entries has; one without any has a time all the same', async (t) => {
  t.equal(latestOf([{ updated: '2024-01-01T00:00:00.000Z' }, { updated: '2025-01-01T00:00:00.000Z' }]), '2025-01-01T00:00:00.000Z')
  t.ok(Date.parse(latestOf([])) > 0)
  t.equal(latestOf([]), latestOf([]))
})
