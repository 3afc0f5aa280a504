import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { asFormat1, keyOf, resigned } from '#test/support/signed-packages.ts'

t.setTimeout(240_000)

const MAIN = 'export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } } }'
const key = keyOf(1)

t.test('the index command names packages whose signature does not say who may follow', async (t) => {
  const folder = await openPluginFolder(t)
  await mkdir(path.join(folder, 'out'))
  const put = (name: string, bytes: Buffer) => writeFile(path.join(folder, 'out', `${name}.plugin`), bytes)
  await put('new', pluginOf(MAIN, { id: 'org.example.new' }, [key]))
  await put('unsigned', pluginOf(MAIN, { id: 'org.example.unsigned' }))
  await put('old', resigned(pluginOf(MAIN, { id: 'org.example.old' }, [key]), [key], asFormat1))
  await runTool(folder, ['sign', '--new-key', 'own.pem'])
  const { code, stdout } = await runTool(folder, [
    ...['index', 'out', '--key', 'own.pem', '--name', 'Own plugins', '--url', 'https://example.org/plugins/'],
  ])
  t.equal(code, 0)
  const warnings = stdout.split(/^(?=! )/m).filter((part) => part.startsWith('! '))
  t.same(
    warnings.map((one) => one.replaceAll(/\s+/g, ' ').trim()),
    [
      '! org.example.old 1.0.0 was packed by an older tool: its signature does not name who may sign the next version. Pack the next version with this tool.',
    ],
  )
})

t.test('a clock that was set back makes no index that servers refuse or that replaces a newer one', async (t) => {
  const folder = await openPluginFolder(t)
  await mkdir(path.join(folder, 'out'))
  await writeFile(path.join(folder, 'out', 'one.plugin'), pluginOf(MAIN))
  await runTool(folder, ['sign', '--new-key', 'own.pem'])
  const file = path.join(folder, 'out', 'index.json')
  const first = await runTool(folder, ['index', 'out', '--key', 'own.pem', '--name', 'Own', '--url', 'https://example.org/plugins/'])
  t.equal(first.code, 0, first.stderr)
  const later = new Date(Date.now() + 3_600_000).toISOString()
  const text = (await readFile(file, 'utf8')).replace(/"issuedAt": "[^"]*"/, `"issuedAt": "${later}"`)
  await writeFile(file, text)
  const refused = await runTool(folder, ['index', 'out', '--key', 'own.pem'])
  t.equal(refused.code, 1)
  t.match(
    refused.stderr.replaceAll(/\s+/g, ' '),
    /The clock of this machine says \S+, but the last index was issued at \S+\. Set the clock/,
  )
  t.equal(await readFile(file, 'utf8'), text, 'the last index stays')
})
