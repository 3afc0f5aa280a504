import { mkdir, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import t from 'tap'
import { outTo, printMessage } from '#plugins/devkit/command.ts'
import { sideLoad } from '#plugins/devkit/side-load.ts'
import { FORGED, FORGERIES, forgedIn, nameOf } from '#test/support/forged-words.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

const SERVICE = 'https://api.example.org/words'
/** Says what its service answers in every way that a plugin has. */
const MAIN = `
export default { metadata: { series: {
  async search({ query }, ctx) {
    const { words } = await ctx.http.json('${SERVICE}')
    if (query === 'throw') throw new Error(words[0])
    for (const word of words.slice(0, 90)) ctx.log.warn(word, { word })
    return { results: words.slice(0, 50).map((word, index) => ({ externalId: String(index), title: word.slice(0, 400) })) }
  },
  get: () => ({ externalId: '1' }),
} } }`

const call = (query: string, words: readonly string[]) =>
  JSON.stringify({
    ...{ method: 'metadata.series.search', input: { query, limit: 50 } },
    fixtures: { formatVersion: 1, exchanges: [{ request: { url: SERVICE }, response: { json: { words } } }] },
  })

t.test('nothing that a plugin or its service says stands in the tool as a line of the tool', async (t) => {
  const one = FORGERIES[0] as string
  const folder = await openPluginFolder(t, {
    files: {
      ...{ 'src/main.ts': null, 'src/main.js': MAIN, 'calls/search.json': call('all', FORGERIES) },
      ...Object.fromEntries(FORGERIES.map((word, index) => [`throws/${index}.json`, call('throw', [word])]).slice(0, 6)),
      'throws/lines.json': call('throw', [FORGERIES.join('\n')]),
    },
  })
  const said = await runTool(folder, ['replay', 'calls/search.json'])
  t.match(said.stdout, FORGED.slice(0, 10), 'the plugin says it')
  t.same(forgedIn(said.output), [])
  for (const name of ['0', '1', '2', '3', '4', '5', 'lines']) {
    const { code, output } = await runTool(folder, ['replay', `throws/${name}.json`])
    t.equal(code, 1)
    t.same(forgedIn(output), [], name)
    t.same(forgedIn((await runTool(folder, ['bench', `throws/${name}.json`])).output), [], name)
  }
  const tests = FORGERIES.map((word) => {
    const text = JSON.stringify(word)
    return `test('is ' + ${text}, () => { throw new Error(${text}) })`
  })
  await mkdir(path.join(folder, 'test'), { recursive: true })
  await writeFile(path.join(folder, 'test/a.test.js'), `import { test } from '@carrel/plugin-sdk/testing'\n${tests.join('\n')}`)
  const tested = await runTool(folder, ['test'])
  t.equal(tested.code, 1)
  t.match(tested.stdout, /✖ [\s\S]*stores/, 'the tests say it')
  t.same(forgedIn(tested.output), [], 'test')
  await writeFile(path.join(folder, 'src/main.js'), `throw new Error(${JSON.stringify(FORGERIES.join('\n'))})\n${MAIN}`)
  for (const command of ['validate', 'pack']) {
    const { code, output } = await runTool(folder, [command])
    t.equal(code, 1)
    t.match(output, 'stores', `${command} says what was thrown`)
    t.same(forgedIn(output), [], command)
  }
  await writeFile(path.join(folder, 'manifest.json'), JSON.stringify({ [one]: one, name: one, summary: one, capabilities: { [one]: {} } }))
  for (const command of ['validate', 'pack', 'test', 'types']) {
    const { output } = await runTool(folder, [command])
    t.same(forgedIn(output), [], command)
  }
  const folderOfPackages = path.join(folder, 'packages')
  await mkdir(folderOfPackages)
  await writeFile(path.join(folderOfPackages, `a\n  ${FORGED}.plugin`), 'no package')
  await runTool(folder, ['sign', '--new-key', 'own.pem'])
  const indexed = await runTool(folder, ['index', 'packages', '--key', 'own.pem', '--name', 'Own', '--url', 'https://example.org/'])
  t.equal(indexed.code, 1)
  t.same(forgedIn(indexed.output), [], 'a file name')
})

t.test('nor does an error of a server on which it installs', async (t) => {
  let answer = ''
  const server = http.createServer((_request, response) => response.writeHead(500).end(answer))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const signal = new AbortController().signal
  for (const word of FORGERIES)
    for (const text of [JSON.stringify({ message: word }), word]) {
      answer = text
      const error = await sideLoad({ url, token: 'key' }, Buffer.from(''), signal).then(
        () => null,
        (refused: Error) => refused,
      )
      t.match(error?.message, /answered 500: /)
      let output = ''
      printMessage(
        outTo({ write: (part: string) => (output += part) } as unknown as NodeJS.WritableStream),
        ['red', '✖'],
        error?.message ?? '',
      )
      t.same(forgedIn(output), [], nameOf(text))
    }
})
