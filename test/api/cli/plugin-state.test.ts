import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { ADMIN, makeRoom, startCarrel } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(300_000)

/** A plugin that finds one word. */
const saying = (word: string) =>
  `export default { metadata: { series: { search: () => ({ results: [{ externalId: "1", title: "${word}" }] }), get: () => ({ externalId: "1" }) } } }`

t.test('plugins are agreed to, gone back, stopped and taken away, and a running server goes by it', async (t) => {
  const { url, database } = await openTestDatabase(t)
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  const file = (name: string, bytes: Buffer) => {
    writeFileSync(path.join(room, name), bytes)
    return path.join(room, name)
  }
  const env = { DATABASE_URL: url }
  const run = async (...words: string[]) => {
    const { code, output } = await runInProcess([...words, '--data-dir', data], { env })
    // Errors are wrapped.
    return { code, output: output.replaceAll(/\n {4}/g, ' ') }
  }
  const server = await startCarrel(t, data, [], {
    env: { ...env, CARREL_ADMIN_USERNAME: ADMIN.username, CARREL_ADMIN_PASSWORD: ADMIN.password },
  })
  const key = /^carrel_\w+$/m.exec((await run('api-key', 'create', ADMIN.username, 'test')).output)?.[0] as string
  const ask = async (id: string) => {
    const answer = await fetch(`${server.url}/api/v1/plugins/${id}/execute`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ action: { metadata: { action: 'search', contentType: 'series', params: { query: 'x' } } } }),
    })
    return await answer.text()
  }

  t.match(await run('plugin', 'install', file('one.plugin', pluginOf(saying('first')))), { code: 0, output: /waits for consent/ })
  t.match(await run('plugin', 'list'), {
    output: /waiting[\s\S]*1\.0\.0 waits for consent: npm run carrel -- plugin consent org\.example\.echo/,
  })
  t.match(await run('plugin', 'consent', 'org.example.echo', '--yes'), {
    code: 0,
    output: /connects to api\.example\.org[\s\S]*have consented; it runs/,
  })
  t.match(await run('plugin', 'consent', 'org.example.echo'), { code: 1, output: /No version .* waits/ })
  const plugins = await fetch(`${server.url}/api/v1/admin/plugins`, { headers: { 'x-api-key': key } })
  const { id } = ((await plugins.json()) as { plugins: { id: string }[] }).plugins[0] as { id: string }
  t.match(await ask(id), /first/)

  // It asks for more than was agreed to.
  const more = {
    version: '1.1.0',
    permissions: { network: [{ host: 'api.example.org', methods: ['GET'], reason: 'The service' }], storage: { quotaKB: 64 } },
  }
  t.match(await run('plugin', 'install', file('two.plugin', pluginOf(saying('second'), more))), { code: 0, output: /waits for consent/ })
  t.match(await run('plugin', 'list'), { output: /1\.0\.0 {2}enabled[\s\S]* {2}1\.1\.0 waits for consent/ })
  t.match(await run('plugin', 'consent', 'org.example.echo', '1.2.0'), {
    code: 1,
    output: /no version "1\.2\.0".*The versions are 1\.1\.0, 1\.0\.0/,
  })
  t.match(await run('plugin', 'rollback', 'org.example.echo', '1.1.0'), {
    code: 1,
    output: 'org.example.echo 1.1.0 is newer than 1.0.0, which runs. To run it: npm run carrel -- plugin consent org.example.echo 1.1.0',
  })
  t.match(await run('plugin', 'consent', 'org.example.echo', '1.1.0', '--yes'), { code: 0, output: /\+ stores up to 64 KB/ })
  t.match(await ask(id), /second/)
  // It sends POST where the one that runs may only GET.
  t.match(await run('plugin', 'rollback', 'org.example.echo'), {
    code: 1,
    output: /waits for consent, because it connects to api\.example\.org \(GET, POST\)[\s\S]*consent to its SHA-256/,
  })
  t.match(await run('plugin', 'consent', 'org.example.echo', '1.0.0', '--yes'), { code: 0, output: /consented; it runs/ })
  t.match(await ask(id), /first/)
  t.match(await run('plugin', 'disable', 'org.example.echo'), { code: 0, output: /is disabled/ })
  t.notMatch(await ask(id), /first/)
  t.match(await run('plugin', 'enable', 'org.example.echo'), { code: 0, output: /is enabled/ })

  const stateReason = 'It broke its sandbox 3 times within 10 minutes. Last error: "cpu".'
  await database('plugins').where({ id }).update({ state: 'quarantined', state_reason: stateReason })
  t.match(await run('plugin', 'enable', 'org.example.echo'), {
    code: 1,
    output: `org.example.echo is in quarantine. ${stateReason} Reset it first: npm run carrel -- plugin reset org.example.echo`,
  })
  t.match(await run('plugin', 'reset', 'org.example.echo'), {
    code: 0,
    output:
      /^Deleted the failures of org\.example\.echo; it is disabled\.\nTo enable it: npm run carrel -- plugin enable org\.example\.echo/,
  })
  t.match(await run('plugin', 'enable', 'org.example.echo'), { code: 0, output: /is enabled/ })

  t.match(await run('plugin', 'install', 'echo', '--yes'), { code: 0 })
  t.match(await run('plugin', 'uninstall', 'echo'), { code: 0, output: /^Uninstalled carrel\.echo/ }, 'the one that install calls so')
  t.match(await run('plugin', 'uninstall', 'ecko'), { code: 1, output: /Did you mean/ })
  t.match(await run('plugin', 'uninstall', 'org.example.echo'), { code: 0, output: /^Uninstalled org\.example\.echo/ })
  t.notMatch(await ask(id), /first/)
  t.match(await run('plugin', 'list'), { output: /no plugin yet/ })
})
