import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { type EXPORT_LIMITS, type NewExport, openExports } from '#core/exports/series-exports.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { addCaller, addLibrary } from '#test/support/library-rows.ts'

/** Exports with their own queue and folder, an empty library, and a user who requests exports. */
export async function openExportFixture(t: Test, options: { limits?: Partial<typeof EXPORT_LIMITS>; manual?: boolean } = {}) {
  const { database, url } = await openTestDatabase(t)
  const dataFolder = mkdtempSync(join(tmpdir(), 'carrel-exports-'))
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  const exports = await openExports({ database, tasks, dataFolder, log: silentLog, ...(options.limits && { limits: options.limits }) })
  t.teardown(async () => {
    await tasks.stop()
    await exports.close()
    rmSync(dataFolder, { recursive: true, force: true })
  })
  if (!options.manual) await tasks.start()
  const libraryId = await addLibrary(database, { name: 'Comics', path: '/comics' })
  const caller = await addCaller(database)
  const newExport = (more: Partial<NewExport> = {}): NewExport => ({ format: 'json', libraryIds: [libraryId], fields: [], ...more })
  const ended = async (id: string, by = caller) =>
    await until(async () => {
      const found = await exports.get(by, id)
      return found.status === 'pending' || found.status === 'processing' ? null : found
    })
  const make = async (more: Partial<NewExport> = {}, by: Caller = caller) => {
    const made = await ended((await exports.create(by, newExport(more))).id, by)
    if (made.status !== 'completed') throw new Error(`${made.status}: ${made.error}`)
    return { ...made, text: readFileSync((await exports.findFile(by, made.id)).path, 'utf8') }
  }
  const files = () => (existsSync(join(dataFolder, 'exports')) ? readdirSync(join(dataFolder, 'exports')).sort() : [])
  return { database, url, dataFolder, tasks, exports, libraryId, caller, newExport, ended, make, files }
}

/** Adds series with one book each. */
export async function addManySeries(database: Knex, libraryId: string, count: number): Promise<void> {
  await database.raw(
    `WITH s AS (INSERT INTO series (library_id, path, title) SELECT ?, 'p' || n, 'Title ' || n FROM generate_series(1, ?::int) n RETURNING id, library_id, path)
     INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, title)
     SELECT library_id, id, path || '/1', '1', 'cbz', 1, 1, 'Book' FROM s`,
    [libraryId, count],
  )
}
