import t from 'tap'
import { turnedTo } from '../../../../../web/src/reader/pages/page-turns.ts'

t.test('a turn to the last page finishes the book, and leafing back keeps it finished', async (t) => {
  const last = turnedTo(turnedTo(null, 19, 21), 21, 21)
  t.same(last, { page: 21, isCompleted: true })
  t.same(turnedTo(last, 18, 21), { page: 18, isCompleted: true })
})

t.test('who opens a book at its end and leafs back has not finished it', async (t) => {
  t.same(turnedTo(null, 18, 21), { page: 18, isCompleted: false })
})

t.test('a turn within a page leads to no other place', async (t) => {
  const first = turnedTo(null, 18, 21)
  t.equal(turnedTo(first, 18, 21), first)
})
