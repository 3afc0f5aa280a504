import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import type { ToolInput } from '#plugins/devkit/command.ts'
import { release, runRelease } from '#plugins/devkit/release-command.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'
import { readNewIndex } from '#plugins/repositories/index-file.ts'
import { oneOfEach, someOf } from '#test/support/lane-size.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { ROOT, run } from '#test/support/sdk-install.ts'
import { testSeed } from '#test/support/timed-property.ts'

t.setTimeout(540_000)

const CHILD = path.join(ROOT, 'test', 'support', 'release-child.ts')
/** What a release that has not ended leaves. */
const BEGUN = '.release-org.example.echo.json'
const WHERE = ['--name', 'Own plugins', '--url', 'https://example.org/plugins/']

/** A plugin with a key, and what is new in a file. */
async function openReleases(t: Test): Promise<string> {
  const folder = await openPluginFolder(t, { files: { 'new.md': 'Finds echoes.\n' } })
  await runTool(folder, ['sign', '--new-key', 'key.pem'])
  return folder
}

const releaseIn = (folder: string, ...words: string[]) =>
  runTool(folder, ['release', ...words, '--key', 'key.pem', '--changelog', 'new.md'])

async function addHost(folder: string): Promise<void> {
  const file = path.join(folder, 'manifest.json')
  const { permissions = {}, ...manifest } = JSON.parse(await readFile(file, 'utf8')) as { permissions?: { network?: object[] } }
  const host = { host: 'images.example.org', methods: ['GET'], reason: 'Covers' }
  const wider = { ...permissions, network: [...(permissions.network ?? []), host] }
  await writeFile(file, JSON.stringify({ ...manifest, permissions: wider }, null, 2))
}

async function openIndex(folder: string) {
  const read = (name: string) => readFile(path.join(folder, 'releases', name))
  return readNewIndex(await read('index.json'), await read('index.json.sig'), new Date()).index
}

const packageIn = async (folder: string, version: string) =>
  readPackage(await readFile(path.join(folder, 'releases', `org.example.echo-${version}.plugin`)))

t.test('a release is tested, signed and listed, and the next one raises the version', async (t) => {
  const folder = await openReleases(t)
  const first = await releaseIn(folder, ...WHERE)
  t.equal(first.code, 0, first.output)
  t.match(first.stdout, /What administrators read of 1\.0\.0\. It\n {2}is org\.example\.echo/)
  t.match(first.stdout, /✔ releases\/org\.example\.echo-1\.0\.0\.plugin[\s\S]*Own plugins, number 1: 1 plugin, 1 version/)
  t.equal(await readFile(path.join(folder, 'CHANGELOG.md'), 'utf8'), '# Changelog\n\n## 1.0.0\n\nFinds echoes.\n')

  const second = await releaseIn(folder, 'minor')
  t.equal(second.code, 0, second.output)
  t.match(second.stdout, 'For administrators 1.1.0 is as 1.0.0: it runs at once, without a question.')
  t.match(await packageIn(folder, '1.1.0'), { manifest: { version: '1.1.0' }, signedBy: (await packageIn(folder, '1.0.0')).signedBy })
  const { plugins, sequence } = await openIndex(folder)
  t.match([sequence, plugins[0]?.versions], [2, [{ version: '1.1.0', changelog: 'Finds echoes.' }, { version: '1.0.0' }]])
  const page = await readFile(path.join(folder, 'releases', 'index.html'), 'utf8')
  t.match(page, /<pre> {2}is org\.example\.echo[\s\S]*connects to api\.example\.org/, 'what it asks for, as administrators read it')
  t.match(page, 'npm run carrel -- plugin repository add https://example.org/plugins/')
  t.match(
    page,
    /href="carrel:\/\/install\?repository=https%3A%2F%2Fexample\.org%2Fplugins%2F&amp;plugin=org\.example\.echo&amp;fingerprint=SHA256%3A/,
  )
  t.notOk((await readdir(path.join(folder, 'releases'))).includes(BEGUN), 'it has ended')
})

t.test('a release that asks for one host more says so before it is signed', async (t) => {
  const folder = await openReleases(t)
  t.match(await releaseIn(folder), { code: 0, stdout: /No index was made/ })
  await addHost(folder)
  const refused = await releaseIn(folder, 'minor')
  t.equal(refused.code, 1)
  t.match(refused.stdout, /\+ connects to images\.example\.org[\s\S]*! 1\.1\.0 waits for consent, because it/)
  t.match(refused.stderr, /Nothing was signed: this release asks administrators for more\. If that is intended, add --yes\./)
  t.same(await readdir(path.join(folder, 'releases')), ['org.example.echo-1.0.0.plugin'])
  t.match(JSON.parse(await readFile(path.join(folder, 'manifest.json'), 'utf8')), { version: '1.0.0' }, 'nothing was changed')
  t.match(await releaseIn(folder, 'minor', '--yes'), { code: 0, stdout: /Until\s+then\s+1\.0\.0\s+runs\./ })
})

t.test('a release that was killed at any step goes on, and signs nothing else under its version', async (t) => {
  const origin = await openReleases(t)
  t.equal((await releaseIn(origin, ...WHERE)).code, 0)
  const expected = await mkdtemp(path.join(tmpdir(), 'carrel-author-'))
  t.teardown(() => rm(expected, { recursive: true, force: true }))
  await cp(origin, expected, { recursive: true })
  t.equal((await releaseIn(expected, 'patch')).code, 0)
  const signed = await packageIn(expected, '1.0.1')

  for (const step of oneOfEach(2, 'steps at which it is killed', ['begun', 'version', 'changelog', 'signed', 'index'])) {
    const folder = path.join(expected, '..', `${path.basename(expected)}-${step}`)
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    await cp(origin, folder, { recursive: true })
    const input = inputOf(folder, ['patch'])
    await t.rejects(
      runRelease(input, (at) => {
        if (at === step) throw new Error('killed')
      }),
      /killed/,
    )
    t.match(await releaseIn(folder, 'major'), { code: 1, stderr: /The release of 1\.0\.1 was interrupted\. Go on with it/ }, step)
    const again = await releaseIn(folder, 'patch')
    t.equal(again.code, 0, `${step}: ${again.output}`)
    t.equal((await packageIn(folder, '1.0.1')).sha256, signed.sha256, `${step}: the same bytes`)
    t.same(
      (await openIndex(folder)).plugins[0]?.versions.map(({ version }) => version),
      ['1.0.1', '1.0.0'],
    )
    t.equal((await readFile(path.join(folder, 'CHANGELOG.md'), 'utf8')).split('## 1.0.1').length, 2, 'it is written once')
  }

  const changed = await mkdtemp(path.join(tmpdir(), 'carrel-author-'))
  t.teardown(() => rm(changed, { recursive: true, force: true }))
  await cp(origin, changed, { recursive: true })
  const killed = runRelease(inputOf(changed, ['patch']), (at) => {
    if (at === 'signed') throw new Error('killed')
  })
  await t.rejects(killed, /killed/)
  await writeFile(path.join(changed, 'README.md'), '# Another\n')
  t.match(await releaseIn(changed), { code: 1, stderr: /1\.0\.1 was signed with other content before the release was interrupted/ })
  t.equal((await packageIn(changed, '1.0.1')).sha256, signed.sha256)
})

/** The texts of all files by their paths, without what a killed process had begun to write beside them. */
async function filesIn(folder: string): Promise<Map<string, string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.filter((one) => one.isFile() && !one.name.endsWith('.part')).map((one) => path.join(one.parentPath, one.name))
  return new Map(await Promise.all(paths.map(async (file) => [path.relative(folder, file), await readFile(file, 'latin1')] as const)))
}

/** Releases in a process of its own. @param change before which it dies of SIGKILL */
async function releaseBeside(folder: string, change: number) {
  const child = [CHILD, folder, String(change), 'patch', '--key', 'key.pem', '--changelog', 'new.md']
  return await run(process.execPath, child, ROOT, {})
}

t.test(
  'a process that dies before any change of a file leaves each as before or as released, and the next run ends the release',
  async (t) => {
    const origin = await openReleases(t)
    t.equal((await releaseIn(origin, ...WHERE)).code, 0)
    const copy = async () => {
      const folder = await mkdtemp(path.join(tmpdir(), 'carrel-author-'))
      t.teardown(() => rm(folder, { recursive: true, force: true }))
      await cp(origin, folder, { recursive: true })
      return folder
    }
    const whole = await copy()
    const alive = await releaseBeside(whole, -1)
    t.equal(alive.code, 0, alive.stderr)
    const [before, released] = [await filesIn(origin), await filesIn(whole)]
    t.not(before.get('manifest.json'), released.get('manifest.json'))
    const isSigned = (name: string) => /^releases\/index\./.test(name)
    const changes = Array.from({ length: Number(alive.stdout) }, (_, change) => change)
    t.ok(changes.length > 10, `${changes.length} changes of files`)
    const first = Math.abs(testSeed) % changes.length
    for (const change of someOf('changes before which it dies', [...changes.slice(first), ...changes.slice(0, first)], 3)) {
      const folder = await copy()
      t.equal((await releaseBeside(folder, change)).code, null, `change ${change}: killed`)
      // The index has the time in it.
      for (const [name, text] of await filesIn(folder))
        if (name !== `releases/${BEGUN}` && !isSigned(name))
          t.ok([before.get(name), released.get(name)].includes(text), `change ${change}: ${name} is whole`)
      const again = await releaseIn(folder, 'patch')
      // It may have died when nothing was left but to say that it has ended.
      t.equal(again.code, 0, `change ${change}: ${again.output}`)
      const after = await filesIn(folder)
      t.same([...after.keys()].sort(), [...released.keys()].sort(), `change ${change}: nothing else is left`)
      for (const [name, text] of after) if (!isSigned(name)) t.equal(text, released.get(name), `change ${change}: ${name}`)
      t.same(
        (await openIndex(folder)).plugins[0]?.versions.map(({ version }) => version),
        ['1.0.1', '1.0.0'],
      )
      t.notOk(
        (await readdir(folder, { recursive: true })).some((name) => name.endsWith('.part')),
        `change ${change}: no parts are left`,
      )
    }
  },
)

t.test('an interrupted release leaves the other plugins of a shared folder alone', async (t) => {
  const shared = await mkdtemp(path.join(tmpdir(), 'carrel-releases-'))
  t.teardown(() => rm(shared, { recursive: true, force: true }))
  const openVersion = async (id: string, version: string) => {
    const folder = await openPluginFolder(t, { manifest: { id, version }, files: { 'new.md': 'Finds echoes.\n' } })
    await runTool(folder, ['sign', '--new-key', 'key.pem'])
    return folder
  }
  const one = await openVersion('org.example.echo', '3.0.0')
  const other = await openVersion('org.example.other', '1.3.0')
  for (const step of ['begun', 'signed']) {
    const killed = runRelease(inputOf(one, [], { out: shared }), (at) => {
      if (at === step) throw new Error('killed')
    })
    await t.rejects(killed, /killed/)
    const released = await releaseIn(other, ...(step === 'begun' ? [] : ['minor']), '--out', shared)
    t.equal(released.code, 0, released.output)
    t.equal(await readFile(path.join(shared, BEGUN), 'utf8'), '{"id":"org.example.echo","version":"3.0.0"}\n')
  }
  const goesOn = await releaseIn(one, '--out', shared)
  t.equal(goesOn.code, 0, goesOn.output)
  t.same((await readdir(shared)).sort(), [
    'org.example.echo-3.0.0.plugin',
    'org.example.other-1.3.0.plugin',
    'org.example.other-1.4.0.plugin',
  ])
})

t.test('a release that is stopped signs nothing, before it begins and in its middle, and goes on later', async (t) => {
  const folder = await openReleases(t)
  const before = await readdir(folder)
  for (const sign of ['✔', 'What administrators read']) {
    const stopping = new AbortController()
    const out = {
      line: (text = '') => {
        if (text.includes(sign)) stopping.abort()
      },
      paint: (_style: unknown, text: string) => text,
    }
    await t.rejects(runRelease({ ...inputOf(folder, []), out, stop: stopping.signal }), {
      name: 'ToolProblem',
      message: /^Stopped\. Nothing was released\.$/,
    })
    t.same(await readdir(folder), before, `stopped at ${sign}: nothing has changed`)
  }
  const stopping = new AbortController()
  const stopped = runRelease({ ...inputOf(folder, []), stop: stopping.signal }, (step) => {
    if (step === 'version') stopping.abort()
  })
  await t.rejects(stopped, { message: 'Stopped. Nothing was signed. The release of 1.0.0 goes on when you run the command again.' })
  t.same(await readdir(path.join(folder, 'releases')), [BEGUN])
  t.equal((await releaseIn(folder)).code, 0)
  t.same(await readdir(path.join(folder, 'releases')), ['org.example.echo-1.0.0.plugin'])
})

function inputOf(folder: string, words: string[], more: Record<string, string> = {}): ToolInput {
  const values: Record<string, string> = { key: 'key.pem', changelog: 'new.md', ...more }
  return {
    cwd: folder,
    folder,
    words,
    flag: (name) => values[name],
    all: (name) => (values[name] === undefined ? [] : [values[name]]),
    isOn: () => false,
    out: { line() {}, paint: (_style, text) => text },
    readLine: null,
    log: silentLog,
    stop: new AbortController().signal,
  }
}

t.test('what is new can be typed, and the person is asked about a release that asks for more', async (t) => {
  const folder = await openReleases(t)
  const questions: string[] = []
  const answers = async (question: string) => {
    questions.push(question)
    return 'Typed.'
  }
  const input = { ...inputOf(folder, []), readLine: answers }
  const flag = (name: string) => (name === 'changelog' ? undefined : input.flag(name))
  t.equal(await release.run({ ...input, flag }), 0)
  t.same(questions, ['What is new in 1.0.0, for administrators? '])
  t.match(await readFile(path.join(folder, 'CHANGELOG.md'), 'utf8'), '## 1.0.0\n\nTyped.\n')
  await addHost(folder)
  const asked = { ...inputOf(folder, ['patch']), readLine: async () => 'no' }
  await t.rejects(release.run(asked), /Nothing was signed\./)
  t.same(await readdir(path.join(folder, 'releases')), ['org.example.echo-1.0.0.plugin'])
})

t.test('releases that cannot be are refused before anything changes', async (t) => {
  const folder = await openReleases(t)
  await chmod(path.join(folder, 'key.pem'), 0o644)
  t.match(await releaseIn(folder), {
    code: 1,
    stderr: /key\.pem can be read by other accounts of this machine \(mode 644\)[\s\S]*chmod 600 /,
  })
  t.match(await runTool(folder, ['pack', '--key', 'key.pem']), { code: 1, stderr: /chmod 600/ })
  await chmod(path.join(folder, 'key.pem'), 0o600)
  const before = await readdir(folder)
  for (const [given, complaint] of [
    [['release'], /A release is signed: add --key FILE/],
    [['release', 'huge', '--key', 'key.pem'], /"huge" is not a kind of release: patch, minor, major\./],
    [['release', 'patch', '--key', 'key.pem'], /No release is in \S+ yet\. Release 1\.0\.0 as manifest\.json has it/],
    [['release', '--key', 'key.pem'], /CHANGELOG\.md does not say what is new in 1\.0\.0\. Give it with --changelog FILE/],
    [['release', '--key', 'key.pem', '--changelog', 'none.md'], /none\.md cannot be read \(ENOENT\)/],
  ] as const)
    t.match(await runTool(folder, given), { code: 1, stdout: '', stderr: complaint })
  await writeFile(path.join(folder, 'new.md'), 'a'.repeat(1_000_000))
  t.match(await releaseIn(folder), { code: 1, stderr: /new\.md has 1000000 bytes; give a file with what is new in this version alone/ })
  await writeFile(path.join(folder, 'new.md'), 'New.')
  t.same(await readdir(folder), before)

  await mkdir(path.join(folder, 'test'))
  await writeFile(
    path.join(folder, 'test', 'main.test.ts'),
    `import { test } from '@carrel/plugin-sdk/testing'\ntest('fails', () => { throw new Error('no') })\n`,
  )
  t.match(await releaseIn(folder), { code: 1, stdout: /✖ fails/ })
  await rm(path.join(folder, 'test'), { recursive: true })
  await writeFile(path.join(folder, 'src', 'main.test.ts'), '')
  t.match(await releaseIn(folder), { code: 1, stdout: /src\/main\.test\.ts\n {2}✖ the file runs/ })
  await rm(path.join(folder, 'src', 'main.test.ts'))
  t.same(await readdir(folder), before, 'nothing is released whose tests fail, or do not run')

  t.equal((await releaseIn(folder)).code, 0)
  t.match(await releaseIn(folder), {
    code: 1,
    stderr: /1\.0\.0 is released already, and manifest\.json has 1\.0\.0\. Say what kind of release is next/,
  })
  await runTool(folder, ['sign', '--new-key', 'other.pem'])
  const other = await runTool(folder, ['release', 'patch', '--key', 'other.pem', '--changelog', 'new.md'])
  t.match(other, { code: 1, stderr: /Servers refuse 1\.0\.1 signed with SHA256:\S+: 1\.0\.0 may only be followed by/ })
})
