import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { openHostOn } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

t.test('a review and the list name the hosts in the own network that a plugin may reach', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const { host } = await openHostOn(t, database)
  const data = path.join(await makeRoom(t), 'data')
  const run = (...words: string[]) => runInProcess(['plugin', ...words, '--data-dir', data], { env: { DATABASE_URL: url } })
  const main = 'export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } } }'
  const config = { type: 'object', properties: { site: { type: 'string' } } }
  const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(main, { permissions: { networkFromConfig: ['site'] }, config }), {
    userId: null,
  })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  for (const word of ['review', 'list'])
    t.notMatch(await run(...(word === 'list' ? [word] : [word, plugin.key])), { output: /own network/ }, word)
  await host.plugins.edit(plugin.id, { config: { site: 'http://192.168.1.5:8080/api' }, privateHosts: true })
  const line = /^ {2}may reach http:\/\/192\.168\.1\.5:8080 in your own network, which an administrator\s+allowed$/m
  t.match(await run('review', plugin.key), { code: 0, output: line })
  t.match(await run('list'), { code: 0, output: line })
})

t.test('a bundled plugin is printed as what comes with the server, and a file with its id is refused', async (t) => {
  const { url } = await openTestDatabase(t)
  const room = await makeRoom(t)
  const run = (...words: string[]) =>
    runInProcess(['plugin', ...words, '--data-dir', path.join(room, 'data')], { env: { DATABASE_URL: url }, cwd: room })
  const whose = /^ {2}comes with the server$/m
  const summary = /^ {2}> in lists, the author says: "/m
  for (const words of [
    ['review', 'open-library'],
    ['install', 'open-library'],
    ['consent', 'open-library'],
    ['review', 'open-library'],
  ]) {
    const { output } = await run(...words)
    t.match(output, whose, words.join(' '))
    t.match(output, summary, words.join(' '))
    t.notMatch(output, /not signed|from a file/, words.join(' '))
  }
  const main = 'export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } } }'
  await writeFile(path.join(room, 'forged.plugin'), pluginOf(main, { id: 'carrel.open-library' }))
  const forged = await run('review', 'forged.plugin')
  t.match(forged, { code: 1, output: /carrel\.open-library comes with this server, and this package is another one/ })
  t.notMatch(forged.output, whose)
})
