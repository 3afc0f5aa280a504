import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { bundleProject } from '#plugins/devkit/bundling/bundle.ts'
import { packProject } from '#plugins/devkit/pack.ts'
import { readValidProject } from '#plugins/devkit/project.ts'
import { PATTERNS } from '#plugins/packages/manifest.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { runTool } from '#test/support/plugin-projects.ts'
import { run, succeeds } from '#test/support/sdk-install.ts'
import { buildSdk } from '../../plugin-sdk/build.mjs'
import { bodyOf, openReplay, readFixtures } from '../../plugin-sdk/fixtures.ts'

t.setTimeout(300_000)

const root = fileURLToPath(new URL('../..', import.meta.url))
const create = path.join(root, 'plugin-sdk', 'create')
const program = path.join(create, 'create-plugin.mjs')
const tsc = path.join(root, 'node_modules', 'typescript', 'lib', 'tsc.js')
const TEMPLATES = ['metadata-json-api', 'metadata-html', 'recommendations-library', 'recommendations-service', 'blank']

async function openFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'carrel-create-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The built SDK; tests must not write into the checkout. */
let kit: string
t.before(async () => {
  kit = await mkdtemp(path.join(tmpdir(), 'carrel-kit-'))
  await buildSdk(path.join(kit, 'dist'))
  for (const name of ['package.json', 'manifest.schema.json']) await symlink(path.join(root, 'plugin-sdk', name), path.join(kit, name))
})
t.teardown(() => rm(kit, { recursive: true, force: true }))

for (const [index, template] of TEMPLATES.entries())
  t.test(`${template} passes its tests, validates and packs without changes`, onlyFull, async (t) => {
    const folder = await openFolder(t)
    const project = path.join(folder, 'my-plugin')
    // npm finds the programs in the same way for all templates: one is created and run as by an author, the rest in this process.
    const isTyped = index === 0
    const [begin, ...words] = isTyped ? ['npx', '--yes', create] : [process.execPath, program]
    const said = await succeeds(begin as string, [...words, 'my-plugin', '--template', template], folder)
    t.match(said, /My Plugin was created in my-plugin\./)
    const script = async (name: string, ...flags: string[]) => {
      if (isTyped) return await succeeds('npm', ['run', '--silent', name, '--', ...flags], project)
      const { code, stdout, stderr } = await runTool(project, [name, ...flags])
      t.same([code, stderr], [0, ''], `${name}: ${stdout}`)
      return stdout
    }
    const left = (await readdir(project, { recursive: true })).filter((name) => name.endsWith('.template'))
    t.same(left, [], 'no file keeps the extension of a template')
    const { scripts, devDependencies } = JSON.parse(await readFile(path.join(project, 'package.json'), 'utf8')) as Record<string, object>
    const own = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { devDependencies: Record<string, string> }
    t.match(devDependencies, { typescript: own.devDependencies['typescript'] }, 'the compiler that builds the SDK')
    t.same(Object.keys(scripts ?? {}), ['dev', 'test', 'validate', 'pack', 'release', 'typecheck', 'carrel-plugin'])

    const tests = await script('test')
    t.match(tests, /✔ \d+ passed/)
    t.notMatch(tests, '✖', 'its own tests and the conformance checks pass')
    const made = await script('pack')
    t.match(made, /^! Types were not checked: TypeScript is not installed[^✔]+✔ org\.example\.my-plugin-1\.0\.0\.plugin\n/)
    t.notMatch(made, /! warning|✖/, 'there are no findings')
    const packed = await readFile(path.join(project, 'org.example.my-plugin-1.0.0.plugin'))
    const { manifest } = readPackage(packed)
    t.match(manifest, { id: 'org.example.my-plugin', name: 'My Plugin', version: '1.0.0' })
    t.notOk(
      (await readdir(project)).some((name) => name.startsWith('.carrel-plugin')),
      'no files are left',
    )

    await mkdir(path.join(project, 'node_modules', '@carrel'), { recursive: true })
    await symlink(kit, path.join(project, 'node_modules', '@carrel', 'plugin-sdk'))
    await succeeds(process.execPath, [tsc, '-p', 'tsconfig.json'], project)
    t.same(JSON.parse(await script('validate', '--json')), { ok: true, findings: [] }, 'also with the installed SDK')
    const elsewhere = path.join(folder, 'else', 'where')
    await cp(project, elsewhere, { recursive: true, filter: (from) => !from.includes('node_modules') && !from.endsWith('.plugin') })
    const copy = await readValidProject(elsewhere)
    t.same(packProject(copy, await bundleProject(copy)), packed, 'the same bytes in another folder')
  })

t.test('invalid arguments are refused with advice', async (t) => {
  const folder = await openFolder(t)
  const refusals: [given: string[], complaint: RegExp][] = [
    [[], /Name the folder: node \S+create-plugin\.mjs my-plugin/],
    [['My_Plugin'], /"My_Plugin" is not a valid name for a plugin. Use lower-case words/],
    [['a', 'b'], /"b" is unexpected/],
    [['a', '--from', 'http://localhost:80'], /"http:\/\/localhost:80" is not an address of a service, such as https:/],
    [['a', '--from', "https://example.org/'x"], /is not an address of a service/],
    [['a', '--template', 'blank', '--from', 'https://example.org'], /The template blank has no service: leave out --from\./],
    [['a', '--template', 'nix'], /Unknown template "nix"\. Templates: metadata-json-api, /],
    [['a', '--id', 'nodot'], /^The id must be at least two words of .*, such as org\.example\.anilist; it is "nodot"\.$/m],
    [['a', '--id', `org.${'x'.repeat(61)}`], /^The id may have at most 64 characters; "org\.x+" has 65\.$/m],
    [['a', '--id', 'carrel.mine'], /is an id below carrel\., .* Servers refuse it\. Choose another, such as org\.example\.mine\./],
    [['a', '--color', 'red'], /Unknown option '--color'\./],
  ]
  for (const [given, complaint] of refusals) {
    const { code, stdout, stderr } = await run(process.execPath, [program, ...given], folder)
    t.same([code, stdout], [1, ''], given.join(' '))
    t.match(stderr, complaint)
  }
  await mkdir(path.join(folder, 'full', 'of'), { recursive: true })
  t.match((await run(process.execPath, [program, 'full'], folder)).stderr, /is not empty/)
  t.same(await readdir(folder), ['full'], 'nothing was written')
  const sentence = Object.values(PATTERNS).find((one) => one.startsWith('must be at least two words')) ?? 'none'
  t.ok((await readFile(program, 'utf8')).includes(sentence), 'an id is described as in the manifest')
  t.match(await succeeds(process.execPath, [program, '--help'], folder), /--template <name>/)
  for (const name of ['create-plugin.mjs', '../../plugins/devkit/carrel-plugin.mjs'])
    t.ok((await stat(path.join(create, name))).mode & 0o100, `${name} is executable`)
})

t.test('a place where nothing can be created is a message and not a stack', async (t) => {
  const folder = await openFolder(t)
  await writeFile(path.join(folder, 'my-plugin'), '')
  await symlink(path.join(folder, 'nowhere', 'at-all'), path.join(folder, 'link'))
  await mkdir(path.join(folder, 'locked'), { mode: 0o500 })
  const refusals: [given: string, complaint: RegExp][] = [
    ['my-plugin', /\/my-plugin is a file\. Give a folder that does not exist yet\.$/m],
    ['my-plugin/deeper', /\/my-plugin\S* cannot be (read|written) \(ENOTDIR: a part of its path is a file\)\. Give another folder\.$/m],
    ['link', /\/link cannot be written \(E[A-Z]+.*\)\. Give another folder\.$/m],
  ]
  // Root may write to every folder.
  if (process.getuid?.() !== 0)
    refusals.push(['locked/other', /\/locked\/other cannot be written \(EACCES: your user has no permission\)\. Give another folder\.$/m])
  for (const [given, complaint] of refusals) {
    const { code, stdout, stderr } = await run(process.execPath, [program, given], folder)
    t.same([code, stdout], [1, ''], given)
    t.match(stderr, complaint)
    t.equal(stderr.trim().split('\n').length, 1, 'without a stack')
  }
})

for (const [template, address, file] of [
  ['metadata-html', 'https://www.example.org', 'site'],
  ['metadata-json-api', 'https://api.example.org/v1', 'catalog'],
] as const)
  t.test(`recording the fixtures of ${template} again leaves its tests green`, async (t) => {
    const folder = await openFolder(t)
    await succeeds(process.execPath, [program, 'my-plugin', '--template', template], folder)
    const project = path.join(folder, 'my-plugin')
    const fixtures = path.join(project, 'fixtures', `${file}.json`)
    const known = readFixtures(JSON.parse(await readFile(fixtures, 'utf8')))
    // The service as it is on an ordinary day: it has a good answer to everything.
    const server = http.createServer((request, response) => {
      const found = openReplay(known).next({ method: 'GET', url: `${address}${request.url}` }) ?? known.exchanges[0]
      response.end(bodyOf(found?.response ?? {}))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const place = `localhost:${(server.address() as AddressInfo).port}`
    const edit = async (name: string, change: (text: string) => string) =>
      await writeFile(path.join(project, name), change(await readFile(path.join(project, name), 'utf8')))
    for (const name of ['src/main.ts', 'test/main.test.ts', `fixtures/${file}.json`])
      await edit(name, (text) => text.replaceAll(address, `http://${place}`))
    await edit('manifest.json', (text) => {
      const { permissions, ...own } = JSON.parse(text) as { permissions: object }
      const config = { type: 'object', properties: { site: { type: 'string', default: `http://${place}` } } }
      return JSON.stringify({ ...own, config, permissions: { ...permissions, networkFromConfig: ['site'] } })
    })
    const recorded = await runTool(project, ['test', '--no-types', '--record', '--allow-local', place])
    t.equal(recorded.code, 0, recorded.output)
    t.match(recorded.stdout, `recorded fixtures/${file}.json`)
    const again = await runTool(project, ['test', '--no-types'])
    t.equal(again.code, 0, again.output)
  })

t.test('what it prints next works as printed, from folders with spaces', async (t) => {
  const folder = await openFolder(t)
  await mkdir(path.join(folder, 'my work'))
  await symlink(root, path.join(folder, 'the checkout'))
  // npm resolves links; a real checkout would have the spaces in its own path.
  const words = ['--preserve-symlinks', '--preserve-symlinks-main', path.join('the checkout', 'plugin-sdk', 'create', 'create-plugin.mjs')]
  const said = await succeeds(process.execPath, [...words, 'my work/my-plugin', '--template', 'blank'], folder)
  t.match(said, "was created in 'my work/my-plugin'. Next steps:")
  const [, cd = '', next = ''] = /\n {2}(cd .*)\n {2}(npm test) /.exec(said) ?? []
  t.match(await succeeds('sh', ['-c', `${cd}\n${next}`], folder), /✔ \d+ passed/)
  const { scripts } = JSON.parse(await readFile(path.join(folder, 'my work', 'my-plugin', 'package.json'), 'utf8')) as { scripts: object }
  t.match(scripts, { test: 'node "../../the checkout/plugins/devkit/carrel-plugin.mjs" test' })
  t.match(said, "(cd '../../the checkout' && npm run sdk)")
})

t.test('on a terminal it asks what it does, for its name, and where its data comes from', async (t) => {
  const folder = await openFolder(t)
  const terminal = path.join(folder, 'terminal.mjs')
  await writeFile(terminal, 'for (const stream of [process.stdin, process.stdout]) stream.isTTY = true\n')
  const answer = (lines: string[], ...words: string[]) =>
    succeeds(
      'sh',
      ['-c', `printf '${lines.join('\\n')}\\n' | "$0" "$@"`, process.execPath, '--import', terminal, program, ...words],
      folder,
    )
  const asked = await answer(['9', '2', 'My Pages', 'my-pages', 'ftp://x', 'https://books.example.com/en/'])
  for (const text of [
    '  2  metadata-html            finds series on the pages of a web site',
    'Unknown template "9". Templates: metadata-json-api',
    '"My Pages" is not a valid name for a plugin.',
    '"ftp://x" is not an address of a service',
    'My Pages was created in my-pages.',
  ])
    t.ok(asked.includes(text), text)
  const project = path.join(folder, 'my-pages')
  t.match(JSON.parse(await readFile(path.join(project, 'manifest.json'), 'utf8')), {
    permissions: { network: [{ host: 'books.example.com' }] },
  })
  t.match(await readFile(path.join(project, 'src/main.ts'), 'utf8'), "const SITE = 'https://books.example.com/en'")
  t.match(await runTool(project, ['test']), { code: 0 })
  t.match(
    await answer(['', '', ''], '--id', 'org.example.standard'),
    /What does it do\? A number or a name \[1\]: [\s\S]*created in my-plugin\./,
  )
  t.match(await answer([''], 'given', '--template', 'blank'), /^Given was created in given\./, 'it asks only for what is open')
  const ended = await run('sh', ['-c', `"$0" "$@" < /dev/null`, process.execPath, '--import', terminal, program], folder)
  t.match(ended, { code: 1, stderr: /Nothing was created\./ })
})
