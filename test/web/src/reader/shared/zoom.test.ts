import t from 'tap'
import { limitZoom, NO_ZOOM, zoomAt, zoomStep } from '../../../../../web/src/reader/shared/zoom.ts'

const content = { width: 400, height: 600 }
const screen = { width: 400, height: 800 }

t.test('content never leaves a gap beside it while it is larger than the screen', async (t) => {
  t.same(limitZoom({ scale: 2, x: 900, y: -900 }, content, screen), { scale: 2, x: 200, y: -200 })
  t.same(limitZoom({ scale: 1, x: 50, y: 50 }, content, screen), { scale: 1, x: 0, y: 0 })
  t.equal(limitZoom({ scale: 50, x: 0, y: 0 }, content, screen).scale, 6)
  t.equal(limitZoom({ scale: 0.2, x: 0, y: 0 }, content, screen).scale, 1)
})

t.test('the point under the pointer stays where it is', async (t) => {
  t.same(zoomAt(NO_ZOOM, 2, { x: 100, y: -50 }), { scale: 2, x: -100, y: 50 })
  const back = zoomAt(zoomAt(NO_ZOOM, 3, { x: 30, y: 30 }), 1, { x: 30, y: 30 })
  t.same(back, { scale: 1, x: 0, y: 0 })
})

t.test('pictures are fetched for steps of half that are at least as large as the zoom', async (t) => {
  t.same([1, 1.01, 1.5, 2.2, 6].map(zoomStep), [1, 1.5, 1.5, 2.5, 6])
})
