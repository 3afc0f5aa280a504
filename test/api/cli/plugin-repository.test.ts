import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { pluginRepositoryCommands } from '#api/cli/plugin-repository.ts'
import { Terminal } from '#api/cli/terminal.ts'
import { openDataFolder } from '#core/embedded/data-folder.ts'
import { silentLog } from '#core/foundation/log.ts'
import { messageLines } from '#core/foundation/stranger-text.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { both, INDEX, key, one, publicKey, two } from '#test/support/plugin-repositories.ts'
import { type Files, filesOf, indexOf, openRepositoryServer, REPOSITORY_URL, sha256Of } from '#test/support/plugin-repository.ts'
import { testSettings } from '#test/support/server.ts'

t.setTimeout(240_000)

/** @param line what follows `carrel plugin repository` */
async function runCommand(input: Pick<CommandInput, 'settings' | 'network'>, line: string, flags: Record<string, string> = {}) {
  const [verb, ...words] = line.split(' ')
  const command = pluginRepositoryCommands.find(({ name }) => name === `plugin repository ${verb}`)
  const written: string[] = []
  const code = await command?.run({
    ...input,
    words,
    flag: (name) => flags[name],
    env: {},
    cwd: input.settings.dataFolder,
    out: new Terminal({ write: (text) => written.push(text) }),
    log: silentLog,
    stop: new AbortController().signal,
  })
  return { code, output: written.join('') }
}

t.test('repositories from the command line', onlyFull, async (t) => {
  const { url } = await openTestDatabase(t)
  const dataFolder = await mkdtemp(path.join(os.tmpdir(), 'carrel-repository-test-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const files: Files = filesOf(both, key, { '1.0.0': one, '1.1.0': two })
  const server = await openRepositoryServer(t, files)
  const settings = testSettings({ dataFolder, databaseUrl: url })
  const run = (line: string, flags?: Record<string, string>) => runCommand({ settings, network: server.way }, line, flags)
  const refused = (message: RegExp) => ({ name: CommandProblem.name, message })

  t.match(await run('list'), { code: 0, output: /no plugin repository yet/ })
  const looked = await run(`add ${REPOSITORY_URL}`)
  t.match(looked, { code: 0, output: /: 1 plugin\.[\s\S]*it names itself: "Plugins of example\.org"/ })
  t.ok(looked.output.includes(fingerprintOf(publicKey)) && looked.output.includes(`--key ${publicKey}`))
  const allowing = { ...settings, plugins: { ...settings.plugins, allowLocal: ['localhost:8602'] } }
  t.match(await runCommand({ settings: allowing, network: server.way }, `add ${REPOSITORY_URL}`), {
    output: /--key \S+ --plugin-allow-local localhost:8602/,
  })
  t.match(await run('list'), { output: /no plugin repository yet/ }, 'to look is not to trust')
  t.match(await run(`add ${REPOSITORY_URL}`, { key: publicKey }), {
    code: 0,
    output: /Added http[^ ]*: 1 plugin\.\n {2}> it names itself: "Plugins of example\.org"/,
  })
  t.match(await run('list'), { output: /plugins\.example\.org\/carrel\/ {2}1 plugin {2}fetched 20/ })
  await t.rejects(run('add http://plugins.example.org/'), refused(/is not https/))
  await t.rejects(run('refresh https://plugins.example.org/carel/'), refused(/Did you mean https:\/\/plugins\.example\.org\/carrel\//))

  t.match(await run(`install ${REPOSITORY_URL} org.example.echo 1.0.0`), {
    code: 0,
    output: /echo 1\.0\.0[\s\S]*connects to api\.example\.org[\s\S]*waits for consent/,
  })
  t.match(await run(`install ${REPOSITORY_URL} org.example.echo`, { yes: 'true' }), {
    code: 0,
    output: /echo 1\.1\.0[\s\S]*You have consented; it runs/,
  })
  await t.rejects(
    run(`install ${REPOSITORY_URL} org.example.echo`, { sha256: sha256Of(one) }),
    refused(/has the SHA-256[\s\S]*was\s+not\s+installed/),
    'nothing is stored but what was reviewed',
  )
  await t.rejects(run(`install ${REPOSITORY_URL} org.example.none`), refused(/has no plugin\s+org\.example\.none/))

  t.match(await run('refresh https://plugins.example.org/carrel'), { code: 0, output: /1 plugin/ })
  const index = files[INDEX] as Buffer
  files[INDEX] = Buffer.from('{}')
  await t.rejects(run(`refresh ${REPOSITORY_URL}`), refused(/not signed by the key/))
  t.match(await run('list'), { output: /the last attempt failed: "[^\n]*not signed by the key/ })
  files[INDEX] = index
  t.match(await run(`remove ${REPOSITORY_URL}`), { code: 0, output: /^Removed / })
  await t.rejects(run(`remove ${REPOSITORY_URL}`), refused(/There is no plugin repository/))
})

t.test('a repository on this machine is taken where its place is named, and nowhere else', async (t) => {
  const { url } = await openTestDatabase(t)
  const dataFolder = await mkdtemp(path.join(os.tmpdir(), 'carrel-repository-test-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const served: Record<string, Buffer> = {}
  const asked: string[] = []
  const server = http.createServer((request, response) => {
    asked.push(request.url ?? '')
    const file = served[request.url ?? '']
    // Not writeHead: the server in this process has changed what that answers.
    response.statusCode = file === undefined ? 404 : 200
    response.end(file)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const folder = `http://localhost:${port}/carrel/`
  const { plugins } = JSON.parse(filesOf(both, key)[INDEX]?.toString() ?? '') as { plugins: [] }
  Object.assign(served, filesOf(indexOf({ url: folder, plugins }), key, { '1.0.0': one, '1.1.0': two }))
  const run = async (line: string, allowLocal: string[], flags?: Record<string, string>) => {
    const settings = testSettings({ dataFolder, databaseUrl: url })
    return await runCommand({ settings: { ...settings, plugins: { ...settings.plugins, allowLocal } } }, line, flags)
  }
  const origin = `http://localhost:${port}`
  const hint =
    `If it is a service of yours for development, start the server with --plugin-allow-local localhost:${port}; ` +
    'commands follow a running server, or take the same flag.'
  const refused = { message: messageLines(`${origin} is not https. ${hint}`).join('\n') }
  for (const allowLocal of [[], [`127.0.0.1:${port}`], ['localhost:1']])
    await t.rejects(run(`add ${folder}`, allowLocal), refused, allowLocal.join())
  t.same(asked, [])
  const held = await openDataFolder(dataFolder, 'server', { allowLocal: [`localhost:${port}`] })
  t.match(await run(`add ${folder}`, []), { code: 0, output: /Fingerprint of the key/ }, 'a running server of the data folder decides')
  await held.close()
  await t.rejects(run(`add ${folder}`, []), refused)
  const local = [`localhost:${port}`]
  t.match(await run(`add ${folder}`, local, { key: publicKey }), {
    code: 0,
    output: /Added http[^ ]*: 1 plugin\.\n {2}> it names itself: "Plugins of example\.org"/,
  })
  t.match(await run(`install ${folder} org.example.echo`, local, { yes: 'true' }), { code: 0, output: /echo 1\.1\.0[\s\S]*it runs/ })
  const gone = { message: messageLines(`Could not refresh it: ${origin} is not at a public host. ${hint}`).join('\n') }
  await t.rejects(run(`refresh ${folder}`, []), gone, 'once the setting is gone, so is the way')
  // What it names elsewhere on this machine is nobody's to fetch.
  const elsewhere = JSON.parse(JSON.stringify(plugins).replaceAll('packages/', `http://localhost:${port + 1}/`)) as []
  t.throws(() => filesOf(indexOf({ url: folder, plugins: elsewhere, sequence: 2 }), key), { message: /is not an https URL/ })
  t.throws(() => filesOf(indexOf({ url: 'http://plugins.example.org/' }), key), { message: /URL of a repository must be https/ })
})
