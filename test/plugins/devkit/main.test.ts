import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { toolCommands } from '#plugins/devkit/commands.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'
import { readIndex } from '#plugins/repositories/index-file.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { ECHO, openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

const launcher = fileURLToPath(new URL('../../../plugins/devkit/carrel-plugin.mjs', import.meta.url))

t.test('the launcher runs it in the author’s folder, through a link', async (t) => {
  const folder = await openPluginFolder(t)
  await mkdir(path.join(folder, 'node_modules', '.bin'), { recursive: true })
  const link = path.join(folder, 'node_modules', '.bin', 'carrel-plugin')
  await symlink(launcher, link)
  const { status, stdout, stderr } = spawnSync(process.execPath, [link, 'validate', '--json'], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
    timeout: 60_000,
  })
  t.same([status, stderr], [0, ''])
  t.match(JSON.parse(stdout), { ok: true, findings: [] })
})

t.test('output and messages that nobody reads end the tool without another message', async (t) => {
  const folder = await openPluginFolder(t, { manifest: { licence: 'MIT' } })
  const run = (command: string) =>
    spawnSync('/bin/bash', ['-c', `${command}; echo "codes \${PIPESTATUS[*]}"`], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '', HOME: folder },
      timeout: 60_000,
    })
  const tool = `'${process.execPath}' '${launcher}'`
  for (const [command, output] of [
    [`${tool} pack | head -1`, /^! warning +manifest .*\ncodes 0 0\n$/],
    [`${tool} pack 2>&1 | head -1`, /^! warning +manifest .*\ncodes 0 0\n$/],
    // It writes after its reader has ended, which must not change its exit code.
    [`{ sleep 0.2; ${tool} sign; } 2> >(true)`, /^codes 1\n$/],
  ] as const) {
    const { stdout, stderr } = run(command)
    t.match(stdout, output, command)
    t.equal(stderr, '', command)
  }
})

t.test('help lists every command and every flag', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'carrel-author-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  t.same(
    toolCommands.map(({ name }) => name),
    ['dev', 'types', 'test', 'validate', 'pack', 'sign', 'release', 'index', 'replay', 'bench'],
  )
  for (const given of [[], ['--help'], ['help']]) {
    const { code, stdout } = await runTool(folder, given)
    t.equal(code, 0)
    for (const { name, summary } of toolCommands) t.ok(stdout.includes(`  ${name}`) && stdout.includes(summary), name)
  }
  for (const { name, flags } of toolCommands) {
    const { code, stdout } = await runTool(folder, [name, '--help'])
    t.equal(code, 0)
    for (const flag of [...flags.map((one) => one.name), 'folder']) t.ok(stdout.includes(`--${flag}`), `${name} --${flag}`)
    for (const line of stdout.split('\n').slice(1)) t.ok(line.length <= 80, line)
  }
})

t.test('usage errors are one sentence with advice', async (t) => {
  const folder = await openPluginFolder(t)
  const empty = await mkdtemp(path.join(tmpdir(), 'carrel-author-'))
  t.teardown(() => rm(empty, { recursive: true, force: true }))
  await writeFile(path.join(folder, 'broken.json'), '{')
  await writeFile(path.join(folder, 'strange.json'), '{"method":"metadata.series.steal"}')
  await writeFile(path.join(folder, 'lost.json'), '{"method":"metadata.series.get","input":{"externalId":"1"},"fixtures":"nowhere"}')
  await writeFile(path.join(folder, 'alive.json'), '{"method":"metadata.series.get","input":{"externalId":"1"}}')
  const cases: [given: string[], complaint: RegExp][] = [
    [['pakc'], /There is no command "pakc"\. Did you mean pack\?/],
    [['create', 'my-plugin'], /Create one: node \S+create-plugin\.mjs my-plugin/],
    [['--json', 'validate'], /The command comes first/],
    [['validate', '--jsno'], /There is no flag --jsno\. Did you mean --json\?/],
    [['validate', 'now'], /Unexpected argument "now"\./],
    [['replay'], /An argument is missing\. Usage: node \S+carrel-plugin\.mjs replay <call\.json>/],
    [['validate', '--folder', empty], /There is no manifest\.json in .*--folder/],
    [['replay', 'missing.json'], /missing\.json: there is no such file/],
    [['replay', 'broken.json'], /broken\.json: it is not valid JSON/],
    [['replay', 'strange.json'], /strange\.json: "method" is "metadata\.series\.steal"; it must be one of metadata\.series\.search/],
    [['replay', 'lost.json'], /lost\.json: there is no fixtures\/nowhere\.json/],
    [['bench', 'alive.json'], /alive has no fixtures/],
    [['bench', 'calls/search.json', '--calls', 'many'], /--calls must be a whole number from 1 to 100000, not "many"/],
    [['sign'], /Give the package and the key/],
    [['sign', 'x.plugin', '--key', 'no.pem'], /x\.plugin cannot be read \(ENOENT\)/],
    [['index', '.'], /Add --key FILE/],
    [['dev', '--server', 'http://127.0.0.1:1'], /The server needs the API key of an administrator: --token KEY, CARREL_PLUGIN_TOKEN/],
    [['dev', '--server', 'nowhere', '--token', 'x'], /"nowhere" is not a URL/],
    [['dev', '--server', 'http://127.0.0.1:1', '--token', 'x'], /could not be reached/],
    [['test', 'nowhere'], /No test file matches nowhere/],
  ]
  for (const [given, complaint] of cases) {
    const { code, stdout, stderr } = await runTool(folder, given)
    t.same([code, stdout], [1, ''], given.join(' '))
    t.match(stderr, complaint)
    t.notMatch(stderr, /\n\s+at /, 'without a stack')
  }
})

t.test('pack is reproducible, and refuses packages that no server would accept', async (t) => {
  const folder = await openPluginFolder(t, {
    files: { 'CHANGELOG.md': '# 1.0.0\n\nNew.\n', 'locales/de.json': '{"summary":"Antwortet"}', 'notes.txt': 'mine' },
  })
  const first = await runTool(folder, ['pack'])
  t.same([first.code, first.stderr], [0, ''])
  const file = path.join(folder, 'org.example.echo-1.0.0.plugin')
  const bytes = await readFile(file)
  t.match(first.stdout, `✔ org.example.echo-1.0.0.plugin\n  sha256  ${createHash('sha256').update(bytes).digest('hex')}`)
  t.match(first.stdout, `(${bytes.length} bytes)\n  signed  no`)
  t.match(readPackage(bytes), { manifest: { id: 'org.example.echo' }, readme: '# Echo\n', signedBy: [] })
  t.notOk(bytes.includes('notes.txt'))
  t.equal((await runTool(folder, ['pack', '--out', 'again.plugin'])).code, 0)
  t.same(await readFile(path.join(folder, 'again.plugin')), bytes)

  await rm(file)
  await writeFile(path.join(folder, 'src/main.ts'), ECHO.replace('async get', 'async got'))
  const refused = await runTool(folder, ['pack'])
  t.same([refused.code, refused.stderr], [1, ''])
  t.match(refused.stdout, /✖ error +functions +The manifest names metadata\.series\.get[\s\S]*✖ Nothing was packed: 1 error\./)
  await t.rejects(readFile(file), { code: 'ENOENT' })
})

t.test('keys are never overwritten, are private, and sign packages and indexes', async (t) => {
  const folder = await openPluginFolder(t)
  const made = await runTool(folder, ['sign', '--new-key', 'own.pem'])
  t.equal(made.code, 0)
  const publicKey = /public {2}(\S+)/.exec(made.stdout)?.[1] ?? ''
  t.equal((await stat(path.join(folder, 'own.pem'))).mode & 0o777, 0o600)
  const before = await readFile(path.join(folder, 'own.pem'))
  t.match(await runTool(folder, ['sign', '--new-key', 'own.pem']), { code: 1, stderr: /already exists/ })
  t.same(await readFile(path.join(folder, 'own.pem')), before, 'the key is not replaced')

  await mkdir(path.join(folder, 'out'))
  const file = path.join('out', 'echo.plugin')
  t.match(await runTool(folder, ['pack', '--key', 'own.pem', '--out', file]), {
    code: 0,
    stdout: `signed  ${fingerprintOf(publicKey)}\n  next    ${fingerprintOf(publicKey)}`,
  })
  t.match(await runTool(folder, ['sign', file, '--key', 'own.pem']), { code: 1, stderr: /is signed already/ })
  const other = /public {2}(\S+)/.exec((await runTool(folder, ['sign', '--new-key', 'other.pem'])).stdout)?.[1] ?? ''
  const both = path.join('out', 'both.plugin')
  t.match(await runTool(folder, ['pack', '--out', both, '--next', other]), { code: 1, stderr: /Only a signed package/ })
  t.match(await runTool(folder, ['pack', '--out', both]), { code: 0 })
  t.match(await runTool(folder, ['sign', both, '--key', 'own.pem', '--key', 'other.pem', '--next', other]), { code: 0 })
  t.match(readPackage(await readFile(path.join(folder, both))), { signedBy: [publicKey, other], nextSigners: [other] })
  await rm(path.join(folder, both))
  t.match(await runTool(folder, ['sign', file, '--key', 'README.md']), { code: 1, stderr: /contains no private Ed25519 key/ })

  t.match(await runTool(folder, ['index', 'out', '--key', 'own.pem']), { code: 1, stderr: /needs a name and a URL/ })
  const indexing = ['index', 'out', '--key', 'own.pem', '--name', 'Own plugins', '--url', 'https://example.org/plugins/']
  t.match(await runTool(folder, indexing), { code: 0, stdout: /Own plugins, number 1: 1 plugin, 1 version\n/ })
  const read = async () =>
    readIndex(
      await readFile(path.join(folder, 'out', 'index.json')),
      await readFile(path.join(folder, 'out', 'index.json.sig')),
      publicKey,
      new Date(),
    )
  const [first] = (await read()).plugins
  t.match(first, {
    id: 'org.example.echo',
    versions: [{ version: '1.0.0', url: 'echo.plugin', permissions: { hosts: ['api.example.org'], storageKB: 16 } }],
  })

  const text = await readFile(path.join(folder, 'out', 'index.json'), 'utf8')
  await writeFile(path.join(folder, 'out', 'index.json'), text.replace('"version": "1.0.0"', '"version": "1.0.0", "yanked": "It forgets"'))
  await writeFile(
    path.join(folder, 'manifest.json'),
    (await readFile(path.join(folder, 'manifest.json'), 'utf8')).replace('1.0.0', '1.1.0'),
  )
  t.equal((await runTool(folder, ['pack', '--key', 'own.pem', '--out', path.join('out', 'echo-1.1.0.plugin')])).code, 0)
  t.match(await runTool(folder, ['index', 'out', '--key', 'own.pem']), { code: 0, stdout: /number 2: 1 plugin, 2 versions/ })
  const second = await read()
  t.match(second, {
    name: 'Own plugins',
    sequence: 2,
    plugins: [{ versions: [{ version: '1.1.0' }, { version: '1.0.0', yanked: 'It forgets' }] }],
  })
  t.equal(second.plugins[0]?.versions[1]?.releasedAt, first?.versions[0]?.releasedAt, 'the release date stays the same')
  t.match(await readFile(path.join(folder, 'out', 'index.html'), 'utf8'), /Own plugins/)

  t.equal((await runTool(folder, ['pack', '--out', path.join('out', 'echo-1.1.0.plugin')])).code, 0)
  t.match(await runTool(folder, ['index', 'out', '--key', 'own.pem']), {
    code: 1,
    stderr: /differs from the published package of org\.example\.echo 1\.1\.0/,
  })
})

t.test('a saved call is repeated and measured', onlyFull, async (t) => {
  const folder = await openPluginFolder(t, {
    files: {
      'calls/other.json': JSON.stringify({ method: 'metadata.series.search', input: { query: 'other', limit: 5 }, fixtures: 'echo' }),
    },
  })
  const replayed = await runTool(folder, ['replay', 'calls/search.json'])
  t.same([replayed.code, replayed.stderr], [0, ''])
  for (const line of [
    /org\.example\.echo 1\.0\.0 {2}metadata\.series\.search/,
    /computed {2}\S+ ms of 500 ms/,
    /200 {2}GET https:\/\/api\.example\.org/,
    /info {3}found \{"titles":3\}/,
    /"title": "Echoes"/,
  ])
    t.match(replayed.stdout, line)
  const { code, stdout } = await runTool(folder, ['replay', 'calls/other.json', '--json'])
  t.equal(code, 1)
  t.match(JSON.parse(stdout), { code: 'upstream', message: /No fixture matches GET/, trace: { requests: [{ status: null }] } })
  const measured = await runTool(folder, ['bench', 'calls/search.json', '--calls', '20'])
  t.equal(measured.code, 0)
  t.match(measured.stdout, /20 calls of search\n {2}took +p50 +[\d.]+ ms +p95 +[\d.]+ ms +of 20000 ms\n {2}computed +p50/)
  t.match(await runTool(folder, ['bench', 'calls/other.json']), { code: 1, stderr: /Call 1 ended with upstream/ })
})
