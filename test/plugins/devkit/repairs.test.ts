import t from 'tap'
import { lossOf, repairsOf } from '#plugins/devkit/repairs.ts'
import { readResult } from '#plugins/host/results.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(60_000)

const repaired = (method: string, answer: unknown) => repairsOf(answer, readResult(method, JSON.stringify(answer)))

t.test('what a server changes in an answer is named with its path', (t) => {
  const result = { externalId: '1', title: 'Dune', coverUrl: 'https://example.org' }
  t.same(repaired('metadata.series.search', { results: [result], nextCursor: null }), [])
  t.same(repaired('metadata.series.search', { results: [{ ...result, relevance: 7, shelf: 'a', coverUrl: 'ftp://example.org/' }] }), [
    '/results/0/coverUrl: it is not an address that servers accept (http or https), and is left out.',
    '/results/0/relevance: 7 became 1: it is out of range.',
    '/results/0/shelf: servers do not know this member, and drop it.',
  ])
  const length = (readResult('metadata.series.get', JSON.stringify({ externalId: '1', title: 'a'.repeat(5_000) })) as { title: string })
    .title.length
  t.same(repaired('metadata.series.get', { externalId: '1', title: 'a'.repeat(5_000), year: 1999.5, summary: 'a<b>c</b>' }), [
    `/title: its 5000 characters were cut to ${length}.`,
    '/year: 1999.5 became 2000: it must be a whole number.',
    '/summary: it was rewritten as plain text: servers remove markup, control characters and needless spaces.',
  ])
  const genres = Array.from({ length: 5_000 }, (_, index) => `g${index}`)
  t.match(repaired('metadata.series.get', { externalId: '1', title: 'a', genres }), [/^\/genres: of 5000 items \d+ are kept\.$/])
  const many = Array.from({ length: 20 }, () => ({ ...result, shelf: 1 }))
  t.match(repaired('metadata.series.search', { results: many }).at(-1), 'and 10 more')
  t.end()
})

t.test('what JSON loses is named, and no word of the code is taken for one of the tool', (t) => {
  t.equal(lossOf({ level: 'info', message: 'found', data: null }), null)
  t.equal(lossOf({ lost: 7, of: 'storage.set' }), null)
  t.equal(
    lossOf({ lost: 'constructor', of: 'storage.set', name: 'a', path: '/b' }),
    'ctx.storage.set("a") /b: JSON does not keep values of this kind: constructor.',
  )
  t.notMatch(lossOf({ lost: 'a\n✔ 5 passed', of: 'log.info', name: 'b\n✔', path: '/c\n✔' }), '\n')
  t.end()
})

t.test('values that JSON keeps whole are stored and logged without a word', async (t) => {
  const folder = await openPluginFolder(t, {
    manifest: { permissions: { storage: { quotaKB: 16 } } },
    files: {
      'src/main.ts': `export default { metadata: { series: {
        search: () => ({ results: [] }),
        async get({ externalId }, ctx) {
          class Plain { constructor() { this.a = 1 } }
          const same = { b: [] }
          const kept = { date: new Date(0), plain: new Plain(), none: undefined, empty: {}, bare: Object.create(null), boxed: new Number(1), twice: [same, same], url: new URL('https://a.example/') }
          await ctx.storage.set('kept', kept)
          ctx.log.info('kept', kept)
          ctx.progress(0.5)
          return { externalId, title: 'a' }
        } } } }`,
      'calls/get.json': JSON.stringify({
        method: 'metadata.series.get',
        input: { externalId: '1' },
        fixtures: { formatVersion: 1, exchanges: [] },
      }),
    },
  })
  const { code, stdout } = await runTool(folder, ['replay', 'calls/get.json'])
  t.equal(code, 0, stdout)
  t.notMatch(stdout, '!')
})

t.test('tests and replayed calls say what was repaired, and pass', async (t) => {
  const folder = await openPluginFolder(t, {
    files: {
      'src/main.ts': `export default { metadata: { series: {
        search: () => ({ results: [] }),
        get: ({ externalId }) => ({ externalId, title: 'a', year: 1999.5, color: 'red' }) } } }`,
      'test/main.test.ts': `import { assertEqual, openPlugin, test } from '@carrel/plugin-sdk/testing'
        test('gets', async () => {
          const { answer, warnings } = await (await openPlugin()).call('metadata.series.get', { externalId: 'a' })
          assertEqual([answer.year, warnings.length], [2000, 2])
        })`,
      'calls/get.json': JSON.stringify({
        method: 'metadata.series.get',
        input: { externalId: '1' },
        fixtures: { formatVersion: 1, exchanges: [] },
      }),
    },
  })
  const { code, stdout } = await runTool(folder, ['test'])
  t.equal(code, 0, stdout)
  t.match(
    stdout,
    /✔ gets.*\n {4}! metadata\.series\.get \/year: 1999\.5 became 2000: it must be a whole number\.\n {4}! metadata\.series\.get \/color: servers/,
  )
  t.match(stdout, /✔ returns what its type says.*\n {4}! metadata\.series\.get \/year/, 'conformance checks, too')
  t.match(await runTool(folder, ['replay', 'calls/get.json']), { code: 0, stdout: /! \/year: 1999\.5 became 2000/ })
})
