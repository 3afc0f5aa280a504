import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { addRevocations } from '#plugins/repositories/plugin-repository-store.ts'
import { Repositories } from '#plugins/repositories/repositories.ts'
import { findRevocation } from '#plugins/repositories/revocations.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { add, openTestRepositories } from '#test/support/plugin-repositories.ts'
import { entryOf, type Files, filesOf, indexOf, newKey, openRepositoryServer, REPOSITORY_URL } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const key = newKey()
const first = indexOf({ plugins: [entryOf([pluginOf('export default 1')])] })
const second = { ...first, sequence: 2, plugins: [], revoked: [{ id: 'org.example.echo', reason: 'It leaks' }] }
const echo = { key: 'org.example.echo', version: '1.0.0', sha256: 'a'.repeat(64) }
const PATIENCE_MS = 60_000
/** Databases of other tests have tables with the same ids: all come from one template. */
const OWN_LOCKS = 'SELECT 1 FROM pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())'

async function open(t: Test) {
  const { database, url } = await openTestDatabase(t)
  const server = await openRepositoryServer(t, filesOf(first, key) as Files)
  const repositories = new Repositories({
    ...{ database, log: silentLog, download: server.download, serverVersion: '1.2.3', onRevoked: () => {} },
    install: () => Promise.reject(new Error('Nothing is installed here.')),
  })
  t.teardown(() => repositories.close())
  const added = await repositories.add({ url: REPOSITORY_URL, publicKey: publicKeyText(key) })
  const script = fileURLToPath(new URL('../../support/repository-child.ts', import.meta.url))
  /** Refreshes in a separate process, and kills it at this point. */
  const killAt = async (point: () => Promise<boolean>) => {
    const child = spawn(process.execPath, [script, url, String(server.way.port), added.id], { stdio: 'ignore' })
    const ended = once(child, 'exit')
    t.teardown(() => child.kill('SIGKILL'))
    const until = Date.now() + PATIENCE_MS
    while (!(await point())) {
      if (Date.now() > until || child.exitCode !== null) throw new Error('The process did not reach this point.')
      await sleep(20)
    }
    child.kill('SIGKILL')
    t.equal((await ended)[1], 'SIGKILL')
  }
  /** Nothing of it was stored, and the next attempt succeeds. */
  const intact = async () => {
    t.same(await repositories.list(), [added])
    t.equal((await repositories.listAvailable()).total, 1)
    t.equal(await findRevocation(database, echo), null)
  }
  return { database, server, repositories, added, killAt, intact }
}

/** Until the database has noticed the end of the other process and rolled back its transaction. */
async function undone(database: Knex): Promise<void> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    const { rows } = await database.raw(
      `${OWN_LOCKS} AND relation IN ('plugin_revocations'::regclass, 'plugin_repositories'::regclass) AND pid <> pg_backend_pid()`,
    )
    if (rows.length === 0) return
    if (Date.now() > until) throw new Error('The killed process still holds its locks.')
    await sleep(20)
  }
}

t.test('killed between the index and its signature', async (t) => {
  const { server, repositories, added, killAt, intact } = await open(t)
  const files = filesOf(second, key) as Files
  let isAsked = false
  const signature = files['/carrel/index.json.sig'] as Buffer
  files['/carrel/index.json.sig'] = (_, response) => {
    isAsked = true
    response.writeHead(200).write(signature.subarray(0, 40))
  }
  server.files = files
  await killAt(async () => isAsked)
  await intact()
  files['/carrel/index.json.sig'] = signature
  t.match(await repositories.refresh(added.id), { sequence: 2, plugins: 0, error: null })
})

t.test('killed between a revocation and the stop of the revoked version', async (t) => {
  const { database, repositories, revoked } = await openTestRepositories(t, { timing: { firstMs: 60_000, everyMs: 60_000 } })
  const { id } = await add(repositories)
  const { plugin } = await repositories.install({ repositoryId: id, pluginId: echo.key, userId: null })
  const version_id = (await database('plugin_versions').where('plugin_id', plugin.id).first('id')).id
  await database('plugins').update({ version_id })
  // As after the index, which was the last thing that the server stored.
  await addRevocations(database, id, [{ sha256: null, pluginKey: echo.key, versionRange: null, reason: 'It leaks' }])
  t.match(await repositories.refresh(id), { error: null })
  t.same(revoked, [], 'the index has no new revocations')
  repositories.start()
  for (let times = 0; times < 3_000 && revoked.length === 0; times++) await sleep(20)
  t.match(revoked, [[{ key: echo.key, running: true, reason: 'It leaks' }]], 'a starting server checks running versions')
})

t.test('killed between the index and its revocations', async (t) => {
  const { database, server, repositories, added, killAt, intact } = await open(t)
  server.files = filesOf(second, key) as Files
  const holder = await database.transaction()
  await holder.raw('LOCK TABLE plugin_revocations IN ACCESS EXCLUSIVE MODE')
  await killAt(async () => {
    const { rows } = await database.raw(`${OWN_LOCKS} AND relation = 'plugin_revocations'::regclass AND NOT granted`)
    return rows.length > 0
  })
  await holder.rollback()
  // The waiting statement has no client any more.
  await undone(database)
  await intact()
  t.match(await repositories.refresh(added.id), { sequence: 2, error: null })
  t.match(await findRevocation(database, echo), { reason: 'It leaks' })
})
