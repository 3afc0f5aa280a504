import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { packPlugin, readPackage } from '#plugins/packages/plugin-package.ts'
import { runTool } from '#test/support/plugin-projects.ts'
import { compile, filesOf, placeSdk, ROOT, writeFiles } from '#test/support/sdk-install.ts'

t.setTimeout(60_000)

const PAGE = 'docs/plugin-porting.md'

t.test('the final code of the page compiles and passes its tests in the sandbox', async (t) => {
  const folder = await placeSdk(t)
  const files = await filesOf(PAGE)
  t.same(
    [...files.keys()],
    ['before/plugin.mjs', 'manifest.json', 'src/main.ts', 'src/recommend.ts', 'fixtures/shelf.json', 'test/shelf.test.ts'],
    'every block of the page has a name and is tested here',
  )
  const blocks = (await readFile(path.join(ROOT, PAGE), 'utf8')).match(/^```\w/gm) ?? []
  t.equal(blocks.length, files.size)
  await writeFiles(folder, files)
  await writeFiles(folder, [['tsconfig.json', (await filesOf('plugin-sdk/README.md')).get('tsconfig.json') as string]])
  await compile(folder)
  t.match(await runTool(folder, ['test', '--no-conformance']), { code: 0, stdout: /returns what the old plugin returned/ })
  t.match(await runTool(folder, ['validate']), { code: 0, stdout: /is fit to be packed/ })
  const bytes = packPlugin(
    new Map([
      ['manifest.json', Buffer.from(files.get('manifest.json') as string)],
      ['main.js', Buffer.from('export default {}')],
    ]),
  )
  t.match(readPackage(bytes).manifest, { id: 'org.example.shelf', auth: { type: 'apiKey' } })
})

t.test('the initial code of the page is a plugin with the described protocol', async (t) => {
  const folder = t.testdir({ 'plugin.mjs': (await filesOf(PAGE)).get('before/plugin.mjs') as string })
  const child = spawn(process.execPath, [path.join(folder, 'plugin.mjs')], { stdio: ['pipe', 'pipe', 'ignore'], env: {}, timeout: 20_000 })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const requests = ['initialize', 'ping', 'nonsense', 'shutdown'].map((method, id) =>
    JSON.stringify({ jsonrpc: '2.0', id, method, params: {} }),
  )
  child.stdin.end(`${requests.join('\n')}\n`)
  await new Promise((resolve) => child.once('close', resolve))
  const [manifest, pong, nonsense] = said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(manifest, { id: 0, result: { name: 'shelf', capabilities: { metadataProvider: ['series'] } } })
  t.same(pong, { jsonrpc: '2.0', id: 1, result: 'pong' })
  t.match(nonsense, { id: 2, error: { code: -32601 } })
})

t.test('the page names every SDK function that replaces a method', async (t) => {
  const page = await readFile(path.join(ROOT, PAGE), 'utf8')
  const kit = await import('../../plugin-sdk/index.ts')
  for (const name of Object.keys(kit).filter((one) => one.endsWith('Error') && one !== 'PluginError'))
    t.ok(page.includes(`new ${name}(`), name)
})
