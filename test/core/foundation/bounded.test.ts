import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { KEY_LENGTH_MAX, Register, shortKey } from '#core/foundation/register.ts'
import { onlyCost } from '#test/support/lane-size.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** How many bytes of the heap remain taken by what the work keeps. */
function keptBytes(work: () => object): number {
  collect()
  const before = process.memoryUsage().heapUsed
  const kept = work()
  collect()
  const bytes = process.memoryUsage().heapUsed - before
  // Used afterwards, so that it is not collected before.
  return kept === null ? 0 : bytes
}

const MB = 1024 * 1024
/** A text as long as a body of a request, of characters that take two bytes. */
const long = (at: number) => `${at} ${'ж'.repeat(500_000)}`

t.test('a cache keeps the latest entries that fit, by the bytes of their keys and values', async (t) => {
  const cache = new BoundedCache<{ texts: Map<string, string> }>({ bytesMax: 5 * MB })
  for (let at = 0; at < 50; at++) cache.set(`${at}`, { texts: new Map([['a', long(at)]]) })
  t.ok(cache.has('49'))
  t.notOk(cache.has('0'))
})

t.test('an entry that is larger than its cache is kept only by a cache that keeps its largest, alone', async (t) => {
  for (const keepsLargest of [false, true]) {
    const cache = new BoundedCache<{ bytes: number }>({ bytesMax: MB, bytesOf: ({ bytes }) => bytes, keepsLargest })
    for (const bytes of [MB, 10 * MB]) {
      cache.set('small', { bytes: 1 })
      cache.set('large', { bytes })
      t.same([cache.has('large'), cache.has('small')], keepsLargest ? [true, false] : [false, true], `${bytes}`)
    }
    cache.set('small', { bytes: 1 })
    t.same([cache.has('large'), cache.has('small')], [false, true], 'until there is another entry')
  }
})

t.test('a cache takes no more memory than it says, whatever the length of its keys and values', onlyCost, async (t) => {
  const byKey = keptBytes(() => {
    const cache = new BoundedCache<{ total: number }>({ bytesMax: MB })
    for (let at = 0; at < 200; at++) cache.set(long(at), { total: at })
    t.same(cache.get(long(150)), { total: 150 })
    t.notOk(cache.has(long(200)))
    return cache
  })
  t.ok(byKey < 2 * MB, `long keys: ${byKey}`)
  const byValue = keptBytes(() => {
    const cache = new BoundedCache<{ texts: Map<string, string> }>({ bytesMax: 5 * MB })
    for (let at = 0; at < 50; at++) cache.set(`${at}`, { texts: new Map([['a', long(at)]]) })
    t.ok(cache.has('49'))
    t.notOk(cache.has('0'))
    return cache
  })
  t.ok(byValue < 7 * MB, `long values: ${byValue}`)
  const byPart = keptBytes(() => {
    const cache = new BoundedCache<boolean>({ bytesMax: MB })
    for (let at = 0; at < 100; at++) cache.set(long(at).slice(2, 32) + at, true)
    for (let at = 0; at < 100; at++) cache.set(`${at}${long(at)}`.slice(0, 30), true)
    return cache
  })
  t.ok(byPart < 2 * MB, `short parts of long texts: ${byPart}`)
})

const fillRegister = () => {
  const register = new Register<number>()
  for (let at = 0; at < 100; at++) register.set(long(at), at).set(`${at}${long(at)}`.slice(0, 30), at)
  return register
}

t.test('a register holds on to no long text', onlyCost, async (t) => {
  const bytes = keptBytes(fillRegister)
  t.ok(bytes < 2 * MB, String(bytes))
})

t.test('what is going on is kept under short keys too', async (t) => {
  const register = fillRegister()
  t.equal(register.get(long(7)), 7)
  register.delete(long(7))
  t.notOk(register.has(long(7)))
  t.ok([...register.keys()].every((key) => key.length <= KEY_LENGTH_MAX))
})

t.test('two texts have one key only if they are equal', async (t) => {
  const texts = [
    '',
    '#',
    '#a',
    'a',
    long(1),
    long(2),
    shortKey(long(1)),
    `#${'a'.repeat(43)}`,
    'a'.repeat(KEY_LENGTH_MAX),
    'a'.repeat(KEY_LENGTH_MAX + 1),
    '\ud800',
    '\ud801',
  ]
  t.equal(new Set(texts.map(shortKey)).size, texts.length)
  const cache = new BoundedCache<string>({ bytesMax: MB })
  for (const text of texts) cache.set(text, `of ${text.length} ${text.slice(0, 60)}`)
  for (const text of texts) t.equal(cache.get(text), `of ${text.length} ${text.slice(0, 60)}`)
})

t.test('entries leave the cache by their number, by who owns them, and one by one', async (t) => {
  const gone: number[] = []
  const dispose = ({ id }: { id: number }) => gone.push(id)
  const cache = new BoundedCache<{ id: number }>({ bytesMax: MB, entriesMax: 2, dispose })
  for (const id of [1, 2, 3]) cache.set(String(id), { id })
  t.same(gone, [1])
  t.same(
    cache.values().map(({ id }) => id),
    [3, 2],
  )
  cache.forget(({ id }) => id === 2)
  cache.delete('3')
  t.same([gone, cache.size, cache.bytes], [[1, 2, 3], 0, 0])
})
