import t from 'tap'
import { anchorAt, layStrip, pageAt, pagesInView, stripPage, topOf } from '../../../../../web/src/reader/pages/strip-layout.ts'

const sizes = [
  { width: 100, height: 200 },
  { width: 100, height: 100 },
  { width: 100, height: 400 },
]

t.test('pages of a strip lie below each other with a gap between them', async (t) => {
  const layout = layStrip(sizes, 200, 10)
  t.same(layout.heights, [400, 200, 800])
  t.same(layout.tops, [0, 410, 620])
  t.equal(layout.total, 1420)
  t.same(layStrip([], 200, 10), { tops: [], heights: [], total: 0 })
})

t.test('the pages in view are found, also at the borders', async (t) => {
  const layout = layStrip(sizes, 200, 10)
  t.equal(pageAt(layout, 405), 0, 'the gap belongs to the page above')
  t.same(pagesInView(layout, 0, 400), { first: 0, last: 0 })
  t.same(pagesInView(layout, 300, 400), { first: 0, last: 2 })
})

t.test('a place stays the same part of its page in another width', async (t) => {
  const anchor = anchorAt(layStrip(sizes, 200, 10), 1020)
  t.same(anchor, { page: 3, fraction: 0.5 })
  t.equal(topOf(layStrip(sizes, 100, 0), anchor), 500)
  t.equal(topOf(layStrip([], 100, 0), anchor), 0)
})

t.test('the page a third down the screen counts as read, and at the end the last', async (t) => {
  const layout = layStrip(sizes, 200, 10)
  t.equal(stripPage(layout, 0, 600), 1)
  t.equal(stripPage(layout, 300, 600), 2)
  t.equal(stripPage(layout, 820, 600), 3)
})
