import fc from 'fast-check'
import t from 'tap'
import { placeOf } from '#core/progress/progress.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.test('where a reader is', async (t) => {
  const book = { analyzed: true, pageCount: 10 }
  t.same(placeOf(book, { currentPage: 3 }), { currentPage: 3, percentage: 0.3, completed: false })
  t.same(placeOf(book, { currentPage: 10 }), { currentPage: 10, percentage: 1, completed: true })
  t.same(placeOf(book, { currentPage: 10, completed: false }), { currentPage: 10, percentage: 1, completed: false })
  t.same(placeOf(book, { currentPage: 2, completed: true }), { currentPage: 2, percentage: 1, completed: true })
  t.same(placeOf(book, { currentPage: 2, progressPercentage: 0.25 }), { currentPage: 2, percentage: 0.25, completed: false })
  t.same(placeOf({ analyzed: true, pageCount: 0 }, { currentPage: 1 }), { currentPage: 1, percentage: null, completed: false })
})

t.test('a book that was not analysed is never completed by arithmetic', async () => {
  assertInTime(
    fc.property(
      fc.nat(1000),
      fc.integer({ min: 1, max: 2000 }),
      fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      (pageCount, currentPage, given) => {
        const place = placeOf({ analyzed: false, pageCount }, { currentPage, progressPercentage: given })
        if (place.completed || place.percentage !== given) throw new Error(JSON.stringify(place))
      },
    ),
  )
})
