import t from 'tap'
import { MemoryStorage } from '#plugins/devkit/memory-storage.ts'

t.test('values are stored as JSON until they expire', async (t) => {
  let now = 1_000
  const storage = new MemoryStorage(16, { first: { a: [1] } }, () => now)
  const value = { b: 2 }
  storage.set({ key: 'second', value, ttlSeconds: 10 })
  value.b = 3
  t.same(storage.get('second'), { b: 2 }, 'later changes of the object are not stored')
  storage.set({ key: 'nothing', value: undefined, ttlSeconds: null })
  t.same(storage.content(), { first: { a: [1] }, second: { b: 2 }, nothing: null })
  t.same(storage.list(''), ['first', 'nothing', 'second'])
  t.same(storage.list('s'), ['second'])
  now += 9_999
  t.same(storage.get('second'), { b: 2 })
  now += 1
  t.equal(storage.get('second'), null)
  storage.delete('first')
  t.same(storage.list(undefined), ['nothing'])
})

t.test('its limits are those of a server', async (t) => {
  const refuses = (work: () => unknown, code: string, message: RegExp) => t.throws(work, { own: code, message })
  const none = new MemoryStorage(0)
  for (const work of [
    () => none.get('a'),
    () => none.list(''),
    () => none.delete('a'),
    () => none.set({ key: 'a', value: 1, ttlSeconds: null }),
  ])
    refuses(work, 'permission', /its manifest has no permissions\.storage/)
  const storage = new MemoryStorage(1_024)
  for (const key of ['', 'x'.repeat(201), 'a\0b', '\ud800', 7, null])
    refuses(() => storage.get(key), 'invalid_argument', /A key of ctx\.storage must be/)
  for (const ttlSeconds of [0, -1, Number.NaN, 'soon', 1e12])
    refuses(() => storage.set({ key: 'a', value: 1, ttlSeconds }), 'invalid_argument', /ttlSeconds must be/)
  refuses(() => storage.set({ key: 'a', value: 'x'.repeat(262_143), ttlSeconds: null }), 'limit', /A value may have/)
  for (let index = 0; index < 1_000; index++) storage.set({ key: `k${index}`, value: 1, ttlSeconds: null })
  refuses(() => storage.set({ key: 'more', value: 1, ttlSeconds: null }), 'limit', /1000 keys/)
  storage.set({ key: 'k7', value: 2, ttlSeconds: null })
  t.equal(storage.get('k7'), 2, 'an existing key can change')
  const small = new MemoryStorage(1)
  small.set({ key: 'ab', value: 'x'.repeat(1_020), ttlSeconds: null })
  refuses(() => small.set({ key: 'c', value: 1, ttlSeconds: null }), 'limit', /1026 bytes; the limit is 1024/)
  small.set({ key: 'ab', value: '', ttlSeconds: null })
  small.set({ key: 'c', value: 1, ttlSeconds: null })
  t.same(small.content(), { ab: '', c: 1 }, 'replacing a value frees its space')
})
