import t from 'tap'
import { paceAfter, readPaces, secondsFor } from '../../../../../web/src/reader/shared/pace.ts'

const NONE = { seconds: 0, pages: 0 }
const readOn = (pages: number, seconds: number) =>
  Array.from({ length: pages }).reduce<typeof NONE>((pace) => paceAfter(pace, { seconds, pages: 1 }), NONE)

t.test('the time left follows from the pages that were read, once there are some', async (t) => {
  t.equal(secondsFor(readOn(19, 30), 100), null)
  t.equal(secondsFor(readOn(40, 30), 100), 3000)
  t.equal(secondsFor(readOn(40, 30), -3), 0, 'at the end of the book nothing is left')
})

t.test('leafing, jumps, turning back and pauses say nothing about the pace', async (t) => {
  const pace = readOn(40, 30)
  for (const turn of [
    { seconds: 0.3, pages: 1 },
    { seconds: 30, pages: 40 },
    { seconds: 30, pages: -1 },
    { seconds: 4000, pages: 1 },
    { seconds: 200, pages: 0.001 },
    { seconds: -5, pages: 1 },
  ])
    t.equal(paceAfter(pace, turn), pace, JSON.stringify(turn))
})

t.test('the pace follows a reader who became slower', async (t) => {
  let pace = readOn(1000, 10)
  for (let page = 0; page < 600; page++) pace = paceAfter(pace, { seconds: 60, pages: 1 })
  t.ok((secondsFor(pace, 1) ?? 0) > 50, `${secondsFor(pace, 1)} seconds a page`)
})

t.test('a preference of another program or version is as if nothing was read', async (t) => {
  const known = { seconds: 600, pages: 30 }
  t.same(readPaces({ comic: known, pdf: { seconds: 'x', pages: 1 }, text: null }), { comic: known, pdf: NONE, text: NONE })
  for (const nonsense of [null, 'x', [], { comic: { seconds: -1, pages: 3 } }]) t.same(readPaces(nonsense).comic, NONE)
})
