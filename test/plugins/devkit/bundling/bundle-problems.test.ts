import { mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { ECHO, openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

/** The code of the plugin with a first line of its own. */
const withLine = (line: string): string => `${line}\n${ECHO}`
/** A package in node_modules with this code. */
const packageOf = (name: string, code: string, more: Record<string, unknown> = {}): Record<string, string> => ({
  [`node_modules/${name}/package.json`]: JSON.stringify({ name, version: '1.0.0', main: 'index.js', ...more }),
  [`node_modules/${name}/index.js`]: code,
})
const AGENT = packageOf('agent', "const http = require('http'), tls = require('node:tls')\nmodule.exports = [http, tls]\n")

/** What the author has, and the whole message. */
const MISTAKES: [name: string, files: Record<string, string>, message: string][] = [
  [
    'a package that is not installed',
    { 'src/main.ts': withLine("import 'left-pad-nope'") },
    'src/main.ts:1:8: left-pad-nope is not installed: npm install left-pad-nope',
  ],
  [
    'a scoped package that is not installed',
    { 'src/main.ts': withLine("import '@scope/none/deep'") },
    'src/main.ts:1:8: @scope/none is not installed: npm install @scope/none',
  ],
  [
    'a misspelled name of the SDK',
    { 'src/main.ts': ECHO.replace('@carrel/plugin-sdk', '@carrel/plugins-sdk') },
    'src/main.ts:1:30: @carrel/plugins-sdk does not exist. Did you mean @carrel/plugin-sdk?',
  ],
  [
    'a misspelled module of the SDK',
    { 'src/main.ts': withLine("import '@carrel/plugin-sdk/htlm'") },
    'src/main.ts:1:8: @carrel/plugin-sdk has no module "htlm". Did you mean html? It has text, html, xml, testing.',
  ],
  [
    'a file of the SDK that is no module of it',
    { 'src/main.ts': withLine("import '@carrel/plugin-sdk/normalize-text'") },
    'src/main.ts:1:8: @carrel/plugin-sdk has no module "normalize-text". Did you mean text? It has text, html, xml, testing.',
  ],
  [
    'a name that the SDK does not have',
    { 'src/main.ts': ECHO.replace('{ definePlugin }', '{ definePlugin, fetchJson }').replace('const {', 'fetchJson()\n        const {') },
    'src/main.ts:1:24: @carrel/plugin-sdk has no export "fetchJson". docs/plugin-api.md lists all.',
  ],
  [
    'a name that a part of the SDK does not have',
    { 'src/main.ts': withLine("import { parse } from '@carrel/plugin-sdk/html'\nparse('')") },
    'src/main.ts:1:10: @carrel/plugin-sdk/html has no export "parse". docs/plugin-api.md lists all.',
  ],
  [
    'files of Node',
    { 'src/main.ts': withLine("import 'node:fs'") },
    'src/main.ts:1:8: node:fs is a module of Node, in which plugins do not run. Use ctx.storage.',
  ],
  [
    'promises of files',
    { 'src/main.ts': withLine("import 'fs/promises'") },
    'src/main.ts:1:8: fs/promises is a module of Node, in which plugins do not run. Use ctx.storage.',
  ],
  [
    'requests of Node',
    { 'src/main.ts': withLine("import 'https'") },
    'src/main.ts:1:8: https is a module of Node, in which plugins do not run. Use ctx.http.',
  ],
  [
    'hashes of Node',
    { 'src/main.ts': withLine("import 'node:crypto'") },
    'src/main.ts:1:8: node:crypto is a module of Node, in which plugins do not run. Use ctx.crypto.',
  ],
  [
    'processes of Node',
    { 'src/main.ts': withLine("import 'node:child_process'") },
    'src/main.ts:1:8: node:child_process is a module of Node, in which plugins do not run.',
  ],
  ['a file that does not exist', { 'src/main.ts': withLine("import './lib/none'") }, 'src/main.ts:1:8: There is no file src/lib/none.'],
  [
    'a part that a package does not have',
    { 'src/main.ts': withLine("import 'agent/none'"), ...AGENT },
    'src/main.ts:1:8: agent is installed, but has no "none" that a plugin can import.',
  ],
  [
    'a package with modules of Node',
    { 'src/main.ts': withLine("import 'agent'"), ...AGENT },
    'src/main.ts:1: agent needs modules of Node, in which plugins do not run: http, node:tls (node_modules/agent/index.js:1:22). Use ctx.http instead.',
  ],
  [
    'a package of a package with modules of Node',
    { 'src/main.ts': withLine("import 'client'"), ...packageOf('client', "require('agent')"), ...AGENT },
    'src/main.ts:1: agent, which client uses, needs modules of Node, in which plugins do not run: http, node:tls (node_modules/agent/index.js:1:22). Use ctx.http instead.',
  ],
  [
    'a package whose own package is missing',
    { 'src/main.ts': withLine("import 'client'"), ...packageOf('client', "require('gone')") },
    'src/main.ts:1: client needs gone, which is not installed (node_modules/client/index.js:1:9). Install client again: npm install client',
  ],
  [
    'a package that leads out of itself',
    { 'src/main.ts': withLine("import 'evil'"), 'secret.js': 'export default 1', ...packageOf('evil', '', { main: '../../secret.js' }) },
    'src/main.ts:1:8: The package.json of evil leads out of the package, to ../../secret.js. Plugins are bundled without such packages; report it to the author of evil.',
  ],
]

const findings = (stdout: string) => (JSON.parse(stdout) as { findings: { level: string; message: string }[] }).findings

t.test('every import that cannot be bundled has a message with the line of the author, the package and what to do', async (t) => {
  for (const [name, files, message] of MISTAKES) {
    const { code, stdout } = await runTool(await openPluginFolder(t, { files }), ['validate', '--json', '--no-types'])
    t.equal(code, 1, name)
    t.same(
      findings(stdout).flatMap((one) => (one.level === 'error' ? [one.message] : [])),
      [`The bundler reports errors:\n  ${message}`],
      name,
    )
  }
})

t.test('exports of a package are taken for workers and browsers, and never lead out of it', async (t) => {
  const conditions = { worker: './worker.js', browser: './page.js', default: './node.js' }
  const files = {
    'src/main.ts': withLine("import 'twofold'\nimport 'old'"),
    ...packageOf('twofold', '', { exports: conditions }),
    'node_modules/twofold/worker.js': 'globalThis.worker = 1',
    'node_modules/twofold/node.js': "require('fs')",
    ...packageOf('old', "require('./files')", { browser: { './files.js': './page.js', fs: false } }),
    'node_modules/old/files.js': "require('fs')",
    'node_modules/old/page.js': 'globalThis.page = 1',
  }
  const folder = await openPluginFolder(t, { files })
  t.match(await runTool(folder, ['validate', '--no-types']), { code: 0 })
  await writeFile(
    path.join(folder, 'node_modules/twofold/package.json'),
    JSON.stringify({ name: 'twofold', exports: { worker: './../../LICENSE', default: './../../LICENSE' } }),
  )
  t.match(await runTool(folder, ['validate', '--no-types']), { code: 1, stdout: /src\/main\.ts:1:8/ })
})

t.test('tests say once that there is no plugin, and what a global of Node is replaced by', async (t) => {
  const none = await openPluginFolder(t, { files: { 'src/main.ts': ECHO.replace('export default', 'export const plugin =') } })
  const said = 'src/main.ts has no default export, which a server needs. It exports plugin. Write: export default definePlugin({ … })'
  for (const command of ['test', 'bench calls/search.json'])
    t.match(await runTool(none, command.split(' ')), { code: 1, stdout: '', stderr: `${said}\n` }, command)
  const buffer = await openPluginFolder(t, {
    files: { 'src/main.ts': ECHO.replace('const times', "Buffer.from('a')\n        const times") },
  })
  t.match(
    (await runTool(buffer, ['test', '--no-types'])).stdout.replaceAll(/\s+/g, ' '),
    /Buffer is not defined\. The sandbox does not have Buffer\. Use Uint8Array, and strings\./,
  )
})

t.test('pack says what is large: with --sizes, near the limit, and beyond it', async (t) => {
  const sized = (kilobytes: number) => ({
    'src/main.ts': `import { text } from './text.ts'\n${ECHO.replace('title: externalId', 'title: externalId + text.slice(0, 1)')}`,
    'src/text.ts': `export const text = '${'many words '.repeat(kilobytes * 93)}'\n`,
  })
  const small = await openPluginFolder(t)
  t.notMatch((await runTool(small, ['pack', '--no-types'])).stdout, /largest/)
  t.match(
    (await runTool(small, ['pack', '--no-types', '--sizes'])).stdout,
    /largest modules\n +\d+ bytes {2}src\/main\.ts\n|largest modules\n +[\d.]+ KB {2}/,
  )
  const near = await runTool(await openPluginFolder(t, { files: sized(1_700) }), ['pack', '--no-types'])
  t.match(near, { code: 0, stdout: /largest modules\n +1698 KB {2}src\/text\.ts\n/ }, near.output.slice(0, 2_000))
  const beyond = await openPluginFolder(t, { files: sized(2_100) })
  for (const command of ['pack', 'test'])
    t.match(
      (await runTool(beyond, [command])).output,
      /The bundle has 2099 KB; the limit of a server is\s+2048\s+KB\. Its largest modules:\n +2098 KB {2}src\/text\.ts/,
      command,
    )
})

t.test('a folder with spaces, links and ten thousand files is bundled as any other', async (t) => {
  const plain = await openPluginFolder(t)
  const folder = path.join(plain, 'my plugin, the second')
  await mkdir(path.join(folder, 'fixtures'), { recursive: true })
  for (const name of ['manifest.json', 'src', 'README.md', 'LICENSE']) await symlink(path.join(plain, name), path.join(folder, name))
  await Promise.all(Array.from({ length: 10_000 }, (_, index) => writeFile(path.join(folder, 'fixtures', `${index}.txt`), '')))
  const { code, output } = await runTool(folder, ['pack', '--no-types'])
  t.equal(code, 0, output)
})
