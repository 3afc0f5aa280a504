import { readFile, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import t, { type Test } from 'tap'
import { readCredentials } from '#plugins/devkit/credentials-file.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { runDev } from '#test/support/dev-process.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { manifestOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const TOKEN = 'tok-5f2a-very-secret-one'
/** Returns the status, and the service's echo of the request. */
const CODE = `export default { metadata: { series: {
  async search(_, ctx) {
    const { sent } = await ctx.http.json(ctx.config.site + '/titles')
    ctx.log.info('sent', { sent })
    return { results: [{ externalId: '1', title: await ctx.auth.status() + ' ' + sent }] }
  },
  get: ({ externalId }) => ({ externalId, title: externalId }) } } }`
const API_KEY = { type: 'apiKey', scope: 'server', bind: { hostFrom: 'site', header: 'X-Api-Key' } }

/** @param isStrict whether the service refuses requests without a key */
async function openAuthor(t: Test, manifest: object = { auth: API_KEY }, isStrict = false) {
  const asked: unknown[] = []
  const server = http.createServer(({ headers }, response) => {
    asked.push(headers['x-api-key'])
    response.setHeader('content-type', 'application/json')
    if (isStrict && headers['x-api-key'] === undefined) response.statusCode = 401
    response.end(JSON.stringify({ sent: headers['x-api-key'] ?? 'nothing' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const place = `localhost:${(server.address() as AddressInfo).port}`
  const folder = await openPluginFolder(t, {
    manifest: {
      permissions: { networkFromConfig: ['site'] },
      config: { type: 'object', properties: { site: { type: 'string', default: `http://${place}` } } },
      ...manifest,
    },
    files: {
      'src/main.ts': CODE,
      'fixtures/echo.json': null,
      'calls/search.json': JSON.stringify({ method: 'metadata.series.search', input: { query: 'dune', limit: 5 } }),
      'test/main.test.ts': `import { assertEqual, openPlugin, test } from '@carrel/plugin-sdk/testing'
        test('is signed in', async () => {
          const { answer } = await (await openPlugin({ fixtures: 'dune', auth: 'connected' })).call('metadata.series.search', { query: 'dune', limit: 5 })
          assertEqual(answer.results.map(({ title }) => title), ['connected [credential]'])
        })`,
    },
  })
  /** Outside the folder of the plugin. */
  const file = path.join(t.testdir(), 'mine.json')
  const give = async (fields: unknown) => await writeFile(file, typeof fields === 'string' ? fields : JSON.stringify(fields))
  return { asked, folder, place, file, give }
}

t.test('they are added to requests, and to nothing that is shown or recorded', async (t) => {
  const { asked, folder, place, file, give } = await openAuthor(t)
  await give({ token: TOKEN })
  const local = ['--allow-local', place]
  t.match(await runTool(folder, ['replay', 'calls/search.json', ...local]), { code: 0, stdout: /"missing nothing"/ })
  const replayed = await runTool(folder, ['replay', 'calls/search.json', ...local, '--credentials', file])
  t.match(replayed, { code: 0, stdout: /info {3}sent \{"sent":"\[credential\]"\}[\s\S]*"connected \[credential\]"/ })

  const test = (...given: string[]) => runTool(folder, ['test', '--no-conformance', ...given])
  t.match(await test('--credentials', file), { code: 1, stderr: /--credentials requires --record/ })
  const recorded = await test('--record', ...local, '--credentials', file)
  t.match(recorded, { code: 0, stdout: /recorded fixtures\/dune\.json/ })
  t.same(asked, [undefined, TOKEN, TOKEN])
  const fixtures = await readFile(path.join(folder, 'fixtures/dune.json'), 'utf8')
  t.match(fixtures, /\[credential\]/)
  t.notMatch(JSON.stringify([replayed, recorded, fixtures]), TOKEN)
  t.match(await test(), { code: 0, stdout: /✔ 1 passed/ }, 'fixtures need none')
  t.equal(asked.length, 3)
})

t.test('errors of an invalid file reveal nothing of its content', async (t) => {
  const { asked, folder, place, file, give } = await openAuthor(t)
  const run = () => runTool(folder, ['replay', 'calls/search.json', '--allow-local', place, '--credentials', file])
  t.match(await run(), { code: 1, stderr: /mine\.json cannot be read \(ENOENT\)/ })
  for (const [fields, why] of [
    [`{ "token": "${TOKEN}`, /must be an object of texts as JSON, with token/],
    [[TOKEN], /must be an object of texts/],
    [{ token: { deep: TOKEN } }, /must be an object of texts/],
    [{}, /mine\.json lacks token\. Write \{ "token": "…" \} into that file\./],
    [{ password: TOKEN }, /Unknown credential. Known are: token/],
    [{ token: `${TOKEN}\n` }, /not contain line breaks/],
    [{ token: TOKEN.repeat(5_000) }, /bytes; the limit is 65536/],
  ] as const) {
    await give(fields)
    const { code, stdout, stderr } = await run()
    t.equal(code, 1)
    t.match(stderr, why)
    t.notMatch(stdout + stderr, TOKEN)
  }
  t.same(asked, [])

  const plain = await openAuthor(t, {})
  await plain.give({ token: TOKEN })
  const given = await runTool(plain.folder, ['replay', 'calls/search.json', '--credentials', plain.file])
  t.match(given, { code: 1, stderr: /is not needed: the manifest requires no credentials/ })
})

t.test('a file that is not complete is refused, and a server needs no more than an administrator enters', async (t) => {
  const { asked, folder, place, file, give } = await openAuthor(t, { auth: { ...API_KEY, type: 'basic' } })
  for (const [fields, lacking] of [
    [{ username: 'u' }, 'password'],
    [{ password: 'p' }, 'username'],
    [{}, 'username and password'],
  ] as const) {
    await give(fields)
    const { code, stderr } = await runTool(folder, ['replay', 'calls/search.json', '--allow-local', place, '--credentials', file])
    t.equal(code, 1)
    t.match(stderr, `mine.json lacks ${lacking}. Write { "username": "…", "password": "…" } into that file.`)
  }
  t.same(asked, [])

  const oauth2 = manifestOf({ auth: { type: 'oauth2', scope: 'user' } }) as unknown as Manifest
  const input = { cwd: '/', flag: () => file }
  const client = { clientId: 'c', clientSecret: 's' }
  await give(client)
  await t.rejects(readCredentials(input, oauth2), { name: 'ToolProblem', message: /mine\.json lacks accessToken\./ })
  t.same(await readCredentials(input, oauth2, true), client, 'for the server too')
  await give({ clientSecret: 's' })
  await t.rejects(readCredentials(input, oauth2, true), { name: 'ToolProblem', message: /mine\.json lacks accessToken\./ })
})

t.test('a recording without them says so, and replaces no response by a refusal', async (t) => {
  const { folder, place, file, give } = await openAuthor(t, { auth: API_KEY }, true)
  await give({ token: TOKEN })
  const record = (...given: string[]) => runTool(folder, ['test', '--no-conformance', '--record', '--allow-local', place, ...given])
  t.match(await record('--credentials', file), { code: 0 })
  const fixtures = () => readFile(path.join(folder, 'fixtures/dune.json'), 'utf8')
  const before = await fixtures()
  const { code, stdout } = await record()
  t.equal(code, 1)
  const said = stdout.replaceAll(/\s+/g, ' ')
  t.match(said, '! Requests are sent without credentials, which auth in manifest.json requires. Add --credentials FILE. ')
  t.match(said, `! fixtures/dune.json: the response to GET http://${place}/titles stays as it was: the service answered 401 this time. `)
  t.notMatch(said, ' recorded ')
  t.equal(await fixtures(), before)
  t.match(await runTool(folder, ['test', '--no-conformance']), { code: 0, stdout: /✔ 1 passed/ })
  const replayed = await runTool(folder, ['replay', 'calls/search.json', '--allow-local', place])
  t.match(
    replayed.stdout.replaceAll(/\s+/g, ' '),
    /✖ auth: .* ! Requests are sent without credentials, which auth .* Add --credentials FILE\./,
  )
})

t.test('dev says at its start that requests carry none, and again when a service refuses one', async (t) => {
  const { folder, place } = await openAuthor(t, { auth: API_KEY }, true)
  const { says, end } = runDev(t, folder, ['--allow-local', place])
  await says(/Requests\s+are\s+sent\s+without\s+credentials/g)
  const [page] = await says(/http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\//g)
  await says(/✔ Built 1\.0\.0/g)
  const call = { method: 'metadata.series.search', input: { query: 'dune', limit: 5 } }
  const answered = async (more: object) => {
    const body = JSON.stringify({ ...call, ...more })
    const response = await fetch(`${page}call`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await response.json()) as Record<string, unknown>
  }
  t.match(await answered({}), {
    code: 'auth',
    message: `No credentials are entered for http://${place}. Start dev with --credentials FILE. It said: `,
  })
  const request = { url: `http://${place}/titles` }
  const fixtures = { formatVersion: 1, exchanges: [{ request, response: { status: 401 } }] }
  const { code, message } = await answered({ fixtures })
  t.equal(code, 'auth')
  t.notMatch(message, 'No credentials', 'fixtures need none')
  t.equal(await end(), 0)
})
