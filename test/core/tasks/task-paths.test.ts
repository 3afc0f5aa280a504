import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { apiKeyRoutes } from '#api/rest/account/api-keys.ts'
import { taskRoutes } from '#api/rest/admin/tasks.ts'
import { libraryRoutes } from '#api/rest/catalog/libraries.ts'
import { visibleMessage } from '#core/account/path-view.ts'
import type { ScanStatus } from '#core/scan/scans.ts'
import type { TaskRecord } from '#core/tasks/task-query.ts'
import { until } from '#test/support/library-fixture.ts'
import { addLibrary } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'
import { addScans } from '#test/support/server-scans.ts'

t.setTimeout(60_000)

t.test('users who may not edit books see no absolute paths in error messages', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-secret-'))
  const server = await openTestServer(t, { routes: [...apiKeyRoutes, ...libraryRoutes, ...taskRoutes] })
  const { database, adminToken, request } = server
  const { tasks } = await addScans(server)
  t.teardown(async () => {
    await tasks.stop()
    rmSync(folder, { recursive: true })
  })
  await tasks.start()
  const path = join(folder, "Bob's Comics")
  writeFileSync(path, 'a file')
  const libraryId = await addLibrary(database, { path, name: 'Comics' })
  await request('POST', `/api/v1/libraries/${libraryId}/scan`, { token: adminToken })
  const permissions = ['libraries-read', 'libraries-write', 'tasks-read']
  const body = { name: 'k', permissions }
  const narrow = (await request<{ key: string }>('POST', '/api/v1/api-keys', { token: adminToken, body })).json.key
  const told = async (token: string) => {
    const failed = (await request<TaskRecord[]>('GET', '/api/v1/tasks?status=failed', { token })).json
    const scan = (await request<ScanStatus>('GET', `/api/v1/libraries/${libraryId}/scan-status`, { token })).json
    return failed.length === 0 || scan.status !== 'failed' ? null : JSON.stringify([failed, scan.errors])
  }
  const whole = await until(() => told(adminToken))
  t.ok(whole.split(folder).length > 2, 'who edits books reads where it lies, at both places')
  const shown = (await told(narrow)) ?? ''
  t.notMatch(shown, folder)
  t.match(shown, /\\"Bob's Comics\\" is a file, not a folder/)
})

t.test('messages hide the folders of paths', (t) => {
  const of = (text: string, permissions: 'books-read' | 'books-write' = 'books-read') =>
    visibleMessage({ permissions: new Set([permissions]) }, text)
  for (const [text, shown] of [
    ['"/srv/secret/Comics" is gone', '"Comics" is gone'],
    ['"/srv/Bob\'s/1.cbz": EACCES', '"1.cbz": EACCES'],
    ["ENOENT: no such file, open '/srv/secret/1.cbz'", "ENOENT: no such file, open '1.cbz'"],
    ['"/": it is gone', '"": it is gone'],
    ['"Saga/1.cbz": cut off, 3/4 read', '"Saga/1.cbz": cut off, 3/4 read'],
  ] as const) {
    t.equal(of(text), shown)
    t.equal(of(text, 'books-write'), text)
  }
  t.equal(of(`"/${'/'.repeat(200_000)}`).length, 200_002)
  t.end()
})
