import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import type { Settings } from '#core/settings/settings.ts'
import type { TaskRecord } from '#core/tasks/task-query.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { until } from '#test/support/library-fixture.ts'

interface Answer<T> {
  status: number
  json: T
  headers: Headers
}

/** The whole running server, with a scanned and analyzed library of these files. */
export async function openLibraryServer(t: Test, files: Readonly<Record<string, Uint8Array>>, settings: Partial<Settings> = {}) {
  const composed = await openComposedServer(t, { settings })
  const { database, services, url, adminToken } = composed
  const root = mkdtempSync(join(tmpdir(), 'carrel-library-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const put = (path: string, bytes: Uint8Array): string => {
    const full = join(root, path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, bytes)
    return full
  }
  for (const [path, bytes] of Object.entries(files)) put(path, bytes)
  await composed.start()
  const [{ id: libraryId }] = await database('libraries').insert({ name: 'Shelf', path: root }, 'id')

  const ask = async <T = Record<string, unknown>>(method: string, path: string, body?: unknown, token = adminToken): Promise<Answer<T>> => {
    const answer = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = (answer.headers.get('content-type') ?? '').startsWith('application/json')
    return { status: answer.status, json: (isJson ? JSON.parse(text) : text) as T, headers: answer.headers }
  }
  /** Waits until the task has ended. */
  const ended = (taskId: string): Promise<TaskRecord> =>
    until(async () => {
      const { json } = await ask<TaskRecord>('GET', `tasks/${taskId}`)
      return ['completed', 'failed', 'cancelled'].includes(json.status) && json
    })
  const scan = async (): Promise<void> => {
    // One that the server started because the last one could not decide yet.
    await until(async () => (await services.scans.listActive()).length === 0)
    const { taskId } = await services.scans.start(libraryId)
    await ended(taskId)
    await until(async () => {
      const { rows } = await database.raw(
        `SELECT count(*)::int AS count FROM tasks WHERE type = 'analyze_book' AND status IN ('pending', 'processing')`,
      )
      return rows[0].count === 0
    })
  }
  await scan()
  /** Rows by path below the root. */
  const books = async (): Promise<Map<string, { id: string; series_id: string; cover_hash: string | null; number: string | null }>> =>
    new Map((await database('books').select('*')).map((row) => [row.path.slice(root.length + 1), row]))
  return { ...composed, root, libraryId: libraryId as string, put, ask, ended, scan, books }
}
