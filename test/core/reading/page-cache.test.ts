import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Log, silentLog } from '#core/foundation/log.ts'
import { openPageCache } from '#core/reading/page-cache.ts'

const HASH = 'ab'.repeat(32)
const OTHER = 'cd'.repeat(32)
const never = new AbortController().signal

async function newFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'carrel-cache-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const picture = (byte: number, length = 1000) => ({ bytes: Buffer.alloc(length, byte), mediaType: 'image/webp' })
/** Files below the folder, except the folder of temporary ones. */
const filesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

t.test('a picture is made once and stays cached after a restart', async (t) => {
  const folder = await newFolder(t)
  const open = () => openPageCache({ folder, bytesMax: 1e6, log: silentLog })
  let made = 0
  const make = async () => {
    made++
    await sleep(20)
    return picture(7)
  }
  const cache = await open()
  const both = await Promise.all([1, 2, 3].map(() => cache.picture({ hash: HASH, name: '0-a' }, never, make)))
  t.equal(made, 1, 'three concurrent requests, made once')
  for (const one of both) t.same(one, picture(7))
  t.same(await cache.picture({ hash: HASH, name: '0-a' }, never, make), picture(7))
  await cache.picture({ hash: HASH, name: '1-a' }, never, make)
  await cache.picture({ hash: OTHER, name: '0-a' }, never, make)
  t.equal(made, 3, 'another page and another content are others')
  t.same(await readdir(join(folder, 'temporary')), [], 'nothing half-written stays')
  const size = cache.size()
  await cache.close()

  await writeFile(join(folder, 'temporary', 'left-behind'), 'x')
  const again = await open()
  t.equal(again.size(), size)
  t.same(await readdir(join(folder, 'temporary')), [], 'what a killed server left is swept')
  const stored = await again.picture({ hash: HASH, name: '0-a' }, never, make)
  t.same([made, Buffer.from(stored.bytes).equals(picture(7).bytes), stored.mediaType], [3, true, 'image/webp'])
  await again.close()
})

t.test('a damaged file is made again', async (t) => {
  const folder = await newFolder(t)
  const cache = await openPageCache({ folder, bytesMax: 1e6, log: silentLog })
  const path = join(folder, HASH.slice(0, 2), HASH, '0-a')
  let made = 0
  const read = async () => Buffer.from((await cache.picture({ hash: HASH, name: '0-a' }, never, async () => picture(++made))).bytes)
  t.equal((await read())[0], 1)
  const damages: [string, () => Promise<unknown>][] = [
    ['cut off', () => truncate(path, 500)],
    ['empty', () => truncate(path, 0)],
    ['gone', () => rm(path)],
    ['flipped', async () => writeFile(path, (await readFile(path)).fill(9, 100, 101))],
    ['no trailer', () => writeFile(path, new Uint8Array(5000))],
  ]
  for (const [what, damage] of damages) {
    await damage()
    const before = made
    const bytes = await read()
    t.same([made, bytes.length, bytes.every((byte) => byte === made)], [before + 1, 1000, true], what)
    t.equal((await read()).length, 1000)
    t.equal(made, before + 1, `${what}: and kept again`)
  }
  await cache.close()
  await writeFile(join(folder, HASH.slice(0, 2), HASH, 'stub'), 'short')
  await mkdir(join(folder, 'ee', OTHER, 'pages'), { recursive: true })
  await writeFile(join(folder, 'ee', OTHER, 'pages', '0'), 'no manifest')
  const again = await openPageCache({ folder, bytesMax: 1e6, log: silentLog })
  t.same(await filesIn(folder), [path], 'incomplete entries are deleted at startup')
  await again.close()
})

t.test('the limit of bytes is kept, the least recently used are evicted first', async (t) => {
  const folder = await newFolder(t)
  const cache = await openPageCache({ folder, bytesMax: 5000, log: silentLog })
  let made = 0
  const read = (name: string, length = 1000) =>
    cache.picture({ hash: HASH, name }, never, async () => {
      made++
      return picture(1, length)
    })
  for (const name of ['a', 'b', 'c', 'd']) await read(name)
  await read('a')
  t.equal(made, 4)
  await read('e')
  t.ok(cache.size() <= 5000)
  await read('a')
  t.equal(made, 5, 'the one used last stayed')
  await read('b')
  t.equal(made, 6, 'the one unused longest went')
  await read('huge', 10_000)
  await read('huge', 10_000)
  t.equal(made, 8, 'what exceeds the whole cache is served but not kept')
  await cache.close()
  const bytes = (await Promise.all((await filesIn(folder)).map((path) => stat(path)))).reduce((sum, { size }) => sum + size, 0)
  t.equal(bytes, cache.size(), 'the disk agrees with the books')

  // After a restart the order comes from the files' times, and a smaller limit applies immediately.
  const names = (await readdir(join(folder, HASH.slice(0, 2), HASH))).sort()
  for (const [index, name] of names.entries()) await utimes(join(folder, HASH.slice(0, 2), HASH, name), 1000 + index, 1000 + index)
  const smaller = await openPageCache({ folder, bytesMax: 2500, log: silentLog })
  await smaller.close()
  t.same((await readdir(join(folder, HASH.slice(0, 2), HASH))).sort(), names.slice(-2))
})

t.test('no empty folder remains', async (t) => {
  const folder = await newFolder(t)
  const cache = await openPageCache({ folder, bytesMax: 3000, log: silentLog })
  const hashes = Array.from({ length: 40 }, (_, index) => (index % 20).toString(16).padStart(2, '0').repeat(32))
  const keep = (hash: string, name = '0-a') => cache.picture({ hash, name }, never, async () => picture(1))
  for (const hash of hashes) await keep(hash)
  await cache.close()
  const folders = async () =>
    (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isDirectory()).length
  t.equal((await filesIn(folder)).length, 2)
  t.equal(await folders(), 1 + 2 * 2, 'the temporary folder, and two for each picture')

  await mkdir(join(folder, 'ee', OTHER), { recursive: true })
  const again = await openPageCache({ folder, bytesMax: 3000, log: silentLog })
  t.equal(await folders(), 5, 'and what an earlier run left empty is swept')
  // Pictures of one book are added and deleted concurrently: none is lost because its folder was deleted with another.
  let warnings = 0
  const busy = await openPageCache({ folder: await newFolder(t), bytesMax: 3000, log: { ...silentLog, warn: () => warnings++ } as Log })
  for (let round = 0; round < 10; round++) {
    const read = (name: number) => busy.picture({ hash: HASH, name: String(name) }, never, async () => picture(name))
    await Promise.all(Array.from({ length: 20 }, (_, index) => read(round * 20 + index)))
  }
  t.equal(warnings, 0)
  await busy.close()
  await again.close()
})

t.test('refusals and errors leave no files', async (t) => {
  const folder = await newFolder(t)
  const cache = await openPageCache({ folder, bytesMax: 1e6, log: silentLog })
  const key = { hash: HASH, name: '0-a' }
  t.same(await cache.picture(key, never, async () => ({ problem: 'damaged' })), { problem: 'damaged' })
  await t.rejects(
    cache.picture(key, never, async () => {
      throw new Error('renderer died')
    }),
    /renderer died/,
  )
  t.same(await cache.picture(key, never, async () => picture(3)), picture(3), 'and do not block later requests')

  const book = { hash: OTHER, index: 0, count: 2, bytes: 20 }
  const half = async (into: string) => {
    await writeFile(join(into, '0'), 'page')
    return { problem: 'cut off' }
  }
  t.same(await cache.extracted(book, never, half), { problem: 'cut off' })
  await t.rejects(
    cache.extracted(book, never, async (into) => {
      await writeFile(join(into, '0'), 'page')
      throw new Error('out of memory')
    }),
    /out of memory/,
  )
  await t.rejects(
    cache.extracted({ ...book, bytes: 2e6 }, never, async () => null),
    { code: 'unavailable', message: /Raise its limit/ },
  )
  t.same(await readdir(join(folder, 'temporary')), [])
  t.same((await filesIn(folder)).length, 1, 'only the picture is there')
  await cache.close()
})

t.test('a book is extracted once for all its pages', async (t) => {
  const folder = await newFolder(t)
  let runs = 0
  const extract = async (into: string) => {
    runs++
    await sleep(20)
    for (let index = 0; index < 3; index++) await writeFile(join(into, String(index)), `page ${index}`)
    return null
  }
  const open = () => openPageCache({ folder, bytesMax: 1e6, log: silentLog })
  const cache = await open()
  const read = async (from: typeof cache, index: number) => {
    const bytes = await from.extracted({ hash: HASH, index, count: 3, bytes: 18 }, never, extract)
    return bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : bytes
  }
  t.same(await Promise.all([0, 1, 2, 1].map((index) => read(cache, index))), ['page 0', 'page 1', 'page 2', 'page 1'])
  t.equal(runs, 1)
  await cache.close()
  const again = await open()
  t.same([await read(again, 2), runs], ['page 2', 1], 'kept over a restart')
  await writeFile(join(folder, HASH.slice(0, 2), HASH, 'pages', '2'), 'pagf 2')
  t.same([await read(again, 2), runs], ['page 2', 2], 'a damaged page is noticed and the book extracted again')

  const partial = async (into: string) => {
    runs++
    await writeFile(join(into, '1'), 'only this')
    return null
  }
  const readPartial = (from: typeof cache, index: number) => from.extracted({ hash: OTHER, index, count: 3, bytes: 27 }, never, partial)
  t.equal(await readPartial(again, 0), null, 'a page that was left out')
  t.same(await readPartial(again, 1), Buffer.from('only this'))
  await again.close()
  const third = await open()
  t.same(
    [await readPartial(third, 2), await readPartial(third, 1), runs],
    [null, Buffer.from('only this'), 3],
    'and is known to be, once and for all',
  )
  await third.close()
})

t.test('a caller that leaves does not cancel the work for the others', async (t) => {
  const folder = await newFolder(t)
  const cache = await openPageCache({ folder, bytesMax: 1e6, log: silentLog })
  const key = { hash: HASH, name: '0-a' }
  const aborted: string[] = []
  const slow = (name: string) => async (signal: AbortSignal) => {
    signal.addEventListener('abort', () => aborted.push(name))
    await sleep(60, undefined, { signal })
    return picture(5)
  }
  const leaver = new AbortController()
  const left = cache.picture(key, leaver.signal, slow('shared'))
  const stays = cache.picture(key, never, slow('unused'))
  setTimeout(() => leaver.abort(), 10)
  await t.rejects(left, { name: 'AbortError' })
  t.same(await stays, picture(5))
  t.same(aborted, [], 'the work went on')

  const only = new AbortController()
  const alone = cache.picture({ ...key, name: '1-a' }, only.signal, slow('alone'))
  setTimeout(() => only.abort(), 10)
  await t.rejects(alone, { name: 'AbortError' })
  t.same(aborted, ['alone'], 'without waiting callers, the work is aborted')
  t.same(await cache.picture({ ...key, name: '1-a' }, never, async () => picture(6)), picture(6))

  const waiting = cache.picture({ ...key, name: '2-a' }, never, slow('closing'))
  const refused = t.rejects(waiting, { name: 'AbortError' })
  await sleep(5)
  await cache.close()
  await refused
  t.same(aborted, ['alone', 'closing'], 'closing stops what runs')
})
