import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { agree, openHostOn } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const MAIN = 'export default { recommendations: { get: () => ({ recommendations: [] }) } }'
const network = [{ host: 'lists.example.org', methods: ['GET'], reason: 'The lists' }]
const manifestOf = (version: string, permissions: object) => ({
  version,
  permissions,
  capabilities: { recommendations: { methods: ['get'] } },
})

t.test('consent and rollback say for how many users the plugin pauses', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const { host } = await openHostOn(t, database)
  const room = await makeRoom(t)
  const run = (...words: string[]) =>
    runInProcess(['plugin', ...words, '--data-dir', path.join(room, 'data')], { env: { DATABASE_URL: url }, cwd: room })
  await writeFile(path.join(room, 'one.plugin'), pluginOf(MAIN, manifestOf('1.0.0', {})))
  await writeFile(path.join(room, 'two.plugin'), pluginOf(MAIN, manifestOf('1.1.0', { network })))
  const first = await run('install', 'one.plugin', '--yes')
  t.match(first, { code: 0, output: /consented; it runs\.\n$/ }, 'nobody has enabled it yet')
  const [plugin] = await host.plugins.list()
  const { id: pluginId = '', key = '' } = plugin ?? {}
  const users = [await addCaller(database, {}), await addCaller(database, {})]
  const agreeAll = async () => {
    for (const { userId } of users) await agree(host, database, { pluginId, userId })
  }
  await agreeAll()
  t.match(await run('install', 'two.plugin'), { code: 0, output: /not consented/ })
  t.match(await run('consent', key, '1.1.0', '--yes'), { code: 0, output: /it runs\.\nIt pauses for 2 users until they agree again\.\n$/ })
  await agreeAll()
  t.match(await run('rollback', key), { code: 0, output: /1\.0\.0 is enabled\.\nIt pauses for 2 users until they agree again\.\n$/ })
})
