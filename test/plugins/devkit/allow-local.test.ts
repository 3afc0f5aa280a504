import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { openLocalService, openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(60_000)

/** A plugin that sends requests to the service in its configuration. */
const CODE = `export default { metadata: { series: {
  async search({ query, limit }, ctx) {
    const { titles } = await ctx.http.json((query.startsWith('http') ? query : ctx.config.site) + '/titles?q=' + encodeURIComponent(query))
    return { results: titles.slice(0, limit).map((title) => ({ externalId: title, title })) }
  },
  get: ({ externalId }) => ({ externalId, title: externalId }) } } }`

async function openAuthor(t: Test, files: Record<string, string | null> = {}) {
  const asked: string[] = []
  const { port, place, manifest } = await openLocalService(t, (url) => {
    asked.push(url)
    return { titles: ['Dune'] }
  })
  const folder = await openPluginFolder(t, {
    manifest,
    files: {
      'src/main.ts': CODE,
      'fixtures/echo.json': null,
      'calls/search.json': JSON.stringify({ method: 'metadata.series.search', input: { query: 'dune', limit: 5 } }),
      ...files,
    },
  })
  return { asked, port, folder, place }
}

t.test('replay sends requests to an allowed local service, by host and port', async (t) => {
  const { asked, port, folder, place } = await openAuthor(t)
  const replay = (...given: string[]) => runTool(folder, ['replay', 'calls/search.json', ...given])
  for (const given of [[], ['--allow-local', `127.0.0.1:${port}`], ['--allow-local', `localhost:${port === 1 ? 2 : port - 1}`]])
    t.match(
      await replay(...given),
      { code: 1, stdout: new RegExp(`✖ permission: http://${place} is not https\\.[\\s\\S]*add --allow-local\\s+${place}\\.`) },
      given.join(' '),
    )
  t.same(asked, [])
  await writeFile(
    path.join(folder, 'calls/elsewhere.json'),
    JSON.stringify({
      method: 'metadata.series.search',
      input: { query: `http://${place}`, limit: 5 },
      config: { site: 'https://example.org' },
    }),
  )
  t.match(
    await runTool(folder, ['replay', 'calls/elsewhere.json', '--allow-local', place]),
    { code: 1, stdout: /A member of config that\s+permissions\.networkFromConfig names must contain the address/ },
    'the configuration must name it too',
  )
  t.match(await replay('--allow-local', place), { code: 0, stdout: /200 {2}GET http:\/\/localhost:[\s\S]*"title": "Dune"/ })
  t.same(asked, ['/titles?q=dune'])
  for (const bad of ['localhost', 'example.org:80', '8.8.8.8:53'])
    t.match(
      await replay('--allow-local', bad),
      { code: 1, stderr: /--allow-local is HOST:PORT, where HOST is localhost or an address/ },
      bad,
    )
})

t.test('test records its responses, and replays them without it', async (t) => {
  const { asked, folder, place } = await openAuthor(t, {
    'test/main.test.ts': `import { assertEqual, openPlugin, test } from '@carrel/plugin-sdk/testing'
      test('finds it', async () => {
        const { answer } = await (await openPlugin({ fixtures: 'dune' })).call('metadata.series.search', { query: 'dune', limit: 5 })
        assertEqual(answer.results.map(({ title }) => title), ['Dune'])
      })`,
  })
  const test = (...given: string[]) => runTool(folder, ['test', '--no-conformance', ...given])
  t.match(await test('--record'), { code: 1, stdout: new RegExp(`permission: [\\s\\S]*add --allow-local\\s+${place}\\.`) })
  t.match(await test('--allow-local', place), { code: 1, stderr: /--allow-local requires --record/ })
  t.match(await test('--record', '--allow-local', place), { code: 0, stdout: /recorded fixtures\/dune\.json/ })
  t.match(JSON.parse(await readFile(path.join(folder, 'fixtures/dune.json'), 'utf8')), {
    exchanges: [{ request: { url: `http://${place}/titles?q=dune` }, response: { json: { titles: ['Dune'] } } }],
  })
  t.match(await test(), { code: 0, stdout: /✔ 1 passed/ }, 'fixtures answer')
  t.equal(asked.length, 1)
})
