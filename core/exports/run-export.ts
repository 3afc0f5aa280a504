import type { Knex } from 'knex'
import { findUser } from '#core/account/user-store.ts'
import { type ExportDraft, openExportDraft, removeExportFiles } from '#core/exports/export-file.ts'
import { exportWriterOf } from '#core/exports/export-format.ts'
import { countRecords, listRecords, readExport } from '#core/exports/export-query.ts'
import { recordSlices } from '#core/exports/record-slices.ts'
import { beginExport, completeExport, countBytes, type ExportRecordRow, handBackExport } from '#core/exports/series-export-store.ts'
import { FinalFailure, type TaskHandler, type TaskRun } from '#core/tasks/task.ts'

interface Dependencies {
  database: Knex
  dataFolder: string
  /** Of all files together. */
  bytesMax: number
}

/**
 * Writes the file of one export, from its beginning with every attempt. No file has its final name before it is complete, and nobody
 * gets it before the database says that it is complete.
 */
export function runExport(dependencies: Dependencies): TaskHandler {
  const { database, dataFolder } = dependencies
  return async (run) => {
    const row = await beginExport(database, run.id)
    // Deleted, or completed by a run whose result was lost.
    if (row === null) return { exported: false }
    try {
      const { rows, bytes, seriesIds } = await makeFile(dependencies, row, run)
      if (await completeExport(database, row.id, { rows, bytes, seriesIds })) return { exported: true, rows, bytes }
      await removeExportFiles(dataFolder, [row])
      return { exported: false }
    } catch (error) {
      const message = describeFailure(error)
      await handBackExport(database, row.id, run.signal.aborted ? null : message)
      // Its owner reads this in the list of tasks: no path and no SQL.
      if (run.signal.aborted || error instanceof FinalFailure) throw error
      throw new Error(message, { cause: error })
    }
  }
}

async function makeFile(dependencies: Dependencies, row: ExportRecordRow, run: TaskRun): Promise<{ bytes: number } & Written> {
  const { database, dataFolder, bytesMax } = dependencies
  if (!(await findUser(database, row.user_id))?.isActive) throw new FinalFailure('The account that requested this export is disabled.')
  const room = bytesMax - (await countBytes(database))
  const draft = await openExportDraft(dataFolder, row)
  try {
    const written = await readExport(database, async (snapshot) => await writeRecords(snapshot, draft, { row, run, room }))
    run.signal.throwIfAborted()
    await draft.keep()
    return { ...written, bytes: draft.bytes }
  } finally {
    await draft.close()
  }
}

interface Written {
  rows: number
  /** The series whose records, or whose books, are in the file. */
  seriesIds: string[]
}

async function writeRecords(
  snapshot: Knex,
  draft: ExportDraft,
  { row, run, room }: { row: ExportRecordRow; run: TaskRun; room: number },
): Promise<Written> {
  const viewer = { userId: row.user_id, narrowedBy: row.narrowed_by }
  const view = { viewer, libraryIds: row.library_ids, wholePaths: row.whole_paths }
  const columns = { type: row.export_type, fields: row.fields, bookFields: row.book_fields }
  const writer = exportWriterOf(row.format, columns)
  const total = await countRecords(snapshot, view, row.export_type)
  let rows = 0
  const seriesIds: string[] = []
  run.progress(0, total)
  await draft.write(writer.start())
  for await (const page of listRecords(snapshot, view, columns, (ids) => seriesIds.push(...ids))) {
    run.signal.throwIfAborted()
    for await (const text of recordSlices(writer, page)) await draft.write(text)
    rows += page.length
    run.progress(rows, total)
    if (draft.bytes > room) {
      throw new FinalFailure(
        'The exports of all users would exceed the storage limit. Delete exports that you do not need, or choose fewer fields or libraries.',
      )
    }
  }
  await draft.write(writer.end())
  return { rows, seriesIds }
}

function describeFailure(error: unknown): string {
  if (error instanceof FinalFailure) return error.message
  const code = (error as NodeJS.ErrnoException | null)?.code
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk of the server is full. Tell its administrator, then create the export again.'
  return 'The export failed. Create it again; if it fails again, tell the administrator, who finds the reason in the log.'
}
