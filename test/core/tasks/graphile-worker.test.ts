import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'

t.test('no file in the working folder is executed', (t) => {
  const folder = t.testdir({})
  const found = join(folder, 'found')
  const trap = `require('node:fs').writeFileSync(${JSON.stringify(found)}, ''); module.exports = {}`
  writeFileSync(join(folder, 'graphile-worker.config.cjs'), trap)
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const load = (file: string) =>
    execFileSync(process.execPath, ['--input-type=module', '-e', `await import(${JSON.stringify(pathToFileURL(join(root, file)).href)})`], {
      cwd: folder,
      encoding: 'utf8',
    })
  load('core/tasks/graphile-worker.ts')
  load('migrations/baseline/tasks.ts')
  t.notOk(existsSync(found))
  load('node_modules/graphile-worker/dist/index.js')
  t.ok(existsSync(found), 'as it would be otherwise')
  t.end()
})
