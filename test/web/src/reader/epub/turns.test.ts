import t from 'tap'
import { Turns } from '../../../../../web/src/reader/epub/turns.ts'

/** Turns of a book that is opened, and what its renderer tells, as it is for another place in a chapter with all its faces. */
function openBook() {
  const turns = new Turns()
  const tell = (reason: string | null | undefined, more = {}) => turns.relocated({ reason, isMoved: true, faces: null, ...more })
  turns.going(false)
  return { turns, tell }
}

t.test('opening a book is no turn, nor is another layout of it', async (t) => {
  const { tell } = openBook()
  t.equal(tell('anchor'), false)
  t.equal(tell('navigation'), false)
  t.equal(tell('anchor'), false)
  t.equal(openBook().tell(undefined), false, 'in a fixed layout')
})

t.test('what a person asks for is a turn, and another layout after it is none', async (t) => {
  for (const reason of ['navigation', 'selection', 'page', null, undefined]) {
    const { turns, tell } = openBook()
    turns.going(true)
    t.equal(tell(reason), true, `${reason}`)
    t.equal(tell('anchor'), false)
  }
})

t.test('a page that the renderer turns by itself is a turn, and a chapter that a finger leads to', async (t) => {
  for (const reason of ['page', 'scroll', 'snap']) t.equal(openBook().tell(reason), true, reason)
  const { tell } = openBook()
  t.equal(tell('snap', { isMoved: false }), false, 'as a tap')
  t.equal(tell('navigation'), true)
})

t.test('the layout of a chapter with its faces belongs to the turn that led to it', async (t) => {
  let load = (_faces: unknown): void => {}
  const faces = new Promise((resolve) => {
    load = resolve
  })
  const { turns, tell } = openBook()
  t.equal(tell('navigation', { faces }), false)
  t.equal(tell('anchor'), false, 'not to an opening')
  turns.going(true)
  t.equal(tell('navigation', { faces }), true)
  t.equal(tell('anchor'), true)
  load(null)
  await faces
  t.equal(tell('anchor'), false)
})

t.test('a place that is shown without a turn ends the turn before it', async (t) => {
  const { turns, tell } = openBook()
  turns.going(true)
  t.equal(tell('navigation', { faces: new Promise(() => {}) }), true)
  turns.going(false)
  t.equal(tell('anchor'), false)
  t.equal(tell('navigation'), false)
})
