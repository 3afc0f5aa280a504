import t from 'tap'
import { ListAnchors } from '#core/paging/list-anchors.ts'

t.test('anchors of a list that is read to its end are spread over all of it', async (t) => {
  const anchors = new ListAnchors(40)
  const ROWS = 1_000_000
  const PAGE = 500
  let distance = 0
  for (let at = 0; at < ROWS; at += PAGE) {
    const { before } = anchors.around(at)
    distance = Math.max(distance, at - (before?.at ?? 0))
    anchors.note({ at, id: `${at}` })
  }
  t.ok(distance <= ROWS / 100, `at most ${distance} rows are passed for a page`)
  for (let at = 0; at < ROWS; at += ROWS / 50) {
    const { before, behind } = anchors.around(at)
    t.ok((behind?.at ?? ROWS) - (before?.at ?? 0) <= ROWS / 50, `near row ${at}`)
  }
})

t.test('anchors that are close to others are not remembered', async (t) => {
  const anchors = new ListAnchors(40)
  for (const at of [100, 139, 61, 140, 60]) anchors.note({ at, id: `${at}` })
  t.same(anchors.around(99), { before: { at: 60, id: '60' }, behind: { at: 100, id: '100' } })
  t.same(anchors.around(100), { before: { at: 100, id: '100' }, behind: { at: 140, id: '140' } })
})
