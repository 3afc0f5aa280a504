import t from 'tap'
import { FAILING, lineOf } from '#test/support/failing-plugin.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(60_000)

const WAYS = [
  ['throw', 'thrown: thrown at once'],
  ['deep', "thrown: Cannot read properties of undefined (reading 'title')"],
  ['async', 'thrown: thrown later'],
  ['timer', 'thrown: thrown in a timer'],
  ['rejection', 'unhandled: Unhandled promise rejection: nobody waits for me'],
  ['kit', 'not_found: there is no such book'],
] as const

const callOf = (query: string) => JSON.stringify({ method: 'metadata.series.search', input: { query, limit: 1 }, fixtures: 'echo' })

t.test('test names the line of the plugin, and that of the test', async (t) => {
  const folder = await openPluginFolder(t, {
    files: {
      'src/main.ts': FAILING,
      'calls/search.json': callOf('throw'),
      'test/main.test.ts': `import { openPlugin, test } from '@carrel/plugin-sdk/testing'
        ${WAYS.map(([way]) => `test('${way}', async () => void (await (await openPlugin()).call('metadata.series.search', { query: '${way}', limit: 1 })))`).join('\n')}`,
    },
  })
  const { code, stdout } = await runTool(folder, ['test'])
  t.equal(code, 1)
  for (const [index, [way, message]] of WAYS.entries()) {
    const [, said = ''] = stdout.split(new RegExp(`✖ ${way}\\b[^\\n]*\\n`))
    const [first, second, third] = said.split('\n').map((line) => line.trim())
    t.equal(first, message, stdout)
    t.match(second, new RegExp(`^at ${lineOf(way).source}$`), way)
    t.match(third, new RegExp(`^at test/main\\.test\\.ts:${index + 2}:\\d+$`), way)
  }
  t.match(stdout, new RegExp(`thrown: thrown at once\\n +at ${lineOf('throw').source}`), 'the conformance checks report it too')
})

t.test('replay and validate name it too', onlyFull, async (t) => {
  const folder = await openPluginFolder(t, {
    files: { 'src/main.ts': FAILING, ...Object.fromEntries(WAYS.map(([way]) => [`calls/${way}.json`, callOf(way)])) },
  })
  for (const [way, message] of WAYS) {
    const { code, stdout } = await runTool(folder, ['replay', `calls/${way}.json`])
    t.equal(code, 1)
    t.ok(stdout.includes(`✖ ${message}\n    at src/main.ts:`), stdout)
    t.match(stdout, lineOf(way))
  }
  const { stdout } = await runTool(folder, ['replay', 'calls/timer.json', '--json'])
  t.match(JSON.parse(stdout), { code: 'thrown', message: 'thrown in a timer', source: lineOf('timer') })

  const broken = await openPluginFolder(t, { files: { 'src/main.ts': `${FAILING}\nnull!.nothing\n` } })
  const line = FAILING.split('\n').length + 1
  t.match(await runTool(broken, ['validate']), {
    code: 1,
    stdout: new RegExp(`does not start: [\\s\\S]*\\n +at src/main\\.ts:${line}:\\d+`),
  })
})

t.test('pack reports the size of the source map, and validate reports a useless one', async (t) => {
  const folder = await openPluginFolder(t)
  t.match(await runTool(folder, ['pack']), { code: 0, stdout: /code {4}main\.js \d+ bytes, main\.js\.map [\d.]+ KB/ })
  const built = await openPluginFolder(t, {
    files: {
      'src/main.ts': null,
      'main.js': 'export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({}) } } }',
      'main.js.map': '{"version":3,"sources":["src/main.ts"],"sections":[]}',
    },
  })
  t.match(await runTool(built, ['validate']), {
    code: 0,
    stdout: /main\.js\.map cannot be used: [\s\S]*\.\s+Errors\s+will\s+refer\s+to\s+lines\s+of\s+main\.js/,
  })
})
