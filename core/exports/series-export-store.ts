import type { Knex } from 'knex'
import { type Viewer, visibleTo } from '#core/account/visibility.ts'
import { announce } from '#core/events/event-store.ts'
import type { BookExportField, ExportFormat, ExportType, SeriesExportField } from '#core/exports/export-field-query.ts'
import type { TaskStatus } from '#core/foundation/task-status.ts'

interface ExportRequest {
  format: ExportFormat
  exportType: ExportType
  libraryIds: readonly string[]
  fields: readonly SeriesExportField[]
  bookFields: readonly BookExportField[]
  /** Absolute paths on the server; otherwise relative ones. */
  wholePaths: boolean
}

/** An export in the database; its task has the same id. */
export interface ExportRecordRow {
  id: string
  user_id: string
  /** The API key that has made it. */
  narrowed_by: string | null
  format: ExportFormat
  export_type: ExportType
  library_ids: string[]
  fields: SeriesExportField[]
  book_fields: BookExportField[]
  whole_paths: boolean
  status: TaskStatus
  task_id: string
  row_count: number | null
  file_bytes: number | null
  error: string | null
  created_at: Date
  started_at: Date | null
  completed_at: Date | null
  expires_at: Date
}

/** The file of an export. */
export type ExportFile = Pick<ExportRecordRow, 'id' | 'format'>

const TABLE = 'series_exports'
const SHOWN_TABLE = 'export_series'
/** Series of one row, and of one statement: its text is written at once. */
const IDS_AT_ONCE = 1_000
const PRESENT = 'expires_at > now()'
/** The row and its task are added within milliseconds; a row that has no task after this time has lost it to a kill. */
const TASK_PATIENCE = `interval '1 minute'`

/** The exports that a viewer may see: those of the user, or with a key that has a rule only those that the key has made. */
const ofViewer =
  ({ userId, narrowedBy }: Viewer): ((query: Knex.QueryBuilder) => void) =>
  (query) => {
    query.where({ user_id: userId }).whereRaw(PRESENT)
    // A key that was deleted has taken its rule along.
    if (narrowedBy !== null)
      query.whereRaw(
        '(narrowed_by = ? OR EXISTS (SELECT 1 FROM api_keys k WHERE k.id = ? AND NOT EXISTS (SELECT 1 FROM access_rules r WHERE r.api_key_id = k.id)))',
        [narrowedBy, narrowedBy],
      )
  }

type Added = { row: ExportRecordRow; removed: ExportFile[] } | { busy: number } | { full: number }

/**
 * Adds an export, unless too many of the user's are running or all files together are too large already. The oldest finished exports of the
 * user are deleted to make room. Concurrent requests wait for each other.
 * @returns the number of running ones (`busy`) or the bytes in use (`full`) if that prevents it
 */
export async function addExport(
  database: Knex,
  add: { id: string; viewer: Viewer; request: ExportRequest },
  limits: { atOnceMax: number; keptMax: number; keptDays: number; bytesMax: number },
): Promise<Added> {
  const { id, viewer, request } = add
  const { userId, narrowedBy } = viewer
  return await database.transaction<Added>(async (trx) => {
    await trx.raw('SELECT id FROM users WHERE id = ? FOR NO KEY UPDATE', [userId])
    await settleExports(trx, userId)
    const busy = await trx(TABLE).where({ user_id: userId }).whereIn('status', ['pending', 'processing']).count({ count: '*' }).first()
    if (Number(busy?.count) >= limits.atOnceMax) return { busy: Number(busy?.count) }
    const outdated: string[] = await trx(TABLE)
      .where({ user_id: userId })
      .whereNotIn('status', ['pending', 'processing'])
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .offset(Math.max(0, limits.keptMax - 1 - Number(busy?.count)))
      .pluck('id')
    const full = await countBytes(trx, outdated)
    if (full >= limits.bytesMax) return { full }
    const removed: ExportFile[] = await trx(TABLE).whereIn('id', outdated).delete().returning(['id', 'format'])
    const [row] = await trx(TABLE)
      .insert({
        id,
        user_id: userId,
        narrowed_by: narrowedBy,
        format: request.format,
        export_type: request.exportType,
        library_ids: [...request.libraryIds],
        fields: [...request.fields],
        book_fields: [...request.bookFields],
        whole_paths: request.wholePaths,
        task_id: id,
        expires_at: trx.raw('now() + make_interval(days => ?)', [limits.keptDays]),
      })
      .returning('*')
    return { row, removed }
  })
}

/** The size of all stored files, without the given ones. */
export async function countBytes(database: Knex, without: readonly string[] = []): Promise<number> {
  const sum = await database(TABLE).where({ status: 'completed' }).whereNotIn('id', without).sum({ bytes: 'file_bytes' }).first()
  return Number(sum?.['bytes'] ?? 0)
}

/**
 * Ends abandoned exports: those whose task was canceled, has used up its attempts or is gone.
 * @param userId without it, of all users
 */
export async function settleExports(database: Knex, userId?: string): Promise<void> {
  await database.transaction(async (trx) => {
    const { rows } = await trx.raw(
      `UPDATE ${TABLE} e SET
       status = CASE WHEN t.status = 'cancelled' THEN 'cancelled' ELSE 'failed' END,
       error = CASE WHEN t.status = 'cancelled' THEN NULL ELSE coalesce(e.error, 'The server stopped while it was creating this export. Create it again.') END,
       completed_at = now()
     FROM ${TABLE} o LEFT JOIN tasks t ON t.type = 'export_series' AND t.id = o.task_id
     WHERE o.id = e.id AND e.status IN ('pending', 'processing') AND e.created_at < now() - CASE WHEN t.id IS NULL THEN ${TASK_PATIENCE} ELSE interval '0' END
       AND (t.id IS NULL OR t.status IN ('cancelled', 'failed', 'completed')) ${userId === undefined ? '' : 'AND e.user_id = :userId'}
       RETURNING ${ENDED.map((column) => `e.${column}`).join(', ')}`,
      userId === undefined ? {} : { userId },
    )
    await announceEnded(trx, rows)
  })
}

const ENDED = ['id', 'user_id', 'narrowed_by', 'status'] as const
type Ended = Pick<ExportRecordRow, (typeof ENDED)[number]>

/** Announces exports that have ended to their users. */
async function announceEnded(trx: Knex.Transaction, ended: readonly Ended[]): Promise<void> {
  await announce(
    trx,
    ended.map(({ id, user_id, narrowed_by, status }) => ({
      event: { type: 'export_updated', exportId: id, status },
      userId: user_id,
      narrowedBy: narrowed_by,
    })),
  )
}

/** The exports that a viewer may see and that have not expired, latest first. */
export async function listExports(database: Knex, viewer: Viewer): Promise<ExportRecordRow[]> {
  return await database(TABLE).modify(ofViewer(viewer)).orderBy('created_at', 'desc').orderBy('id')
}

/** Null when it does not exist, has expired or is not one that the viewer may see. */
export async function findExport(database: Knex, viewer: Viewer, id: string): Promise<ExportRecordRow | null> {
  const row = await database(TABLE).where({ id }).modify(ofViewer(viewer)).first()
  return row ?? null
}

/** Null when it did not exist, as above. */
export async function deleteExport(database: Knex, viewer: Viewer, id: string): Promise<ExportRecordRow | null> {
  const [row] = await database(TABLE).where({ id }).modify(ofViewer(viewer)).delete().returning('*')
  return row ?? null
}

/** Starts its run, or starts it again. Null when it was deleted or is complete. */
export async function beginExport(database: Knex, id: string): Promise<ExportRecordRow | null> {
  const [row] = await database(TABLE)
    .where({ id })
    .whereNot({ status: 'completed' })
    .whereRaw(PRESENT)
    .update({ status: 'processing', started_at: database.fn.now(), completed_at: null, error: null })
    .returning('*')
  return row ?? null
}

/** Ends its run without success; it may start again. @param error for its owner to read; null when it was only stopped */
export async function handBackExport(database: Knex, id: string, error: string | null): Promise<void> {
  await database(TABLE).where({ id, status: 'processing' }).update({ status: 'pending', error })
}

/** Also stores which series the file shows. False when it was deleted or canceled in the meantime. */
export async function completeExport(
  database: Knex,
  id: string,
  made: { rows: number; bytes: number; seriesIds: readonly string[] },
): Promise<boolean> {
  const change = { status: 'completed', row_count: made.rows, file_bytes: made.bytes, completed_at: database.fn.now() }
  return await database.transaction(async (trx) => {
    const ended: Ended[] = await trx(TABLE).where({ id, status: 'processing' }).update(change).returning(ENDED)
    if (ended.length === 0) return false
    await announceEnded(trx, ended)
    for (let at = 0; at < made.seriesIds.length; at += IDS_AT_ONCE)
      await trx(SHOWN_TABLE).insert({ export_id: id, series_ids: made.seriesIds.slice(at, at + IDS_AT_ONCE) })
    return true
  })
}

/** Whether a viewer may see every series that the file shows. One that was deleted may have been hidden before: nobody knows any more. */
export async function isStillVisible(database: Knex, viewer: Viewer, id: string): Promise<boolean> {
  const visible = database('series').whereRaw('series.id = shown.id').modify(visibleTo(viewer, 'series.id'))
  const hidden = await database(`${SHOWN_TABLE} AS of`)
    .joinRaw('CROSS JOIN unnest(of.series_ids) AS shown(id)')
    .where('of.export_id', id)
    .whereNotExists(visible.select(database.raw('1')))
    .first('shown.id')
  return hidden === undefined
}

/** Deletes expired exports; returns those whose files must be deleted. */
export async function deleteExpired(database: Knex): Promise<ExportFile[]> {
  return await database(TABLE).whereRaw(`NOT (${PRESENT})`).delete().returning(['id', 'format'])
}
