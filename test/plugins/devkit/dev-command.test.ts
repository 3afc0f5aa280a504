import { readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { runDev } from '#test/support/dev-process.ts'
import { FAILING, lineOf } from '#test/support/failing-plugin.ts'
import { ECHO, openPluginFolder } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

/** Starts `dev`, and waits until it has built the plugin, or could not. */
async function startDev(t: Test, folder: string, given: string[] = []) {
  const { says: saysAll, end, clear } = runDev(t, folder, given)
  const says = (wanted: RegExp) => saysAll(new RegExp(wanted, 'g'))
  const [url = ''] = await says(/http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\//)
  await says(/✔ Built 1\.0\.0|✖/)
  const ask = async (place: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(url + place, init)
    return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
  }
  return { url, says, ask, end, clear }
}

t.test('the page calls the plugin, and its storage survives every build', async (t) => {
  const folder = await openPluginFolder(t)
  const { url, says, ask, end, clear } = await startDev(t, folder)
  const page = await fetch(url)
  const html = await page.text()
  const policy = page.headers.get('content-security-policy') ?? ''
  t.match(policy, /default-src 'none'; connect-src 'self'; script-src 'nonce-/)
  const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1]
  t.ok(html.includes(`<script nonce="${nonce}">`) && !html.includes('{{'))
  t.match((await ask('state')).answer, {
    plugin: { id: 'org.example.echo' },
    methods: [{ name: 'metadata.series.search', cpuMs: 500, wallMs: 20_000 }, { name: 'metadata.series.get' }],
    calls: [{ name: 'search', fixtures: 'echo' }],
    fixtures: ['echo'],
  })

  const searched = await ask('call', { method: 'metadata.series.search', input: { query: 'echo', limit: 1 }, fixtures: 'echo' })
  t.match(searched, {
    status: 200,
    answer: {
      answer: { results: [{ title: 'Echo' }] },
      trace: { requests: [{ status: 200 }], log: [{ message: 'found' }] },
      cpuMsMax: 500,
    },
  })
  const get = { method: 'metadata.series.get', input: { externalId: '1' } }
  t.match((await ask('call', get)).answer, { storage: { times: 1 } })
  // Put there as a whole: a file that is written in place is empty for a moment, and an empty one can be built.
  const write = async (text: string) => {
    await writeFile(`${folder}.new`, text)
    await rename(`${folder}.new`, path.join(folder, 'src/main.ts'))
  }
  clear()
  await write(ECHO.replace('title: externalId }', "title: 'changed' }"))
  await says(/✔ Built 1\.0\.0/)
  t.match((await ask('call', get)).answer, { answer: { title: 'changed' }, storage: { times: 2 } })
  clear()
  await write('const const')
  await says(/✖ The bundler reports errors:\n +src\/main\.ts:1:7/)
  t.match((await ask('call', get)).answer, { storage: { times: 3 } }, 'the last successful build still runs')

  t.match(await ask('save', { name: 'one-more', call: get }), { status: 200, answer: { file: path.join('calls', 'one-more.json') } })
  t.same(JSON.parse(await readFile(path.join(folder, 'calls', 'one-more.json'), 'utf8')), get)
  t.match(await ask('save', { name: '../manifest', call: get }), { status: 400, answer: { message: /The name of a call/ } })
  t.match(await ask('call', { method: 'metadata.series.steal' }), {
    status: 400,
    answer: { message: /"method" is "metadata.series.steal"; it must be one of/ },
  })
  t.equal(await end(), 0)
  await t.rejects(fetch(url), 'the page is closed')
})

t.test('a call on the page is for a user or for nobody, and a request without a fixture fails it', async (t) => {
  const folder = await openPluginFolder(t, {
    manifest: { capabilities: { 'metadata.series': { methods: ['search', 'get'] }, recommendations: { methods: ['get'] } } },
    files: {
      'src/main.ts': `export default {
        metadata: { series: {
          search: () => ({ results: [] }),
          async get({ externalId }, ctx) {
            await ctx.http.json('https://api.example.org/more').catch(() => null)
            await ctx.storage.set('of', 'the plugin')
            return { externalId, title: externalId }
          } } },
        recommendations: {
          async get(request, ctx) {
            await ctx.storage.set('of', 'the user')
            return { recommendations: [] }
          } } }`,
      'calls/search.json': null,
    },
  })
  const { ask } = await startDev(t, folder)
  const get = { method: 'metadata.series.get', input: { externalId: '1' }, fixtures: 'echo' }
  const recommend = { method: 'recommendations.get', input: { limit: 5, exclude: [] }, fixtures: 'echo' }
  const unmatched = {
    code: 'unmatched',
    message: /^No fixture matches GET https:\/\/api\.example\.org\/more\. Record it with: .* test --record$/,
    storage: { of: 'the plugin' },
  }
  t.match((await ask('call', get)).answer, unmatched)
  t.match((await ask('call', recommend)).answer, { answer: { recommendations: [] }, storage: { of: 'the user' } })
  t.match((await ask('call', get)).answer, unmatched, 'of which the user’s storage is no part')
  t.match(await ask('call', { ...get, userConfig: { language: 'de' } }), {
    status: 400,
    answer: { message: /^"userConfig" is only for recommendations\.get/ },
  })
})

t.test('requests without the token get nothing', async (t) => {
  const { url } = await startDev(t, await openPluginFolder(t))
  const { port, origin } = new URL(url)
  const wrong = `${'0'.repeat(32)}`
  for (const place of ['/', '/state', `/${wrong}/`, `/${wrong}/state`, `${new URL(url).pathname}nothing`])
    t.equal((await fetch(origin + place)).status, 404, place)
  const renamed = await fetch(`http://localhost:${port}${new URL(url).pathname}state`).catch(() => null)
  t.ok(renamed === null || renamed.status === 404, 'another host name for the address, as web pages can create')
  const form = await fetch(`${url}call`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' })
  t.equal(form.status, 400, 'a form of another page')
  t.equal((await fetch(`${url}call`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' })).status, 400)
})

t.test('errors on the page name the author’s line', async (t) => {
  const folder = await openPluginFolder(t, { files: { 'src/main.ts': FAILING } })
  const { ask } = await startDev(t, folder)
  for (const way of ['throw', 'timer', 'rejection']) {
    const { answer } = await ask('call', { method: 'metadata.series.search', input: { query: way, limit: 1 } })
    t.match(answer, { code: way === 'rejection' ? 'unhandled' : 'thrown', source: lineOf(way) }, way)
  }
})
