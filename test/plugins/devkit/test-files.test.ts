import path from 'node:path'
import t from 'tap'
import { runTestFiles } from '#plugins/devkit/test-files.ts'
import { TestingTools } from '#plugins/devkit/testing-host.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { manifestOf } from '#test/support/plugins.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(60_000)

t.test('a folder that cannot be written is a message and not a stack', async (t) => {
  // A file in place of the folder: root may write to every folder.
  const folder = path.join(await openPluginFolder(t), 'LICENSE')
  const built = { manifest: manifestOf() as unknown as Manifest, code: '' }
  const options = { isRecording: false, isPartial: false, local: new Set<string>(), cpuMsMax: null }
  const tools = new TestingTools({ folder, built, supervisor: findSupervisor(), ...options })
  await t.rejects(
    runTestFiles(folder, [], tools, () => {}),
    { name: 'ToolProblem', message: `${folder} cannot be written (ENOTDIR); tests are compiled into a folder of their own there` },
  )
})

const withTest = (body: string) => `import { openPlugin, test } from '@carrel/plugin-sdk/testing'\ntest('one', async () => { ${body} })\n`
const OPENED = "const plugin = await openPlugin({ fixtures: 'echo' })"
const INPUT = "{ query: 'echo', limit: 5 }"

/** What an author writes into test/main.test.ts, and the whole message. */
const MISTAKES: [name: string, content: string, message: string][] = [
  [
    'another tool for tests',
    "import { test } from 'vitest'\ntest('one', () => {})",
    'vitest is not installed. Tests import test, openPlugin and assertions from @carrel/plugin-sdk/testing; for another package: npm install --save-dev vitest',
  ],
  ['no tests', 'export {}', 'It has no tests. Import test from @carrel/plugin-sdk/testing, and call it.'],
  [
    'a call without await',
    withTest(`${OPENED}; plugin.call('metadata.series.search', ${INPUT})`),
    'the call of metadata.series.search still ran when the test ended: write await before it.',
  ],
  [
    'the end of a method',
    withTest(`${OPENED}; await plugin.call('search', ${INPUT})`),
    '"method" is "search". Did you mean metadata.series.search or metadata.book.search?',
  ],
]

t.test('every mistake in a test file has a message that says what is wrong, with what, and what to do', async (t) => {
  for (const [name, content, message] of MISTAKES) {
    const folder = await openPluginFolder(t, { files: { 'test/main.test.ts': content } })
    const { code, stdout } = await runTool(folder, ['test', '--no-types', '--no-conformance'])
    t.equal(code, 1, name)
    t.ok(stdout.replace(/\s+/g, ' ').includes(message), `${name}: ${stdout}`)
  }
})

t.test('code in another file, and answers that are none, are named', async (t) => {
  const other = await openPluginFolder(t, { files: { 'src/main.ts': null, 'src/index.ts': 'export default {}' } })
  t.match(await runTool(other, ['test']), {
    code: 1,
    stderr: `There is no code in ${other}: neither src/main.ts nor src/main.js nor main.js. Rename src/index.ts to src/main.ts.`,
  })
  for (const [returned, said] of [
    ['undefined', 'the answer: must be an object with results, and perhaps nextCursor; it is null; the function returned nothing.'],
    ['[]', 'the answer: must be an object with results, and perhaps nextCursor; it is [].'],
    ["'x'", 'the answer: must be an object with results, and perhaps nextCursor; it is "x".'],
    ['{ result: [] }', 'the answer: it has no results; "result" may be a misspelling.'],
    [
      "{ results: [{ externalId: 7, title: 'a' }] }",
      '/results/0/externalId: must be a text of 1 to 200 characters, without control characters; it is 7.',
    ],
    [
      "{ results: [{ externalId: '', title: 'a' }] }",
      '/results/0/externalId: must be a text of 1 to 200 characters, without control characters; it is "".',
    ],
    ["{ results: [{ externalId: '7', name: 'a' }] }", '/results/0: it has no title, which must be a text of at most 1000 characters.'],
    [
      "{ results: [{ externalId: '7', title: 'a', year: '1999' }] }",
      '/results/0/year: must be a whole number from -9999 to 9999, or null; it is "1999".',
    ],
  ] as const) {
    const main = `export default { metadata: { series: { search: () => (${returned}), get: ({ externalId }) => ({ externalId, title: 'a' }) } } }`
    const folder = await openPluginFolder(t, { files: { 'src/main.ts': null, 'src/main.js': main } })
    const { code, stdout } = await runTool(folder, ['replay', 'calls/search.json'])
    t.equal(code, 1)
    t.ok(stdout.replace(/\s+/g, ' ').includes(said), stdout)
  }
})
