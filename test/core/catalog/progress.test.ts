import fc from 'fast-check'
import t from 'tap'
import { pageFrom, pageUpTo, readPositionOf } from '#core/catalog/progress.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.test('the position of a user', async (t) => {
  const book = { analyzed: true, pageCount: 10 }
  t.same(readPositionOf(book, { currentPage: 3 }), { currentPage: 3, percentage: 0.3, completed: false })
  t.same(readPositionOf(book, { currentPage: 10 }), { currentPage: 10, percentage: 1, completed: true })
  t.same(readPositionOf(book, { currentPage: 10, completed: false }), { currentPage: 10, percentage: 1, completed: false })
  t.same(readPositionOf(book, { currentPage: 2, completed: true }), { currentPage: 2, percentage: 1, completed: true })
  t.same(readPositionOf(book, { currentPage: 2, progressPercentage: 0.25 }), { currentPage: 2, percentage: 0.25, completed: false })
  t.same(readPositionOf({ analyzed: true, pageCount: 0 }, { currentPage: 1 }), { currentPage: 1, percentage: null, completed: false })
})

t.test('pages and fractions of a book convert to each other', async (t) => {
  for (let pageCount = 1; pageCount <= 400; pageCount++) {
    for (let page = 1; page <= pageCount; page++) {
      // As positions of web publications begin, and as e-readers report their page.
      if (pageFrom((page - 1) / pageCount, pageCount) !== page) t.fail(`the beginning of ${page} of ${pageCount}`)
      if (pageUpTo(page / pageCount, pageCount) !== page) t.fail(`the end of ${page} of ${pageCount}`)
    }
  }
  t.same([pageFrom(0, 0), pageFrom(1, 0), pageUpTo(0, 0), pageUpTo(1, 0)], [1, 1, 1, 1], 'pages that are not counted')
  t.same([pageFrom(1, 7), pageUpTo(0, 7)], [7, 1])
})

t.test('a book that was not analyzed is never completed by arithmetic', async () => {
  assertInTime(
    fc.property(
      fc.nat(1000),
      fc.integer({ min: 1, max: 2000 }),
      fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      (pageCount, currentPage, given) => {
        const place = readPositionOf({ analyzed: false, pageCount }, { currentPage, progressPercentage: given })
        if (place.completed || place.percentage !== given) throw new Error(JSON.stringify(place))
      },
    ),
  )
})
