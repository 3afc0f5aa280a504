import t from 'tap'
import { COVER_WIDTHS, rowLayout } from '../../../../../web/src/pages/browse/row-layout.ts'

t.test('a phone shows at least three covers in a row, the smallest size four', (t) => {
  const room = { width: 328, windowWidth: 360, textScale: 1 }
  t.equal(rowLayout('grid', 3, room).columns, 3)
  t.equal(rowLayout('grid', 2, room).columns, 3)
  t.ok(rowLayout('grid', 0, room).columns >= 3)
  t.end()
})

t.test('covers fill the width and are never narrower than their size where there is room', (t) => {
  for (const [size, wanted] of COVER_WIDTHS.entries()) {
    const { columns, coverWidth, gap } = rowLayout('grid', size, { width: 1_282, windowWidth: 1_600, textScale: 1 })
    t.ok(coverWidth >= wanted, `${coverWidth} is at least ${wanted}`)
    t.ok(Math.abs(columns * coverWidth + (columns - 1) * gap - 1_282) < 0.01)
  }
  t.end()
})

t.test('lists and tables have one column, and rows grow with the text of the browser', (t) => {
  const room = { width: 800, windowWidth: 1_000, textScale: 1 }
  t.equal(rowLayout('list', 0, room).columns, 1)
  t.equal(rowLayout('table', 0, { ...room, textScale: 2 }).rowHeight, 2 * rowLayout('table', 0, room).rowHeight)
  t.end()
})

t.test('compact rows are lower in each view and still as high as a button that a finger hits', (t) => {
  const room = { width: 800, windowWidth: 1_000, textScale: 1 }
  const compact = { ...room, density: 'compact' } as const
  for (const view of ['list', 'table'] as const) {
    const { rowHeight } = rowLayout(view, 0, compact)
    t.ok(rowHeight < rowLayout(view, 0, room).rowHeight, view)
    t.ok(rowHeight > 44, `${view}: ${rowHeight}`)
  }
  const grid = rowLayout('grid', 2, compact)
  t.ok(grid.gap < rowLayout('grid', 2, room).gap)
  t.ok(grid.coverWidth >= COVER_WIDTHS[2], 'covers have the size that was chosen')
  t.end()
})
