import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { openDataFolder } from '#core/embedded/data-folder.ts'
import { watchDataFolder } from '#core/embedded/data-folder-watch.ts'
import { type Log, silentLog } from '#core/foundation/log.ts'
import { eventually } from '#test/support/guests.ts'

t.test('a data folder that is renamed, replaced, emptied or deleted is noticed and logged, and so is its return', async (t) => {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-watch-test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  const held = await openDataFolder(path.join(room, 'data'), 'server')
  const folder = held.path
  t.teardown(() => held.close())
  const said: string[] = []
  const log: Log = { ...silentLog, error: (_fields, message) => said.push(message), warn: (_fields, message) => said.push(message) }
  const watch = await watchDataFolder(folder, log, { lookEveryMs: 20 })
  t.teardown(() => watch.close())
  const becomes = async (problem: RegExp | null) => {
    await eventually(() => (problem === null ? watch.problem() === null : problem.test(watch.problem() ?? '')), String(problem))
    t.match(said.at(-1), problem ?? /is back/)
  }
  t.equal(watch.problem(), null)
  const aside = path.join(room, 'aside')

  await rename(folder, aside)
  await becomes(/was renamed or deleted/)
  await mkdir(folder)
  await writeFile(path.join(folder, 'carrel.lock'), '{}')
  await becomes(/is not the same folder/)
  await rm(folder, { recursive: true })
  await rename(aside, folder)
  await becomes(null)

  const lock = path.join(folder, 'carrel.lock')
  await rename(lock, path.join(room, 'carrel.lock'))
  await becomes(/was emptied/)
  await rename(path.join(room, 'carrel.lock'), lock)
  await becomes(null)
  await rm(folder, { recursive: true })
  await becomes(/was renamed or deleted/)
  t.ok(said.length < 15, 'each change is logged once')
})
