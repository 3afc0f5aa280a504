import t from 'tap'
import { flattenContents, placeOf, positionAt, showsEnd, spanChapters, totalOf } from '../../../../../web/src/reader/epub/text-map.ts'

const position = (href: string) => ({ href })

t.test('chapters share a book by their positions', async (t) => {
  const spans = spanChapters(['a', 'b', 'c'], [position('a'), position('b'), position('b'), position('b')])
  t.same(spans, [
    { start: 0, length: 0.25 },
    { start: 0.25, length: 0.75 },
    { start: 1, length: 0 },
  ])
  t.equal(totalOf(spans, { index: 1, fraction: 0.5 }), 0.625)
  t.same(placeOf(spans, 0.625), { index: 1, fraction: 0.5 })
  t.equal(totalOf(spans, { index: 9, fraction: 1 }), 0)
})

t.test('a place beyond the end is at the end, and a book without positions has places all the same', async (t) => {
  const spans = spanChapters(['a', 'b'], [])
  t.equal(spans.length, 2)
  t.equal(placeOf(spanChapters(['a'], [position('a')]), 1).index, 0)
  t.same(placeOf([], 0.5), { index: 0, fraction: 0 })
  t.equal(positionAt(1, 348), 348)
  t.equal(positionAt(0, 348), 1)
})

t.test('only the last screen of a chapter shows its end, however many there are', async (t) => {
  const shows = (screens: number, before: number) => showsEnd({ fraction: before / screens, seen: 1 / screens })
  for (const screens of [2, 10, 100, 500, 20_000]) {
    t.equal(shows(screens, screens - 1), true, `the last of ${screens}`)
    t.equal(shows(screens, screens - 2), false, `the one before the last of ${screens}`)
    t.equal(shows(screens, screens - 1.01), true, `a text of ${screens} screens that is scrolled to its end, but for a margin`)
    t.equal(shows(screens, screens - 1.5), false, `a text of ${screens} screens that is scrolled to half of one before its end`)
  }
  t.equal(shows(1, 0), true)
  t.equal(shows(0.3, 0), true, 'a chapter of some lines')
})

t.test('contents become one list, however deep a book nests them', async (t) => {
  const links = [
    { href: 'a', title: 'A', children: [{ href: 'a#1' }] },
    { href: 'b', title: 'B' },
  ]
  t.same(flattenContents(links, 'Untitled'), [
    { title: 'A', href: 'a', depth: 0 },
    { title: 'Untitled', href: 'a#1', depth: 1 },
    { title: 'B', href: 'b', depth: 0 },
  ])
  let deep: { href: string; children: unknown[] } = { href: 'end', children: [] }
  for (let depth = 0; depth < 10_000; depth++) deep = { href: 'x', children: [deep] }
  t.equal(flattenContents([deep], '').length, 10_001)
  t.equal(flattenContents([deep], '').at(-1)?.depth, 6)
})
