import { existsSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { OpenFiles } from '#workers/formats/open-files.ts'

const infoOf = (fd: number) => `/proc/self/fdinfo/${fd}`

t.test('a descriptor stays open while it is used, and is closed when nobody has used it for a while', async (t) => {
  const folder = t.testdir({ book: 'content' })
  const file = { root: folder, path: join(folder, 'book') }
  // Longer than a machine may stand still between two uses, and shorter than all of them.
  const files = new OpenFiles({ idleMs: 1_500, lookMs: 50 })
  t.teardown(() => files.close())
  const opened: number[] = []
  for (let turn = 0; turn < 8; turn++) {
    await files.withFile(file, async ({ fd }) => void opened.push(fd))
    // Eight of these are longer than a file may be idle.
    await sleep(250)
  }
  t.same([new Set(opened).size, files.size()], [1, 1], 'each use starts the time again')
  for (let waited = 0; files.size() > 0 && waited < 400; waited++) await sleep(50)
  t.equal(files.size(), 0)
  const isOpen = () => existsSync(infoOf(opened[0] as number))
  for (let waited = 0; isOpen() && waited < 400; waited++) await sleep(50)
  t.notOk(isOpen(), 'and it is closed')

  const end = Promise.withResolvers<void>()
  const used = files.withFile(file, async ({ fd }) => {
    await end.promise
    return readFileSync(infoOf(fd), 'utf8')
  })
  for (let waited = 0; files.size() > 0 && waited < 400; waited++) await sleep(50)
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
