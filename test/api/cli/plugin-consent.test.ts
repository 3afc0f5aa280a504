import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { consentToShown } from '#api/cli/plugin-consent.ts'
import { Terminal } from '#api/cli/terminal.ts'
import type { SwitchedPlugin } from '#plugins/host/plugin-lifecycle.ts'
import { makeRoom, root } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { testSettings } from '#test/support/server.ts'

t.setTimeout(240_000)

const MAIN = 'export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } } }'
const HASH = /\b[0-9a-f]{64}\b/

async function openRoom(t: Test, plugins: Readonly<Record<string, Record<string, unknown>>>) {
  const room = await makeRoom(t)
  const { url } = await openTestDatabase(t)
  for (const [name, manifest] of Object.entries(plugins)) await writeFile(path.join(room, name), pluginOf(MAIN, manifest))
  return async (...words: string[]) =>
    await runInProcess(['plugin', ...words, '--data-dir', path.join(room, 'data')], { env: { DATABASE_URL: url }, cwd: room })
}

const network = [{ host: 'api.example.org', methods: ['GET'], reason: 'Searches for books' }]
const NOTES = { id: 'org.example.notes', name: 'Notes', summary: 'Finds series at Example', permissions: { network } }

t.test('a command consents only to the package that it has printed', async (t) => {
  const run = await openRoom(t, {
    'one.plugin': NOTES,
    'same.plugin': { ...NOTES, version: '1.0.1' },
    'two.plugin': { ...NOTES, version: '1.1.0', permissions: { network, storage: { quotaKB: 64 } } },
  })
  const hashOf = (output: string) => /^SHA-256 ([0-9a-f]{64})$/m.exec(output)?.[1] ?? ''
  const other = '0'.repeat(64)
  t.match(await run('install', 'one.plugin', '--sha256', other), { code: 1, output: /not\s+0{64}/ })
  t.match(await run('install', 'one.plugin', '--sha256', '1234'), { code: 1, output: /64 hexadecimal digits, not 1234/ })
  t.match(await run('list'), { code: 0, output: /no plugin yet/ }, 'it is not stored')
  const reviewed = await run('review', 'one.plugin')
  t.match(reviewed, { code: 3, output: /connects to api\.example\.org[\s\S]*waits for consent, because it runs for the first time/ })
  t.notMatch(reviewed.output, /differs from/, 'nothing was agreed to')
  const unsigned = /^ {2}The package is not signed: whoever can give you a file/m
  t.match(reviewed.output, unsigned)
  t.match(await run('list'), { code: 0, output: /no plugin yet/ }, 'a review stores nothing')
  t.match(await run('install', 'one.plugin'), { code: 0, output: /waits for consent[\s\S]*You have not consented/ })

  const asked = await run('consent', 'org.example.notes')
  t.match(asked, { code: 3, output: /connects to api[\s\S]*You have not consented[^\n]*plugin consent org\.example\.notes --sha256/ })
  t.match(asked.output, unsigned)
  t.equal(hashOf(asked.output), hashOf(reviewed.output))
  t.match(await run('list'), { output: /notes 1\.0\.0 {2}waiting/ })
  t.match(await run('consent', 'org.example.notes', '--sha256', other), { code: 1, output: /connects to api[\s\S]*not\s+0{64}/ })
  t.match(await run('list'), { output: /notes 1\.0\.0 {2}waiting/ })
  t.match(await run('consent', 'org.example.notes', '--sha256', hashOf(asked.output)), { code: 0, output: /consented; it runs/ })
  t.match(await run('install', 'one.plugin'), { code: 0, output: /notes 1\.0\.0 is already installed, and runs\./ })
  t.match(await run('review', 'org.example.notes'), { code: 0, output: /Nothing differs[\s\S]*needs no consent/ })
  t.match(await run('review', 'same.plugin'), { code: 0, output: /Nothing differs/ }, 'another version that causes the same')

  const grown = await run('review', 'two.plugin')
  t.ok(grown.output.indexOf('\n+ stores') < grown.output.indexOf('\n  is org.example.notes'), 'what differs stands first')
  t.match(grown, { code: 3, output: /\n\+ stores up to 64 KB[\s\S]*because it stores up to 64 KB/ })
  t.match(await run('install', 'two.plugin', '--sha256', hashOf(asked.output)), { code: 1 }, 'a hash of another version')
  t.match(await run('install', 'two.plugin'), { code: 0, output: /\n\+ stores up to 64 KB[\s\S]*You have not consented/ })
  t.match(await run('review', 'org.example.notes'), { code: 3, output: /notes 1\.1\.0\.[\s\S]*\n\+ stores up to 64 KB/ })
  t.match(await run('install', 'two.plugin', '--sha256', hashOf(grown.output)), { code: 0, output: /consented; it runs/ })
  t.match(await run('review', 'org.example.none'), { code: 1, output: /does not exist/ })
})

t.test('on a terminal only the word yes or its first letter consents', async (t) => {
  for (const [typed, consents] of [
    ['yes\n', true],
    ['y\n', true],
    ['\n', false],
    ['no\n', false],
    [null, false],
  ] as const) {
    const stdin = Object.assign(new PassThrough(), { isTTY: true })
    stdin.end(typed ?? undefined)
    const agreed: string[] = []
    const written: string[] = []
    const after = await consentToShown(
      {
        settings: testSettings(),
        flag: () => undefined,
        out: new Terminal({ write: (text) => written.push(text) }),
        stop: new AbortController().signal,
      },
      {
        pluginLifecycle: {
          async consent(_id, { sha256 }) {
            agreed.push(sha256)
            return { state: 'enabled', pausedUsers: 0 } as SwitchedPlugin
          },
        },
      },
      { id: '1', key: 'org.example.notes' },
      { sha256: 'a'.repeat(64) },
      stdin,
    )
    t.same([after !== null, agreed], consents ? [true, ['a'.repeat(64)]] : [false, []], JSON.stringify(typed))
    t.equal(/not consented/.test(written.join('')), !consents)
  }
})

t.test('the page for administrators shows a consent, an update and a withdrawal as they are printed', async (t) => {
  const versions = {
    'notes.plugin': NOTES,
    'notes-1.1.plugin': { ...NOTES, version: '1.1.0', permissions: { network, storage: { quotaKB: 64 } } },
  }
  const run = await openRoom(t, versions)
  const page = await readFile(path.join(root, 'docs/plugins.md'), 'utf8')
  const shown = [...page.matchAll(/^```text\n\$ npm run carrel -- plugin (.+)\n([\s\S]*?)^```$/gm)]
  t.equal(shown.length, 3)
  const sha256 = HASH.exec((await run('review', 'notes.plugin')).output)?.[0] ?? ''
  for (const [, line = '', expected] of shown) {
    const { code, output } = await run(...line.replace(HASH, sha256).split(' '))
    // The bytes of a package depend on the compression of the Node that packs it; the page gives no folder.
    const printed = output.replace(HASH, 'SHA').replace(/ --data-dir \S+/, '')
    t.same([code, printed], [0, expected?.replace(HASH, 'SHA')], line)
  }
})
