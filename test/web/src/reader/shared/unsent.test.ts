import t from 'tap'
import { findUnsent, holdUnsent, keepUnsent, type SendUnsent, sendAllKept, sendKept } from '../../../../../web/src/reader/shared/unsent.ts'

/** The storage of a browser, which Node has only with a file. */
function openStorage() {
  const items = new Map<string, string>()
  const storage = {
    get length() {
      return items.size
    },
    key: (at: number) => [...items.keys()][at] ?? null,
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  }
  Object.defineProperty(globalThis, 'localStorage', { configurable: true, value: storage })
  return items
}

t.test('a kept place belongs to one user and one book', async (t) => {
  const items = openStorage()
  const place = { sent: { page: 7 }, basedOn: null }
  keepUnsent({ userId: 'rita', bookId: 'one' }, place)
  t.same(findUnsent({ userId: 'rita', bookId: 'one' }), place)
  t.equal(findUnsent({ userId: 'otto', bookId: 'one' }), null)
  t.equal(findUnsent({ userId: 'rita', bookId: 'two' }), null)
  keepUnsent({ userId: 'otto', bookId: 'one' }, null)
  t.same(findUnsent({ userId: 'rita', bookId: 'one' }), place)
  keepUnsent({ userId: 'rita', bookId: 'one' }, null)
  t.equal(items.size, 0)
})

t.test('what no version has written is no place', async (t) => {
  const items = openStorage()
  keepUnsent({ userId: 'rita', bookId: 'one' }, { sent: 1, basedOn: null })
  const [key = ''] = items.keys()
  for (const text of ['', '{', 'null', '7', '{"sent":1}', '[]']) {
    items.set(key, text)
    t.equal(findUnsent({ userId: 'rita', bookId: 'one' }), null, text)
  }
})

/** Keeps the page 7 in each of these books of rita, and a server that answers each place as the test says. */
function keepBooks(...bookIds: string[]) {
  const items = openStorage()
  for (const bookId of bookIds) keepUnsent({ userId: 'rita', bookId }, { sent: { page: 7 }, basedOn: 'old' })
  keepUnsent({ userId: 'otto', bookId: 'his' }, { sent: { page: 7 }, basedOn: null })
  const sent: string[] = []
  const later = new Set<string>()
  const send: SendUnsent = async ({ bookId }) => {
    sent.push(bookId)
    return !later.has(bookId)
  }
  const sendAll = (isSameUser = () => true) => sendAllKept('rita', { send, isSameUser })
  const isKept = (bookId: string) => findUnsent({ userId: 'rita', bookId }) !== null
  return { items, sent, later, send, sendAll, isKept }
}

t.test('all kept places of a user are sent and forgotten, those of other users stay', async (t) => {
  const { items, sent, sendAll } = keepBooks('one', 'two')
  await sendAll()
  t.same(sent, ['one', 'two'])
  t.equal(items.size, 1)
  t.ok(findUnsent({ userId: 'otto', bookId: 'his' }))
})

t.test('without a connection the places stay kept, and those after the first are not tried', async (t) => {
  const { sent, later, sendAll, isKept } = keepBooks('one', 'two', 'three')
  later.add('two')
  await sendAll()
  t.same(sent, ['one', 'two'])
  t.same(['one', 'two', 'three'].map(isKept), [false, true, true])
})

t.test('a book that is open sends its place itself', async (t) => {
  const { sent, sendAll, isKept } = keepBooks('one', 'two')
  const release = holdUnsent({ userId: 'rita', bookId: 'one' })
  await sendAll()
  t.same(sent, ['two'])
  t.ok(isKept('one'))
  release()
  await sendAll()
  t.same(sent, ['two', 'one'])
})

t.test('nothing is sent once another user has signed in', async (t) => {
  const { sent, sendAll } = keepBooks('one', 'two')
  await sendAll(() => sent.length === 0)
  t.same(sent, ['one'])
})

t.test('two who send the place of one book at once send it once', async (t) => {
  const { sent, send, sendAll } = keepBooks('one')
  const [isAnswered] = await Promise.all([sendKept({ userId: 'rita', bookId: 'one' }, send), sendAll()])
  t.equal(isAnswered, true)
  t.same(sent, ['one'])
})

t.test('a place that is kept while an earlier one is sent stays', async (t) => {
  const { isKept } = keepBooks('one')
  const of = { userId: 'rita', bookId: 'one' }
  await sendKept(of, async () => {
    keepUnsent(of, { sent: { page: 8 }, basedOn: 'old' })
    return true
  })
  t.ok(isKept('one'))
})
