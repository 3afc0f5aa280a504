import t from 'tap'
import { printPlugins } from '#api/cli/plugin-list.ts'
import { pluginViews } from '#api/views/plugin-view.ts'
import { openTestHost } from '#test/support/plugin-hosts.ts'
import { fillPlugins } from '#test/support/plugin-rows.ts'

t.setTimeout(240_000)

t.test('a list takes as many statements for a hundred plugins as for one, on the command line and in the API', async (t) => {
  const { database, host } = await openTestHost(t)
  let statements = 0
  database.on('query', () => {
    statements += 1
  })
  const counted = async (work: () => Promise<unknown>) => {
    statements = 0
    await work()
    return statements
  }
  const lines: string[] = []
  const list = () =>
    counted(() =>
      printPlugins(
        database,
        { line: (text = '') => void lines.push(text), message: (text) => void lines.push(text) },
        { dataFolder: '/srv/my data' },
      ),
    )
  const views = () => counted(async () => pluginViews({ ...host, database }, await host.plugins.list()))
  await fillPlugins(database, { plugins: 1, versions: 3 })
  const one = [await list(), await views()]
  t.match(lines, [
    /^org\.example\.p1 1\.2\.0 {2}enabled {2}[0-9a-f-]{36}$/,
    '  > the author says: "Returns its input"',
    '  may reach http://192.168.1.5:8080 in your own network, which an administrator allowed',
    "  1.3.0 waits for consent: npm run carrel -- plugin consent org.example.p1 1.3.0 --data-dir '/srv/my data'",
  ])
  // Such as one that was stored while a later one runs.
  await database('plugin_versions').where('version', '1.3.0').update({ version: '1.1.5' })
  lines.length = 0
  await list()
  t.match(lines.at(-1), /^ {2}1\.1\.5 is older; to run it: .*plugin consent org\.example\.p1 1\.1\.5 --data-dir/)
  await database('plugins').delete()
  await fillPlugins(database, { plugins: 100, versions: 3 })
  t.same([await list(), await views()], one)
  t.ok(
    one.every((count) => count <= 3),
    one.join(', '),
  )
  t.equal(lines.length, 4 + 400)
})
