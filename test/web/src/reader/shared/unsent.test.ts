import t from 'tap'
import { findUnsent, keepUnsent } from '../../../../../web/src/reader/shared/unsent.ts'

/** The storage of a browser, which Node has only with a file. */
function openStorage() {
  const items = new Map<string, string>()
  const storage = {
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
