import t from 'tap'

const WIDTH = 400
// By address, because types of browsers are not among those of tests.
Object.assign(globalThis, { Element: class {}, innerWidth: WIDTH })
const { Gestures } = await import(new URL('../../../../../web/src/reader/shared/gestures.ts', import.meta.url).href)

/** An element whose gestures are written down, and the fingers on it. */
function openPage() {
  const element = Object.assign(new EventTarget(), {
    getBoundingClientRect: () => ({ left: 0, top: 0, width: WIDTH, height: 600 }),
    setPointerCapture: () => {},
  })
  const done: string[] = []
  const gestures = new Gestures(element, () => ({
    tap: () => done.push('tap'),
    pinch: () => done.push('pinch'),
    pan: () => {
      done.push('pan')
      return false
    },
    swiped: (by: number) => done.push(`swipe by ${by}`),
  }))
  t.teardown(() => gestures.close())
  const touch = (type: 'down' | 'move' | 'up', pointerId: number, clientX: number) =>
    element.dispatchEvent(Object.assign(new Event(`pointer${type}`), { pointerId, clientX, clientY: 300, button: 0, pointerType: 'touch' }))
  const swipe = () => {
    touch('down', 9, 300)
    touch('move', 9, 100)
    touch('up', 9, 100)
  }
  return { done, touch, swipe }
}

t.test('a finger that moves far swipes, one that stays taps', async (t) => {
  const { done, touch, swipe } = openPage()
  swipe()
  t.same(done, ['pan', 'swipe by -0.5'])
  touch('down', 1, 200)
  touch('up', 1, 203)
  t.same(done.slice(2), ['tap'])
})

t.test('what is left of two fingers moves the page but does not turn it, until all have left', async (t) => {
  const { done, touch, swipe } = openPage()
  touch('down', 1, 150)
  touch('down', 2, 250)
  touch('move', 1, 100)
  touch('move', 2, 300)
  touch('up', 1, 100)
  done.length = 0
  touch('move', 2, 30)
  touch('up', 2, 30)
  t.same(done, ['pan'])
  swipe()
  t.same(done.slice(1), ['pan', 'swipe by -0.5'])
})
