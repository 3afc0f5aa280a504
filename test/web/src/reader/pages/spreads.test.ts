import t from 'tap'
import { pagesLabel, pagesOf, planSpreads, recordedPage, spreadOf } from '../../../../../web/src/reader/pages/spreads.ts'

const upright = { width: 1000, height: 1500 }
const wide = { width: 2000, height: 1500 }
const unknown = { width: null, height: null }
const double = { isDouble: true, coverAlone: true, splitsWide: false }

/** "1 2-3 4" */
const drawn = (sizes: { width: number | null; height: number | null }[], options = double): string =>
  planSpreads(sizes, options)
    .map((spread) => spread.map(({ page, half }) => (half === 'whole' ? page : `${page}${half === 'first' ? 'a' : 'b'}`)).join('-'))
    .join(' ')

t.test('pairs begin after a cover that stands alone, or with it', async (t) => {
  const six = Array.from({ length: 6 }, () => upright)
  t.equal(drawn(six), '1 2-3 4-5 6')
  t.equal(drawn(six, { ...double, coverAlone: false }), '1-2 3-4 5-6')
  t.equal(drawn([upright]), '1')
  t.equal(drawn([]), '')
})

t.test('a wide page stands alone, and so does the page before it that has lost its partner', async (t) => {
  t.equal(drawn([upright, upright, upright, wide, upright, upright]), '1 2-3 4 5-6')
  t.equal(drawn([upright, upright, wide, upright, upright]), '1 2 3 4-5')
  t.equal(drawn([wide, wide, upright]), '1 2 3')
  t.equal(drawn([upright, unknown, unknown]), '1 2-3', 'pages of unknown size count as upright')
})

t.test('wide pages are split one after the other, but not between pairs', async (t) => {
  t.equal(drawn([upright, wide, upright], { isDouble: false, coverAlone: true, splitsWide: true }), '1 2a 2b 3')
  t.equal(drawn([upright, wide, upright], { ...double, splitsWide: true }), '1 2 3')
})

t.test('a page is found in its spread, and numbers out of the book at its ends', async (t) => {
  const spreads = planSpreads(
    Array.from({ length: 6 }, () => upright),
    double,
  )
  t.equal(spreadOf(spreads, 3), 1)
  t.equal(spreadOf(spreads, 99), 3)
  t.equal(spreadOf(spreads, -1), 0)
  t.equal(spreadOf([], 1), 0)
})

t.test('a pair records its first page, and the last spread the page that finishes the book', async (t) => {
  const spreads = planSpreads(
    Array.from({ length: 5 }, () => upright),
    double,
  )
  t.equal(recordedPage(spreads, 1), 2)
  t.equal(recordedPage(spreads, 2), 5)
  t.same(pagesOf(spreads[2]), [4, 5])
  t.equal(pagesLabel(spreads[2]), '4–5')
  t.equal(pagesLabel(spreads[0]), '1')
  t.equal(pagesLabel(undefined), '')
})
