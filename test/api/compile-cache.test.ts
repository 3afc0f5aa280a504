import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { fillCompileCache } from '#api/compile-cache.mjs'
import { NODE_FLAGS, tunedEnvironment } from '#api/node-tuning.mjs'
import { awaitScan, startServer } from '#test/support/running-server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(600_000)

const node = process.execPath
/** On machines that are busy with everything at once. */
const PATIENCE_MS = 240_000
/** Node's compiler of types. */
const HAS_COMPILER = 'process.moduleLoadList.some((name) => /deps\\/amaro/.test(name))'

t.test('code that has changed is loaded once, by another process', async (t) => {
  const root = t.testdir()
  for (const folder of ['api', 'core', 'migrations', 'plugins', 'workers']) mkdirSync(path.join(root, folder))
  const write = (name: string, text: string) => writeFileSync(path.join(root, name), text)
  write('package.json', '{"type":"module"}')
  const cache = path.join(root, 'cache')
  const parts = { root, node, flags: NODE_FLAGS, environment: { ...process.env, NODE_COMPILE_CACHE: cache } }
  const start = () =>
    execFileSync(node, [...NODE_FLAGS, path.join(root, 'core/one.ts')], { env: parts.environment, encoding: 'utf8' }).trim()
  write('core/one.ts', `const has: boolean = ${HAS_COMPILER}\nconsole.log(has)\n`)
  t.equal(await fillCompileCache(parts), false, 'there is nothing that loads it')
  write('api/load-all.mjs', `await import('../core/one.ts')\n`)
  t.equal(await fillCompileCache(parts), true)
  t.equal(start(), 'false', 'it is there without its types')
  t.equal(await fillCompileCache(parts), false)

  write('core/one.ts', `const has: boolean = ${HAS_COMPILER}\nconsole.log(has, 'changed')\n`)
  t.equal(await fillCompileCache(parts), true)
  t.equal(start(), 'false changed')
  utimesSync(path.join(root, 'core/one.ts'), 1, 1)
  t.equal(await fillCompileCache(parts), true, 'a file of the same length may be another')

  write('api/load-all.mjs', 'process.exit(1)\n')
  t.equal(await fillCompileCache(parts), true)
  t.equal(await fillCompileCache(parts), true, 'what failed is tried again')
  t.equal(await fillCompileCache({ ...parts, node: '/nowhere/node' }), true, 'and fails nobody')
  t.equal(await fillCompileCache({ ...parts, environment: {} }), false)
  t.equal(await fillCompileCache({ ...parts, environment: { ...parts.environment, NODE_DISABLE_COMPILE_CACHE: '1' } }), false)
  rmSync(path.join(root, 'workers'), { recursive: true })
  t.equal(await fillCompileCache(parts), false, 'half a checkout')
})

t.test('a server whose code was loaded once needs no compiler, whatever it does', async (t) => {
  const folder = t.testdir()
  const environment = { ...tunedEnvironment(process.env), NODE_COMPILE_CACHE: path.join(folder, 'cache') }
  const root = fileURLToPath(new URL('../..', import.meta.url))
  t.equal(await fillCompileCache({ root, node, flags: NODE_FLAGS, environment, patienceMs: PATIENCE_MS }), true)
  t.equal(await fillCompileCache({ root, node, flags: NODE_FLAGS, environment, patienceMs: PATIENCE_MS }), false, 'it came to its end')

  const library = path.join(folder, 'library', 'Series')
  mkdirSync(library, { recursive: true })
  const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
  writeFileSync(path.join(library, 'Book 1.cbz'), buildZip([{ name: '1.gif', data: pixel }]))
  const asked = path.join(folder, 'asked.mjs')
  writeFileSync(asked, `process.on('message', () => process.send(${HAS_COMPILER}))\nprocess.channel?.unref()\n`)
  const server = await startServer({ dataFolder: path.join(folder, 'data'), env: environment, flags: ['--import', asked] })
  t.teardown(() => server.stop())
  const { id } = await server.post<{ id: string }>('/api/v1/libraries', {
    name: 'One',
    path: path.dirname(library),
    scanImmediately: false,
  })
  await server.post(`/api/v1/libraries/${id}/scan`)
  await awaitScan(server, id, { analyzed: true, timeoutMs: 120_000 })
  await server.get('/api/v1/admin/plugins')
  const has = await new Promise((resolve) => {
    server.process.on('message', (said) => typeof said === 'boolean' && resolve(said))
    server.process.send('?')
  })
  t.equal(has, false)
})
