import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { typedCreate, typedTool } from '#plugins/devkit/typed.ts'
import { ROOT } from '#test/support/sdk-install.ts'

const program = path.join(ROOT, 'plugins', 'devkit', 'carrel-plugin.mjs')

t.test('a hint uses the tool’s file in a checkout, and its name only when it is on the PATH', async (t) => {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'carrel-typed-')))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const bin = path.join(folder, 'bin')
  const ofNpm = path.join(folder, 'node_modules', '.bin')
  const other = path.join(folder, 'other')
  for (const one of [bin, ofNpm, other]) await mkdir(one, { recursive: true })
  for (const one of [bin, ofNpm]) await symlink(program, path.join(one, 'carrel-plugin'))
  await writeFile(path.join(other, 'carrel-plugin'), '#!/bin/sh\n')
  await chmod(path.join(other, 'carrel-plugin'), 0o755)

  t.equal(typedTool('pack', { env: { PATH: `/usr/bin:${bin}` }, cwd: folder }), 'carrel-plugin pack')
  const byFile = `node ${program} pack`
  t.equal(
    typedTool('pack', { env: { PATH: ofNpm }, cwd: path.join(ROOT, '..', 'x') }),
    `node ../${path.basename(ROOT)}/plugins/devkit/carrel-plugin.mjs pack`,
  )
  t.equal(
    typedTool('pack', { env: { PATH: `${ofNpm}:${other}` }, cwd: '/a/b/c/d/e/f/g/h/i/j' }),
    byFile,
    'npm adds its folder only for scripts',
  )
  t.equal(typedTool('pack', { env: {}, cwd: ROOT }), 'node plugins/devkit/carrel-plugin.mjs pack')
  t.equal(typedCreate(ROOT), 'node plugin-sdk/create/create-plugin.mjs my-plugin')
})

/** npm asks the registry for the package of such a name, and runs what it gets. */
const UNSCOPED =
  /\b(npx|npm (?:exec|x|create|init|i|install))(?:\s+-\S+)*\s+(?:create-)?(carrel|carrel-plugin|carrel-create-plugin)(?=[\s`'"@]|$)/

t.test('no text tells anybody to run the tool by a name that anyone may register', async (t) => {
  for (const [text, isUnscoped] of [
    ['npx carrel-plugin test', true],
    ['`npx --no-install carrel-plugin`', true],
    ['npm install --save-dev carrel-plugin', true],
    ['npm create carrel-plugin', true],
    ['npx @carrel/plugin-tool test', false],
    ['npm create @carrel/plugin my-plugin', false],
    ['npx file:../carrel/plugin-sdk/create my-plugin', false],
    ['carrel-plugin pack', false],
  ] as const)
    t.equal(UNSCOPED.test(text), isUnscoped, text)
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
  const own = path.relative(ROOT, import.meta.filename)
  const names = listed.split('\0').filter((name) => /\.(md|[cm]?[jt]sx?|json|html|ya?ml|template)$/.test(name) && name !== own)
  t.ok(names.includes('plugin-sdk/README.md') && names.length > 1_000, 'the files were found')
  for (const name of names) {
    const text = await readFile(path.join(ROOT, name), 'utf8').catch(() => '')
    const found = UNSCOPED.exec(text)
    if (found !== null) t.fail(`${name} says "${found[0]}"`)
  }
})
