import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeRoom, runCommand } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const MAIN = `export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } } }`
const MANIFEST = {
  permissions: { networkFromConfig: ['site'] },
  config: {
    type: 'object',
    properties: {
      site: { type: 'string', format: 'uri' },
      pages: { type: 'integer', default: 3 },
      tags: { type: 'array', items: { type: 'string' } },
      pin: { type: 'string', format: 'password' },
    },
    required: ['site'],
  },
  auth: { type: 'apiKey', scope: 'server', bind: { hostFrom: 'site', header: 'x-key' } },
}

t.test('a plugin gets its configuration and credentials by its name, and says what it still needs', async (t) => {
  const { url, database } = await openTestDatabase(t)
  const room = await makeRoom(t)
  const data = path.join(room, 'data')
  const env = { DATABASE_URL: url }
  const run = async (...words: string[]) => {
    const { code, output } = await runInProcess([...words, '--data-dir', data], { env })
    return { code, output: output.replaceAll(/\n {4}/g, ' ') }
  }
  const enter = (input: string) => runCommand(['plugin', 'credentials', 'org.example.echo', '--data-dir', data], { env, input })
  const file = path.join(room, 'one.plugin')
  writeFileSync(file, pluginOf(MAIN, MANIFEST))

  const installed = await run('plugin', 'install', file, '--yes')
  t.match(installed, {
    code: 0,
    output: /You have consented; it is enabled\.\nIt still needs site:\n .*plugin config org\.example\.echo site=VALUE/,
  })
  t.match(installed.output, /needs credentials for its service:\n .*plugin credentials org\.example\.echo/)

  t.match(await run('plugin', 'config', 'org.example.echo'), {
    code: 0,
    output: /^pages = 3 \(default\)\npin = \(secret, not set\)\nsite = not set\ntags = not set\n/,
  })
  t.match(await run('plugin', 'config', 'org.example.echo', 'sites=x'), { code: 1, output: /no setting "sites".*Did you mean site/ })
  t.match(await run('plugin', 'config', 'org.example.echo', 'site'), { code: 1, output: /Give it as site=VALUE/ })
  t.match(await run('plugin', 'config', 'org.example.echo', 'pin=1234'), {
    code: 1,
    output: /pin is secret, and others can see the arguments[\s\S]*plugin credentials org\.example\.echo/,
  })
  t.match(await run('plugin', 'config', 'org.example.echo', 'pages=many', 'site=https://books.example.org'), { code: 1, output: /pages/ })
  t.match(await run('plugin', 'config', 'org.example.echo', 'site=http://192.168.1.5:8080'), { code: 1, output: /with --private-hosts/ })
  t.match(await run('plugin', 'config', 'org.example.echo', 'site=http://192.168.1.5:8080', '--private-hosts'), {
    code: 0,
    output: /site = "http:\/\/192\.168\.1\.5:8080"[\s\S]*may reach http:\/\/192\.168\.1\.5:8080/,
  })
  t.match(await run('plugin', 'config', 'org.example.echo', 'site=https://books.example.org', 'pages=5', 'tags=a,b'), {
    code: 0,
    output:
      /^pages = 5\npin = \(secret, not set\)\nsite = "https:\/\/books\.example\.org"\ntags = \["a","b"\]\nIt still needs credentials for https:\/\/books/,
  })

  t.match(await enter(''), { code: 1, output: /Nothing was entered/ })
  t.match(await enter('s3cret\n4711\n'), {
    code: 0,
    output: /sends them to https:\/\/books\.example\.org[\s\S]*Stored token, pin of org\.example\.echo\.\n$/,
  })
  t.match(await run('plugin', 'config', 'org.example.echo', 'pages='), {
    code: 0,
    output: /^pages = 3 \(default\)\npin = \(secret, stored\)\n/,
  })
  const { id } = await database('plugins').first('id')
  t.match(await run('plugin', 'test', id), { code: 0, output: /1\.0\.0 starts\. \d+ ms\.\n$/ })
  t.match(await run('plugin', 'list'), { code: 0, output: new RegExp(`org\\.example\\.echo 1\\.0\\.0 {2}enabled {2}${id}`) })
  t.match(await run('plugin', 'credentials', 'org.example.echo', '--delete'), { code: 0, output: /Deleted/ })
  t.match(await run('plugin', 'test', 'org.example.echo'), { code: 0, output: /still needs credentials/ })
  await run('plugin', 'disable', 'org.example.echo')
  t.match(await run('plugin', 'test', 'org.example.echo'), {
    code: 1,
    output: /An administrator has disabled "Echo"\. It runs again when an administrator enables it\./,
  })
})

t.test('plugin config --private-hosts allows the hosts that it names, and no other', async (t) => {
  const { url, database } = await openTestDatabase(t)
  const room = await makeRoom(t)
  const env = { DATABASE_URL: url }
  const run = (...words: string[]) => runInProcess(['plugin', ...words, '--data-dir', path.join(room, 'data')], { env })
  const text = (proposed?: string) => ({ type: 'string', ...(proposed !== undefined && { default: proposed }) })
  const hosts = { site: text(), mirror: text('http://api.author.example:8080'), archive: text() }
  const file = path.join(room, 'one.plugin')
  writeFileSync(
    file,
    pluginOf(MAIN, { permissions: { networkFromConfig: Object.keys(hosts) }, config: { type: 'object', properties: hosts } }),
  )
  await run('install', file, '--yes')
  const granted = async () => (await database('plugins').first('private_origins')).private_origins
  const config = (...words: string[]) => run('config', 'org.example.echo', ...words)
  t.match(await config('--private-hosts'), { code: 1, output: /never[\s]+the[\s]+defaults[\s]+of[\s]+an[\s]+author/ })
  t.equal((await config('archive=https://archive.example.org')).code, 0)
  t.equal((await config('site=http://192.168.1.20:8080', '--private-hosts')).code, 0)
  t.same(await granted(), ['http://192.168.1.20:8080'])
  t.equal((await config('--private-hosts')).code, 0)
  t.same((await granted()).toSorted(), ['http://192.168.1.20:8080', 'https://archive.example.org'], 'all that are entered')
  t.equal((await config('--no-private-hosts')).code, 0)
  t.same(await granted(), [])
})
