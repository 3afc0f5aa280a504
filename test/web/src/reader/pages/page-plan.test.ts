import t from 'tap'
import { choosePageWidth, planPages } from '../../../../../web/src/reader/pages/page-plan.ts'
import { planSpreads } from '../../../../../web/src/reader/pages/spreads.ts'

const book = (count: number, isDouble: boolean) =>
  planSpreads(
    Array.from({ length: count }, () => ({ width: 1000, height: 1500 })),
    { isDouble, coverAlone: true, splitsWide: false },
  )

t.test('the shown page comes first, then two ahead and one behind, then others up to seven', async (t) => {
  t.same(planPages(book(20, false), { first: 9, last: 9 }), { now: [10, 11, 12, 9], later: [13, 14, 15] })
  t.same(planPages(book(20, true), { first: 2, last: 2 }), { now: [4, 5, 6, 7, 2, 3], later: [8] })
})

t.test('at the ends of a book there are fewer pages to have', async (t) => {
  t.same(planPages(book(20, false), { first: 0, last: 0 }), { now: [1, 2, 3], later: [4, 5, 6, 7] })
  t.same(planPages(book(3, false), { first: 2, last: 2 }), { now: [3, 2], later: [] })
  t.same(planPages([], { first: 0, last: 0 }), { now: [], later: [] })
})

t.test('a strip keeps all pages on screen, even more than seven', async (t) => {
  const { now, later } = planPages(book(30, false), { first: 4, last: 12 })
  t.same(now, [5, 6, 7, 8, 9, 10, 11, 12, 13])
  t.same(later, [])
})

t.test('pictures are as wide as the screen needs, and never wider than the page', async (t) => {
  const page = { pageWidth: 3000, isPdf: false }
  t.equal(choosePageWidth({ ...page, shownWidth: 360, density: 3 }), 1280)
  t.equal(choosePageWidth({ ...page, shownWidth: 520, density: 1 }), 640)
  t.equal(choosePageWidth({ ...page, shownWidth: 645, density: 1 }), 960, 'a picture is never enlarged')
  t.equal(choosePageWidth({ ...page, shownWidth: 2500, density: 1 }), undefined)
  t.equal(choosePageWidth({ shownWidth: 700, density: 1, pageWidth: 800, isPdf: false }), undefined)
  t.equal(
    choosePageWidth({ shownWidth: 2500, density: 2, pageWidth: 600, isPdf: true }),
    2000,
    'pages of PDFs are drawn in any width up to this',
  )
})
