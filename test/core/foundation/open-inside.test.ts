import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { OutsideError, openInside, openInsideSync } from '#core/foundation/open-inside.ts'

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
  // Asynchronous and synchronous, with and without the path of the descriptor: all four agree.
  const read = async (path = book, from = root) => {
    const ways = [undefined, null].flatMap((descriptors) => [
      async () => {
        const file = await openInside(from, path, descriptors)
        return await file.readFile('utf8').finally(() => file.close())
      },
      async () => {
        const fd = openInsideSync(from, path, descriptors)
        try {
          return readFileSync(fd, 'utf8')
        } finally {
          closeSync(fd)
        }
      },
    ])
    const results = await Promise.allSettled(ways.map((way) => way()))
    t.equal(new Set(results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)))).size, 1, path)
    return await (results[0]?.status === 'fulfilled' ? results[0].value : Promise.reject(results[0]?.reason))
  }
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
