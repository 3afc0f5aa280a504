import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { OpenFiles } from '#workers/formats/open-files.ts'

const readlink = (fd: number) => readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')

t.test('a descriptor stays open while it is used, and is closed when nobody has used it for a while', async (t) => {
  const folder = t.testdir({ book: 'content' })
  const file = { root: folder, path: join(folder, 'book') }
  const files = new OpenFiles({ idleMs: 300, lookMs: 50 })
  t.teardown(() => files.close())
  const opened: number[] = []
  for (let turn = 0; turn < 10; turn++) {
    await files.withFile(file, async ({ fd }) => void opened.push(fd))
    await sleep(60)
  }
  t.same([new Set(opened).size, files.size()], [1, 1], 'each use starts the time again')
  for (let waited = 0; files.size() > 0 && waited < 100; waited++) await sleep(50)
  t.equal(files.size(), 0)
  await sleep(50)
  t.throws(() => readlink(opened[0] as number), { code: 'ENOENT' }, 'and it is closed')

  const end = Promise.withResolvers<void>()
  const used = files.withFile(file, async ({ fd }) => {
    await end.promise
    return readlink(fd)
  })
  for (let waited = 0; files.size() > 0 && waited < 100; waited++) await sleep(50)
  end.resolve()
  t.match(await used, /pos:/, 'a longer use keeps it')
})

t.test('a file that was replaced is opened again', async (t) => {
  const folder = t.testdir({ book: 'content', other: 'something else' })
  const file = { root: folder, path: join(folder, 'book') }
  const files = new OpenFiles()
  t.teardown(() => files.close())
  const identity = () => files.withFile(file, async (open) => open.identity)
  const before = await identity()
  t.equal(await identity(), before)
  await rename(join(folder, 'other'), file.path)
  await writeFile(join(folder, 'other'), '')
  t.not(await files.withFile(file, async (open) => open.identity, { fresh: true }), before)
})
