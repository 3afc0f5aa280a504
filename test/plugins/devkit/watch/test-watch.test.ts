import { rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { outTo } from '#plugins/devkit/command.ts'
import { runCommandLine } from '#plugins/devkit/command-line.ts'
import { partOf } from '#plugins/devkit/watch/test-watch.ts'
import { until } from '#test/support/library-fixture.ts'
import { ECHO, openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

t.test('a change concerns a test, the checks, or everything', (t) => {
  const all = { words: [], conformance: true }
  const cases: [changed: string[], given: Parameters<typeof partOf>[1], part: ReturnType<typeof partOf>][] = [
    [['src/main.ts'], all, all],
    [['manifest.json', 'test/a.test.ts'], all, all],
    [['fixtures/a.json'], all, all],
    [['test/a.test.ts'], all, { words: ['test/a.test.ts'], conformance: false }],
    [['test/a.test.ts', 'test/words.ts'], all, { words: [], conformance: false }],
    [['calls/search.json'], all, { words: null, conformance: true }],
    [['calls/search.json', 'test/a.test.ts'], all, { words: ['test/a.test.ts'], conformance: true }],
    [['calls/search.json'], { words: [], conformance: false }, null],
    [['test/b.test.ts'], { words: ['a.test'], conformance: false }, null],
    [['test/words.ts'], { words: ['a.test'], conformance: false }, { words: ['a.test'], conformance: false }],
    [[], all, null],
  ]
  for (const [changed, given, part] of cases) t.same(partOf(changed, given), part, changed.join())
  t.end()
})

const testOf = (name: string, title: string) => `import { assertEqual, openPlugin, test } from '@carrel/plugin-sdk/testing'
test('${name}', async () => {
  const { answer } = await (await openPlugin()).call('metadata.series.get', { externalId: '${title}' })
  assertEqual(answer.title, 'a')
})
`

t.test('test --watch runs what a change concerns, says what is wrong, and goes on', async (t) => {
  const folder = await openPluginFolder(t, { files: { 'test/a.test.ts': testOf('first', 'a'), 'test/b.test.ts': testOf('second', 'a') } })
  const stopping = new AbortController()
  let said = ''
  const ended = runCommandLine(['test', '--watch', '--no-types'], {
    cwd: folder,
    out: outTo({ write: (text: string) => (said += text) } as unknown as NodeJS.WritableStream),
    printError: (text) => {
      said += text
    },
    stop: stopping.signal,
  })
  t.teardown(() => stopping.abort())
  /** What is said from the change to the end of its run. */
  const after = async (wanted: RegExp, change?: () => Promise<void>) => {
    const at = said.length
    await change?.()
    await until(() => wanted.test(said.slice(change === undefined ? 0 : at)))
    return said.slice(at)
  }
  // Put there as a whole: a file that is written in place is empty for a moment, which is a change of its own.
  const write = (name: string, text: string) => async () => {
    await writeFile(`${folder}.new`, text)
    await rename(`${folder}.new`, path.join(folder, name))
  }
  await after(/Waiting for changes/)
  t.match(said, /✔ first[\s\S]*✔ second[\s\S]*metadata\.series\.search/)

  const failed = await after(/✖ 1 failed|✖ \d+ passed, 1 failed/, write('test/b.test.ts', testOf('second', 'b')))
  t.match(failed, /↻ test\/b\.test\.ts[\s\S]*✖ second/)
  t.notMatch(failed, /first|metadata\.series/, 'nothing else runs')
  const checked = await after(
    /✔ \d+ passed/,
    write('calls/get.json', JSON.stringify({ method: 'metadata.series.get', input: { externalId: '1' }, fixtures: 'echo' })),
  )
  t.match(checked, /↻ calls\/get\.json[\s\S]*metadata\.series\.get/)
  t.notMatch(checked, /first|second|no tests yet/)
  t.match(await after(/✖ The bundler reports/, write('src/main.ts', 'const const')), /src\/main\.ts:1:7/)
  t.match(await after(/✖ \d+ passed, 1 failed/, write('src/main.ts', ECHO)), /✔ first[\s\S]*✖ second/)
  t.match(await after(/✔ \d+ passed/, () => rm(path.join(folder, 'test/b.test.ts'))), /↻ test\/b\.test\.ts/)
  stopping.abort()
  t.equal(await ended, 0)

  t.match(await runTool(folder, ['test', '--watch', '--record']), { code: 1, stderr: /--watch answers requests from fixtures\/ only/ })
})
