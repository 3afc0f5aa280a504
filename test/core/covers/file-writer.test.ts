import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { halfPath, replaceFiles } from '#core/covers/file-writer.ts'

/** One is written by this thread, many are written by another one. */
for (const count of [1, 40]) {
  t.test(`${count} files are replaced`, async (t) => {
    const folder = t.testdir()
    const pathOf = (index: number) => join(folder, `${index % 3}`, `${index}.bin`)
    const filesOf = (text: string) =>
      Array.from({ length: count }, (_, index) => ({ path: pathOf(index), bytes: Buffer.from(`${text} ${index}`) }))
    const none = filesOf('').map(() => null)
    t.same(await replaceFiles(filesOf('first')), none, 'in folders that did not exist')
    writeFileSync(halfPath(pathOf(0)), 'half of one, left by a server that was killed')
    t.same(await replaceFiles(filesOf('second')), none)
    for (let index = 0; index < count; index++) t.equal(readFileSync(pathOf(index), 'utf8'), `second ${index}`)
    t.notOk(readdirSync(folder, { recursive: true }).some((name) => String(name).endsWith('.tmp')))
  })

  t.test(`a file among ${count} that cannot be written does not prevent the others`, async (t) => {
    const folder = t.testdir()
    const files = Array.from({ length: count + 1 }, (_, index) => ({ path: join(folder, `${index}`), bytes: Buffer.from(`${index}`) }))
    // A folder is in its place.
    mkdirSync(join(folder, '0'))
    const [error, ...others] = await replaceFiles(files)
    t.match(error, { code: 'EISDIR', message: /rename/ })
    t.ok(error instanceof Error)
    t.same(new Set(others), new Set([null]))
    t.equal(readFileSync(join(folder, '1'), 'utf8'), '1')
    t.notOk(existsSync(halfPath(join(folder, '0'))), 'nothing is left of it')
  })
}

t.test('calls at the same time are answered each with its own result', async (t) => {
  const folder = t.testdir()
  const all = await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      replaceFiles(
        Array.from({ length: 5 }, (_, index) => ({ path: join(folder, name, `${index}`), bytes: Buffer.from(name.repeat(1000)) })),
      ),
    ),
  )
  t.same(all.flat(), new Array(15).fill(null))
  t.equal(readFileSync(join(folder, 'c', '4'), 'utf8'), 'c'.repeat(1000))
})
