import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeRoom } from '#test/support/carrel-process.ts'
import { runInProcess } from '#test/support/command-in-process.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const main = 'export default { metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } } }'

t.test('plugins from the command line', async (t) => {
  const room = await makeRoom(t)
  const file = (name: string, bytes: Buffer) => {
    writeFileSync(path.join(room, name), bytes)
    return path.join(room, name)
  }
  const { url } = await openTestDatabase(t)
  const typed = (words: string[]) => ['plugin', ...words, '--data-dir', path.join(room, 'data')]
  const run = async (...words: string[]) => await runInProcess(typed(words), { env: { DATABASE_URL: url } })
  t.match(await runInProcess(typed(['list'])), { code: 1, output: /data does not exist/ })
  const one = file('one.plugin', pluginOf(main))
  t.match(await run('install', one), { code: 0, output: /connects to api\.example\.org[\s\S]*waits for consent[\s\S]*--sha256/ })
  t.match(await run('list'), { output: /org\.example\.echo 1\.0\.0 {2}waiting/ })
  t.match(await run('enable', 'org.example.echo'), { code: 1, output: /waits for consent\.[\s\S]*plugin consent org\.example\.echo/ })
  t.match(await run('install', one, '--yes'), { code: 0, output: /You have consented; it runs/ })
  t.match(await run('rollback', 'org.example.echo'), { code: 1, output: /only\s+1\.0\.0\s+is\s+stored/ })
  t.match(await run('install', file('next.plugin', pluginOf(main, { version: '1.0.1' }))), { code: 0, output: /needs no new permissions/ })
  t.match(await run('rollback', 'org.example.echo'), { code: 0, output: /1\.0\.0 is enabled/ })
  t.match(await run('list'), { output: /1\.0\.1 was rolled back; to run it again:[\s\S]*plugin consent\s+org\.example\.echo/ })
  t.match(await run('rollback', 'org.example.echo', '1.0.1'), {
    code: 1,
    output: /is newer than 1\.0\.0[\s\S]*plugin consent org\.example\.echo 1\.0\.1/,
  })
  t.match(await run('disable', 'org.example.echo'), { code: 0, output: /is disabled/ })
  t.match(await run('enable', 'org.exmple.echo'), { code: 1, output: /Did you mean org\.example\.echo/ })
  // Only the server's own plugins have short names.
  const other = file('other.plugin', pluginOf(main, { id: 'org.evil.open-library' }))
  t.match(await run('install', other), { code: 0, output: /waits for consent/ })
  for (const name of ['open-library', 'evil.open-library', 'ORG.evil.open-library', 'org.evil.open-librar'])
    t.match(await run('consent', name, '--yes'), { code: 1, output: /There is no plugin "/ }, name)
  t.match(await run('list'), { output: /org\.evil\.open-library 1\.0\.0 {2}waiting/ })
  t.match(await run('install', file('bad.plugin', Buffer.from('x'))), {
    code: 1,
    output: /bad\.plugin is not a ZIP file[\s\S]*carrel-plugin pack/,
  })
  t.match(await run('install', path.join(room, 'nothing')), { code: 1, output: /nothing does not exist\./ })
})

/** What a program on a terminal must never print: escape codes, and what shows nothing. */
const RAW = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/u

t.test('errors of a package reach the terminal escaped, and only their first line is not indented', async (t) => {
  const room = await makeRoom(t)
  const { url } = await openTestDatabase(t)
  const forged = '\u001b[2J\u001b[H\u001b]52;c;cm0=\u0007\u202e\nIt needs no new permissions, and runs.'
  for (const [name, code] of [
    ['load', `throw new Error(${JSON.stringify(forged)})`],
    [
      'setup',
      `export default { setup() { throw new Error(${JSON.stringify(forged)}) }, metadata: { series: { search: () => 1, get: () => 1 } } }`,
    ],
  ] as const) {
    const file = path.join(room, `${name}.plugin`)
    writeFileSync(file, pluginOf(code))
    const words = ['plugin', 'install', file, '--yes', '--data-dir', path.join(room, 'data')]
    const { output } = await runInProcess(words, { env: { DATABASE_URL: url } })
    t.notMatch(output, RAW, name)
    t.notMatch(output, /^It needs no new permissions/m, name)
    if (name === 'load') t.match(output.replaceAll(/\n {4}/g, ' '), /does not start: ".*\\x1b\[2J.*\\u202e\\nIt needs no new/)
  }
})
