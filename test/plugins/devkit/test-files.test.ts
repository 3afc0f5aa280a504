import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { runTestFiles } from '#plugins/devkit/test-files.ts'
import { TestingTools } from '#plugins/devkit/testing-host.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { manifestOf } from '#test/support/plugins.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

t.test('a folder that cannot be written is a message and not a stack', async (t) => {
  // A file in place of the folder: root may write to every folder.
  const folder = path.join(await openPluginFolder(t), 'LICENSE')
  const built = { manifest: manifestOf() as unknown as Manifest, code: '' }
  const options = { isRecording: false, local: new Set<string>(), cpuMsMax: null }
  const tools = new TestingTools({ folder, built, supervisor: findSupervisor(), ...options })
  await t.rejects(
    runTestFiles(folder, [], tools, () => {}, new AbortController().signal),
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

/** In one line, without the times of slow tests. */
const plain = (stdout: string) => stdout.replace(/\s+/g, ' ').replace(/ \(\d+ ms\)/g, '')
const PASSING = "import { test } from '@carrel/plugin-sdk/testing'\ntest('one', () => {})\n"

t.test('files that look like tests and do not run fail, with where to put them', async (t) => {
  const files = {
    'test/main.test.ts': PASSING,
    'test/main.spec.ts': PASSING,
    'test/deep/a.test.tsx': PASSING,
    'tests/b.test.js': PASSING,
    'src/main.test.ts': PASSING,
    // None of these are meant to run here.
    'node_modules/left-pad/left-pad.test.js': PASSING,
    'dist/main.test.js': PASSING,
    '.cache/c.test.ts': PASSING,
    'examples/other/package.json': '{}',
    'examples/other/d.test.ts': PASSING,
    'test/testing.ts': 'export {}',
  }
  const { code, stdout } = await runTool(await openPluginFolder(t, { files }), ['test', '--no-types', '--no-conformance'])
  t.equal(code, 1)
  const said = plain(stdout)
  const rule = 'It does not run: tests are in test/, and their names end with .test.ts, .test.js or .test.mjs. Move or rename it'
  for (const [file, example] of [
    ['src/main.test.ts', ''],
    ['test/deep/a.test.tsx', ', such as to test/deep/a.test.ts'],
    ['test/main.spec.ts', ''],
    ['tests/b.test.js', ', such as to test/b.test.js'],
  ] as const)
    t.ok(said.includes(`${file} ✖ the file runs ${rule}${example}; if another tool runs it, give it another name.`), `${file}: ${stdout}`)
  t.match(said, /test\/main\.test\.ts ✔ one .*✖ 1 passed, 4 failed $/)
  t.notMatch(said, /You have no tests|left-pad|dist|cache|examples/)
})

t.test('a folder with more files than a plugin has does not keep tests from being found', async (t) => {
  const folder = await openPluginFolder(t, { files: { 'data/a.txt': '', 'src/main.test.ts': PASSING } })
  await Promise.all(Array.from({ length: 5_100 }, (_, at) => writeFile(path.join(folder, 'data', `${at}.txt`), '')))
  const ran = await runTool(folder, ['test', '--no-types', '--no-conformance'])
  t.match(ran, { code: 1, stdout: /src\/main\.test\.ts\n {2}✖ the file runs/ })
})

t.test('a test within a test fails in its own file, and none of the next file runs under its name', async (t) => {
  const nested = (within: string) => `import { test } from '@carrel/plugin-sdk/testing'\ntest('outer', async () => { ${within} })\n`
  const inner = "test('inner', () => {})"
  const folder = await openPluginFolder(t, {
    files: { 'test/a.test.ts': nested(inner), 'test/b.test.ts': PASSING, 'test/c.test.ts': nested(`await null; ${inner}`) },
  })
  const { code, stdout } = await runTool(folder, ['test', '--no-types', '--no-conformance'])
  t.equal(code, 1)
  const said = plain(stdout)
  const message =
    'test() is called within a test, or later than its file has loaded, so it does not run. Call it outside of tests, while the file loads. at test/'
  t.ok(said.includes(`test/a.test.ts ✔ outer ✖ inner ${message}a.test.ts:2:`), stdout)
  t.ok(said.includes(`test/c.test.ts ✔ outer ✖ inner ${message}c.test.ts:2:`), stdout)
  t.match(said, /test\/b\.test\.ts ✔ one test\/c/)
  t.match(said, /✖ 3 passed, 2 failed $/)
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
