import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { bundledPlugins, getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'
import { openHostedPlugins } from '#test/support/hosted-plugins.ts'
import { runTool } from '#test/support/plugin-projects.ts'
import { ROOT, TSC } from '#test/support/sdk-install.ts'
import { BUNDLED_FOLDER, buildBundled, listBundled } from '../../../plugins/bundled/build.mjs'

t.setTimeout(240_000)

t.test('the committed bundles match their sources', async (t) => {
  const names = await listBundled()
  t.ok(names.includes('echo') && names.includes('open-library'))
  for (const name of names) {
    const committed = await readFile(path.join(BUNDLED_FOLDER, name, 'main.js'), 'utf8')
    t.equal(committed, await buildBundled(name), `plugins/bundled/${name}/main.js is stale: run node plugins/bundled/build.mjs`)
    t.notMatch(committed, /^import\b/m, `${name} imports nothing when it runs`)
  }
})

t.test('they compile with only the types of the SDK, without Node or server code', async (t) => {
  const given = ['-p', path.join(BUNDLED_FOLDER, 'tsconfig.json'), '--pretty', 'false']
  const { status, stdout } = spawnSync(process.execPath, [TSC, ...given], { encoding: 'utf8', timeout: 60_000 })
  t.equal(status, 0, stdout)
  const { stdout: files } = spawnSync(process.execPath, [TSC, ...given, '--listFilesOnly'], { encoding: 'utf8', timeout: 60_000 })
  const others = files
    .trim()
    .split('\n')
    .map((file) => path.relative(ROOT, file))
    .filter(
      (file) => !/^(node_modules\/.*\/lib\.[\w.]+\.d\.ts|plugin-sdk\/[\w-]+(\.d)?\.ts|plugins\/bundled\/([\w-]+\/)?[\w-]+\.ts)$/.test(file),
    )
  t.same(others, [], 'they import only the SDK')
  t.ok(files.includes('open-library/main.ts'))
})

t.test('each is an ordinary, reproducible package that starts', async (t) => {
  const [first, second] = [await bundledPlugins(), await bundledPlugins()]
  t.same(
    first.map(({ id }) => id),
    await listBundled(),
    'every folder with a plugin',
  )
  t.same(second, first)
  const { install, host } = await openHostedPlugins(t)
  for (const { id, key, name, version, summary, bytes } of first) {
    const { manifest, readme, signedBy } = readPackage(bytes)
    t.match(manifest, { id: key, name, version, summary }, id)
    t.equal(key, `carrel.${id}`)
    t.ok((readme ?? '').startsWith(`# ${name}\n`), `${id} says what it is`)
    t.same(signedBy, [])
    const { id: pluginId } = await install(bytes)
    t.equal((await host.plugins.get(pluginId)).state, 'enabled', id)
  }
})

t.test('a plugin is found by either id', async (t) => {
  const byName = await getBundledPlugin('open-library')
  t.equal(byName.key, 'carrel.open-library')
  t.same(await getBundledPlugin('carrel.open-library'), byName)
  for (const id of ['', 'openlibrary', '../echo', 'x'.repeat(10_000)])
    await t.rejects(getBundledPlugin(id), { code: 'not_found', message: /Bundled plugins: .*echo.*open-library/ }, id.slice(0, 20))
})

t.test('they pass the conformance checks with their saved calls', async (t) => {
  for (const [name, passed] of [
    ['echo', 23],
    ['open-library', 21],
  ] as const) {
    const { code, stdout: said, stderr } = await runTool(path.join(BUNDLED_FOLDER, name), ['test'])
    t.same([code, stderr], [0, ''], said)
    const [, count = '0'] = /(\d+) passed/.exec(said) ?? []
    t.ok(Number(count) >= passed, `${name}: ${count}, each with a saved call`)
    t.notMatch(said, /save a call/, name)
  }
})
