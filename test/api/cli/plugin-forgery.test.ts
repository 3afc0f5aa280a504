import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import t from 'tap'
import { commands } from '#api/cli/commands.ts'
import { pluginLogs } from '#api/cli/plugin-logs.ts'
import { Terminal } from '#api/cli/terminal.ts'
import { silentLog } from '#core/foundation/log.ts'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { FORGERIES, forgedIn, nameOf } from '#test/support/forged-words.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { testSettings } from '#test/support/server.ts'

t.setTimeout(300_000)

const SERIES = 'metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } }'
/** Starting a sandbox for each forgery would take minutes; the printer has a test of each. */
const SOME = [...FORGERIES.filter((_, index) => index % 9 === 0), FORGERIES.join('\n')]

const ID = 'org.example.echo'
const wordsOf = (line: string) => line.split(' ')
/** The commands for plugins that print words of strangers which are stored. */
const LINES = ['list', `review ${ID}`, `consent ${ID}`, `consent ${ID} --yes`, `config ${ID}`, 'repository list'].map(wordsOf)
/** Those that print some in a message at most. */
const SHORT_LINES = [
  ...[`config ${ID} chosen=other`, `credentials ${ID} --delete`, `test ${ID}`],
  ...[`reset ${ID}`, `rollback ${ID}`, `disable ${ID}`, `enable ${ID}`],
].map(wordsOf)
/** The other tests here run `install` and `logs`; what those of repositories print is in the list of them too. */
const OTHERS = ['install', 'logs', 'uninstall', ...['add', 'install', 'refresh', 'remove'].map((verb) => `repository ${verb}`)]

t.test('no error that a package throws stands on the terminal as a line of the program', async (t) => {
  const room = await makeRoom(t)
  const { url } = await openTestDatabase(t)
  for (const [index, text] of SOME.entries()) {
    const thrown = `throw new Error(${JSON.stringify(text)})`
    const isLoaded = index % 2 === 1
    const code = !isLoaded ? `${thrown}\nexport default { ${SERIES} }` : `export default { setup() { ${thrown} }, ${SERIES} }`
    const file = path.join(room, `${index}.plugin`)
    await writeFile(file, pluginOf(code, { id: `org.example.e${index}` }))
    const words = ['plugin', 'install', file, '--yes', '--data-dir', path.join(room, 'data')]
    const { code: exit, output } = await runInProcess(words, { env: { DATABASE_URL: url } })
    if (!isLoaded) t.equal(exit, 1, nameOf(output))
    // Of a package that starts, the command says this itself.
    const forgeries = forgedIn(output).filter((row) => !isLoaded || row !== 'You have consented; it runs.')
    t.same(forgeries, [], nameOf(text))
  }
})

t.test('no member of a stored manifest, README or reason does, in any command', async (t) => {
  const room = await makeRoom(t)
  const { url, database } = await openTestDatabase(t)
  await writeFile(path.join(room, 'one.plugin'), pluginOf(`export default { ${SERIES} }`))
  const run = (...words: string[]) =>
    runInProcess(['plugin', ...words, '--data-dir', path.join(room, 'data')], { env: { DATABASE_URL: url }, cwd: room })
  t.match(await run('install', 'one.plugin', '--yes'), { code: 0 })
  const names = commands.flatMap(({ name }) => (name.startsWith('plugin ') ? [name.slice('plugin '.length)] : []))
  const isRun = (name: string) => [...LINES, ...SHORT_LINES].some((line) => name.split(' ').every((word, at) => word === line[at]))
  t.same(names.filter((name) => !isRun(name)).sort(), OTHERS.sort(), 'each command is tried, or is among the others')
  await database('plugin_repositories').insert({ url: 'https://plugins.example.org/', name: 'Plugins', public_key: 'key' })
  const { manifest } = await database('plugin_versions').first('manifest')
  // Lone halves of characters and null characters cannot be stored.
  const texts = SOME.map((one) => one.replaceAll('\0', '').toWellFormed())
  for (const text of texts) {
    const [{ host, methods }] = manifest.permissions.network
    const forged = {
      ...manifest,
      ...{ name: text, summary: text, description: text, author: { name: text }, license: text },
      permissions: { ...manifest.permissions, network: [{ host, methods, reason: text }] },
      userConfig: { type: 'object', properties: { [text.slice(0, 60)]: { type: 'string', title: text, default: text } } },
      // After a name of six or five letters, seventy spaces fill the row of a value in quotation marks.
      config: {
        type: 'object',
        properties: {
          places: { type: 'string', title: text, default: text },
          words: { type: 'array', items: { type: 'string' }, default: [text] },
          chosen: { type: 'string', enum: [text, 'other'] },
          secret: { type: 'string', format: 'password', description: text },
        },
      },
    }
    await database('plugin_versions').update({ manifest: JSON.stringify(forged), readme: text })
    await database('plugins').update({ state_reason: text, config: { chosen: text } })
    await database('plugin_repositories').update({ name: text, error: text })
    for (const words of text === texts.at(-1) ? [...LINES, ...SHORT_LINES] : LINES) {
      const { output } = await run(...words)
      // After consent the last command says so itself.
      const forgeries = forgedIn(output).filter((row) => words.at(-1) !== '--yes' || row !== 'You have consented; it runs.')
      t.same(forgeries, [], `${words.join(' ')} with ${nameOf(text)}`)
    }
  }
})

t.test('no log line of a plugin does, nor an answer of a server', async (t) => {
  let answer: { status: number; body: unknown } = { status: 200, body: {} }
  const server = http.createServer((request, response) => {
    const isList = request.url?.endsWith('/plugins') === true
    response.statusCode = isList ? 200 : answer.status
    response.end(isList ? '{"plugins":[{"id":"1","name":"org.example.echo"}]}' : JSON.stringify(answer.body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const flags: Record<string, string> = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'key' }
  let output = ''
  const run = async () => {
    output = ''
    const out = new Terminal({ write: (text: string) => (output += text) })
    const input = { settings: testSettings({ port: 1 }), words: ['1'], env: {}, cwd: '/', out, log: silentLog }
    return await pluginLogs.run({ ...input, flag: (name: string) => flags[name], stop: new AbortController().signal })
  }
  const at = '2026-11-27T20:00:00.000Z'
  const lines = FORGERIES.map((message, id) => ({
    id,
    at,
    level: 'info',
    method: id % 2 === 0 ? 'metadata.series.search' : null,
    message,
    data: message,
  }))
  answer = { status: 200, body: { lines, lastId: lines.length } }
  t.equal(await run(), 0)
  t.same(forgedIn(output), [])
  t.equal(output.split('\n').filter((line) => line.startsWith(at)).length, lines.length, 'each begins a line')
  t.ok(
    output.split('\n').every((line) => line === '' || line.startsWith(at) || line.startsWith('    ')),
    'the others are indented',
  )
  for (const message of FORGERIES) {
    answer = { status: 403, body: { message } }
    const error = await run().then(
      () => null,
      (refused: Error) => refused,
    )
    t.match(error?.message, /answers 403:/)
    t.same(forgedIn(`${output}${error?.message}`), [], nameOf(message))
  }
})
