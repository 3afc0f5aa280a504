import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.setTimeout(120_000)

t.test('how a library is watched is said when it is added, or later, and keeps the rest of its settings', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const room = await makeRoom(t)
  await mkdir(path.join(room, 'data'))
  await mkdir(path.join(room, 'Books'))
  const run = async (...words: string[]) =>
    await runInProcess([...words, '--data-dir', path.join(room, 'data')], { env: { DATABASE_URL: url }, cwd: room })
  const config = async () => (await database('libraries').first()).scanning_config

  t.match(await run('library', 'add', 'Books', '--watch', 'pol'), { code: 1, output: /There is no watch "pol"\. Did you mean poll\?/ })
  t.match(await run('library', 'add', 'Books', '--watch', 'off'), { code: 0 })
  t.same(await config(), { enabled: true, scanMode: 'normal', scanOnStart: true, watch: 'off' })
  const scanning = { enabled: true, scanMode: 'deep', watch: 'poll', pollMinutes: 30 }
  await database('libraries').update({ scanning_config: JSON.stringify(scanning) })
  t.match(await run('library', 'edit', 'Books', '--watch', 'poll'), { code: 0 })
  t.same(await config(), scanning)
  t.match(await run('library', 'edit', 'Books', '--watch', 'on'), { code: 0 })
  t.same(await config(), { enabled: true, scanMode: 'deep', watch: 'on' }, 'the interval is of poll only')
})
