import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { closeInside, lstatInside, lstatInsideSync, OutsideError, openInside, openInsideSync } from '#core/foundation/open-inside.ts'

/** Asynchronous and synchronous, with and without the path of the descriptor: all four agree. */
async function readAll(t: Test, file: Parameters<typeof openInside>[0]): Promise<string> {
  const ways = [undefined, null].flatMap((descriptors) => [
    async () => {
      const opened = await openInside(file, descriptors)
      return await opened.readFile('utf8').finally(() => opened.close())
    },
    async () => {
      const fd = openInsideSync(file, descriptors)
      try {
        return readFileSync(fd, 'utf8')
      } finally {
        closeSync(fd)
      }
    },
  ])
  const results = await Promise.allSettled(ways.map((way) => way()))
  t.equal(new Set(results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)))).size, 1, file.path)
  return await (results[0]?.status === 'fulfilled' ? results[0].value : Promise.reject(results[0]?.reason))
}

t.test('a file is opened only when it really lies inside the folder', async (t) => {
  const room = mkdtempSync(join(tmpdir(), 'carrel-inside-'))
  t.teardown(() => rmSync(room, { recursive: true, force: true }))
  const root = join(room, 'library')
  mkdirSync(join(root, 'series'), { recursive: true })
  mkdirSync(join(room, 'library-secret'))
  const book = join(root, 'series/book.cbz')
  const secret = join(room, 'library-secret/book.cbz')
  writeFileSync(book, 'a book')
  writeFileSync(secret, 'a key')
  const read = async (path = book, from = root) => await readAll(t, { root: from, path })
  t.equal(await read(), 'a book')

  symlinkSync(root, join(room, 'link-to-library'))
  t.equal(await read(join(room, 'link-to-library/series/book.cbz'), join(room, 'link-to-library')), 'a book', 'a root that is a link')
  symlinkSync(join(root, 'series'), join(root, 'again'))
  t.equal(await read(join(root, 'again/book.cbz')), 'a book', 'a link that stays inside')

  unlinkSync(book)
  symlinkSync(secret, book)
  await t.rejects(read(), OutsideError, 'a link in its place')
  unlinkSync(book)
  symlinkSync(join(root, 'other.cbz'), book)
  await t.rejects(read(), OutsideError, 'a dangling link too')
  renameSync(join(root, 'series'), join(root, 'away'))
  symlinkSync(join(room, 'library-secret'), join(root, 'series'))
  await t.rejects(read(), OutsideError, 'a parent folder that became a link; a folder whose name has the same prefix is outside')
  await t.rejects(read(join(root, 'away/../../library-secret/book.cbz')), OutsideError)
  await t.rejects(read('/proc/self/environ'), OutsideError)

  const pipe = join(root, 'away/pipe.cbz')
  execFileSync('mkfifo', [pipe])
  await t.rejects(read(pipe), OutsideError, 'a pipe is refused without waiting')
  await t.rejects(read(join(root, 'away')), OutsideError, 'a folder')
  await t.rejects(read('/dev/null', '/dev'), OutsideError, 'a device')
  await t.rejects(read(join(root, 'nothing.cbz')), { code: 'ENOENT' })
})

t.test('links into a link target are followed, and no other ones', async (t) => {
  const room = realpathSync(mkdtempSync(join(tmpdir(), 'carrel-targets-')))
  t.teardown(() => rmSync(room, { recursive: true, force: true }))
  const [root, target] = [join(room, 'library'), join(room, 'disk')]
  for (const folder of ['library', 'disk/series', 'disk-secret', 'disk2']) mkdirSync(join(room, folder), { recursive: true })
  writeFileSync(join(target, 'series/book.cbz'), 'a book')
  writeFileSync(join(root, 'own.cbz'), 'its own')
  for (const place of ['disk-secret', 'disk2']) writeFileSync(join(room, place, 'book.cbz'), 'a key')
  const read = async (name: string, linkTargets = [target]) => await readAll(t, { root, linkTargets, path: join(root, name) })
  const link = (to: string, name: string) => symlinkSync(to, join(root, name))
  link(target, 'all')
  link(join(target, 'series/book.cbz'), 'book.cbz')
  link('../disk/series', 'relative')
  link('book.cbz', 'again.cbz')
  t.equal(await read('own.cbz'), 'its own')
  for (const name of ['all/series/book.cbz', 'book.cbz', 'relative/book.cbz', 'again.cbz']) {
    t.equal(await read(name), 'a book', name)
    await t.rejects(read(name, []), OutsideError, `${name} without link targets`)
    await t.rejects(read(name, [join(room, 'disk2')]), OutsideError, `${name} with others`)
    const facts = lstatSync(join(target, 'series/book.cbz'), { bigint: true })
    t.equal((await lstatInside({ root, path: join(root, name), linkTargets: [target] })).ino, facts.ino)
    t.equal(lstatInsideSync({ path: join(root, name), linkTargets: [target] })?.ino, facts.ino)
  }
  link(join(room, 'disk-secret'), 'secrets')
  link(join(room, 'disk2/book.cbz'), 'secret.cbz')
  link('own.cbz', 'inner.cbz')
  link('/proc/self/environ', 'environ.cbz')
  symlinkSync(join(room, 'disk2'), join(target, 'out'))
  symlinkSync(join(room, 'disk2/book.cbz'), join(target, 'series/out.cbz'))
  for (const name of ['secrets/book.cbz', 'secret.cbz', 'inner.cbz', 'environ.cbz', 'all/out/book.cbz', 'all/series/out.cbz', 'all/series'])
    await t.rejects(read(name), OutsideError, name)
  t.ok(lstatInsideSync({ path: join(root, 'secret.cbz'), linkTargets: [target] })?.isSymbolicLink(), 'nothing is said about other files')
  t.equal(lstatInsideSync({ path: join(root, 'nothing.cbz'), linkTargets: [target] }), undefined)

  renameSync(target, join(room, 'disk3'))
  symlinkSync(join(room, 'disk2'), target)
  await t.rejects(read('all/book.cbz'), OutsideError, 'a target that became a link')
  rmSync(target)
  await t.rejects(read('book.cbz'), { code: 'ENOENT' }, 'a target that is gone')
})

t.test('a link that is exchanged while a file is opened never leads out of the link targets', async (t) => {
  const room = realpathSync(mkdtempSync(join(tmpdir(), 'carrel-exchange-')))
  t.teardown(() => rmSync(room, { recursive: true, force: true }))
  const [root, target] = [join(room, 'library'), join(room, 'disk')]
  for (const folder of ['library', 'disk', 'secret']) mkdirSync(join(room, folder))
  writeFileSync(join(target, 'book.cbz'), 'a book')
  writeFileSync(join(room, 'secret/book.cbz'), 'a key')
  // Renaming exchanges the link at once: there is always one.
  const exchanger = spawn('sh', [
    '-c',
    `while :; do ln -s ${room}/secret ${root}/new; mv -T ${root}/new ${root}/link; ln -s ${target} ${root}/new; mv -T ${root}/new ${root}/link; done`,
  ])
  t.teardown(async () => {
    const ended = once(exchanger, 'close')
    exchanger.kill()
    // Its last command goes on after it, and has its output, too: what it makes must not come while the folder is deleted.
    await ended
  })
  while (!existsSync(join(root, 'link'))) await new Promise(setImmediate)
  const outcomes = { read: 0, refused: 0 }
  const file = { root, linkTargets: [target], path: join(root, 'link/book.cbz') }
  // Until both have been seen; the links change some hundred times a second.
  while (outcomes.read < 20 || outcomes.refused < 20) {
    for (const open of [async () => await openInside(file), async () => openInsideSync(file)]) {
      const opened = await open().catch((error: unknown) => {
        if (!(error instanceof OutsideError)) throw error
        return null
      })
      if (opened === null) outcomes.refused++
      else {
        outcomes.read++
        const text = typeof opened === 'number' ? readFileSync(opened, 'utf8') : await opened.readFile('utf8')
        if (text !== 'a book') t.fail(`read "${text}"`)
        if (typeof opened === 'number') closeSync(opened)
        else await opened.close()
      }
    }
    await new Promise(setImmediate)
  }
  t.pass(`${outcomes.read} read, ${outcomes.refused} refused`)
})

t.test('a file of a library is closed, and what its disk says about that is no error of the reader', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-closing-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'book.cbz')
  writeFileSync(path, 'a book')
  const opened = await openInside({ root: folder, path })
  await closeInside(folder, opened)
  await t.rejects(opened.stat(), { code: 'EBADF' })
  await t.resolves(closeInside(folder, { close: () => Promise.reject(new Error('EIO')) }))
})
