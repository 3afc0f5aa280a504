import { randomUUID } from 'node:crypto'
import { access } from 'node:fs/promises'
import type { Knex } from 'knex'
import type { Static } from 'typebox'
import Type from 'typebox'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { seesWholePaths } from '#core/account/path-view.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { listVisibleLibraryIds } from '#core/catalog/library-name-query.ts'
import { listKnownIds } from '#core/database/known-ids-query.ts'
import {
  BOOK_ANCHOR,
  BOOK_EXPORT_FIELDS,
  type BookExportField,
  EXPORT_FORMATS,
  EXPORT_TYPES,
  type ExportFormat,
  type ExportType,
  progressFields,
  SERIES_ANCHOR,
  SERIES_EXPORT_FIELDS,
  type SeriesExportField,
} from '#core/exports/export-field-query.ts'
import { exportPath, listOldFiles, removeExportFiles, removeHalfFiles } from '#core/exports/export-file.ts'
import { EXPORT_MEDIA_TYPES } from '#core/exports/export-format.ts'
import { runExport } from '#core/exports/run-export.ts'
import {
  addExport,
  deleteExpired,
  deleteExport,
  type ExportRecordRow,
  findExport,
  isStillVisible,
  listExports,
  settleExports,
} from '#core/exports/series-export-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { RegularJobs } from '#core/foundation/regular-jobs.ts'
import { described, Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { TASK_STATUSES } from '#core/foundation/task-status.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

export const EXPORT_LIMITS = {
  /** Running exports per user. Each reads a whole library; more than three are probably an accident. */
  atOnceMax: 3,
  /** Stored exports per user: as many as a list without pages shows, and old ones describe an outdated library. */
  keptMax: 10,
  /** Long enough to fetch a file after a weekend. */
  keptDays: 7,
  /** Of all users: about twenty times all metadata of 100,000 books, and little compared with the books themselves. */
  bytesMax: 2 * 1024 ** 3,
}
/** Running exports on this server: one reads as fast as the database allows, two would only slow down users who read books. */
const CONCURRENCY = 1

/** The request for an export. Fields are names of the catalog; {@link Exports.create} describes the defaults. */
export interface NewExport {
  format: ExportFormat
  exportType?: ExportType | undefined
  libraryIds: readonly string[]
  fields: readonly string[]
  bookFields?: readonly string[] | undefined
}

/** An export as its owner sees it. */
export const SeriesExport = Noun('SeriesExport')({
  id: Uuid,
  taskId: described(Uuid, 'The task that creates the export, with its progress.'),
  format: OneOf([...EXPORT_FORMATS]),
  exportType: OneOf([...EXPORT_TYPES]),
  libraryIds: Type.Array(Uuid),
  fields: Type.Array(Type.String()),
  bookFields: Type.Array(Type.String()),
  status: OneOf(TASK_STATUSES),
  rowCount: Nullable(Type.Integer({ minimum: 0 }), { description: 'Number of series and books in the file, once it is complete.' }),
  fileSizeBytes: Nullable(Type.Integer({ minimum: 0 })),
  error: Nullable(Type.String({ description: 'Why the export failed.' })),
  createdAt: Timestamp,
  startedAt: Nullable(Timestamp),
  completedAt: Nullable(Timestamp, { description: 'When the export ended, successful or not.' }),
  expiresAt: Timestamp,
})
export type SeriesExport = Static<typeof SeriesExport>

interface ExportsOptions {
  database: Knex
  tasks: TaskQueue
  dataFolder: string
  log: Log
  /** Those of the server; only tests have none. */
  jobs?: RegularJobs
  limits?: Partial<typeof EXPORT_LIMITS>
}

/** Registers the handler with the queue and cleans up; call before the queue's start(). */
export async function openExports(options: ExportsOptions): Promise<Exports> {
  return await new Exports(options).open()
}

/** Exports of the series and books that a user may see, each for its owner only. */
export class Exports {
  readonly #options: ExportsOptions
  readonly #limits: typeof EXPORT_LIMITS
  readonly #cleaning: ReturnType<RegularJobs['start']>

  constructor(options: ExportsOptions) {
    this.#options = options
    this.#limits = { ...EXPORT_LIMITS, ...options.limits }
    this.#cleaning = (options.jobs ?? new RegularJobs(options.log)).start('delete old exports', () => this.#clean())
    options.tasks.handle(
      'export_series',
      { concurrency: CONCURRENCY },
      runExport({ database: options.database, dataFolder: options.dataFolder, bytesMax: this.#limits.bytesMax }),
    )
  }

  async open(): Promise<this> {
    await removeHalfFiles(this.#options.dataFolder).catch((error: unknown) =>
      this.#options.log.error({ err: error }, 'Could not delete incomplete exports'),
    )
    void this.#cleaning.now()
    return this
  }

  async #clean(): Promise<void> {
    await settleExports(this.#options.database)
    await removeExportFiles(this.#options.dataFolder, await deleteExpired(this.#options.database))
    // Their users were deleted, or the server was killed between the row and the file.
    const old = await listOldFiles(this.#options.dataFolder, new Date(Date.now() - this.#limits.keptDays * 24 * 3_600_000))
    const known = await listKnownIds(
      this.#options.database,
      'series_exports',
      old.map(({ id }) => id),
    )
    await removeExportFiles(
      this.#options.dataFolder,
      old.filter(({ id }) => !known.has(id)),
    )
  }

  async #find(caller: Caller, id: string): Promise<ExportRecordRow> {
    await settleExports(this.#options.database, caller.userId)
    return (await findExport(this.#options.database, caller, id)) ?? refuse('not_found', `There is no export ${id}.`)
  }

  /** The exports as their owner sees them now. Libraries that the caller may not see any more, or that were deleted, are left out. */
  async #views(caller: Viewer, rows: readonly ExportRecordRow[]): Promise<SeriesExport[]> {
    const seen = await listVisibleLibraryIds(
      this.#options.database,
      caller,
      rows.flatMap(({ library_ids }) => library_ids),
    )
    return rows.map((row) => exportView({ ...row, library_ids: row.library_ids.filter((id) => seen.has(id)) }))
  }

  /**
   * Queues an export.
   * @throws not_found for an unknown library, or one that the caller may not see; invalid_value for an unknown field or books without a field; conflict when too many are
   *   running or the files exceed the storage limit; forbidden when the caller may not read the requested data
   */
  async create(caller: Caller, chosen: NewExport): Promise<SeriesExport> {
    const exportType = chosen.exportType ?? 'series'
    checkPermission(caller, exportType)
    const libraryIds = await checkLibraries(this.#options.database, caller, chosen.libraryIds)
    const columns = readFields(exportType, chosen)
    checkProgress(caller, columns)
    const request = { format: chosen.format, exportType, libraryIds, ...columns, wholePaths: seesWholePaths(caller) }
    const id = randomUUID()
    const added = await addExport(this.#options.database, { id, viewer: caller, request }, this.#limits)
    if ('busy' in added) {
      const many = `${added.busy} of your exports are running; the limit is ${this.#limits.atOnceMax}.`
      refuse('conflict', `${many} Wait for one, or delete it.`)
    }
    if ('full' in added) {
      refuse(
        'conflict',
        'The exports of all users have reached the storage limit. Delete those you do not need, or wait until some have expired.',
      )
    }
    await removeExportFiles(this.#options.dataFolder, added.removed)
    await this.#options.tasks.add({ id, type: 'export_series', userId: caller.userId, dedupeKey: id })
    const [made] = await this.#views(caller, [added.row])
    return made as SeriesExport
  }

  async list(caller: Caller): Promise<SeriesExport[]> {
    await settleExports(this.#options.database, caller.userId)
    return await this.#views(caller, await listExports(this.#options.database, caller))
  }

  /** @throws not_found also for one that the caller may not see: of another user, or with a key that has a rule one that the key has not made */
  async get(caller: Caller, id: string): Promise<SeriesExport> {
    const [found] = await this.#views(caller, [await this.#find(caller, id)])
    return found as SeriesExport
  }

  /** Deletes it, and cancels it if it is running. @throws not_found */
  async remove(caller: Caller, id: string): Promise<void> {
    const row = await deleteExport(this.#options.database, caller, id)
    if (row === null) refuse('not_found', `There is no export ${id}.`)
    await this.#options.tasks.cancel(row.task_id)
    await removeExportFiles(this.#options.dataFolder, [row])
  }

  /** @throws not_found; conflict when there is no file yet, or will be none, or when it shows what the user may not see any more */
  async findFile(caller: Caller, id: string): Promise<{ path: string; mediaType: string; etag: string; fileName: string }> {
    const row = await this.#find(caller, id)
    checkPermission(caller, row.export_type)
    checkPaths(caller, row)
    checkProgress(caller, { fields: row.fields, bookFields: row.book_fields })
    if (row.status !== 'completed') {
      const why =
        row.status === 'failed'
          ? `it failed. ${row.error}`
          : row.status === 'cancelled'
            ? 'it was cancelled.'
            : `it is still ${row.status}.`
      refuse('conflict', `This export has no file: ${why}`)
    }
    if (!(await isStillVisible(this.#options.database, caller, row.id))) {
      refuse('conflict', 'This export shows series that you may not see any more, or that were deleted. Create the export again.')
    }
    const file = exportPath(this.#options.dataFolder, row)
    const there = await access(file).then(
      () => true,
      () => false,
    )
    if (!there) refuse('not_found', 'The file of this export is missing. Create the export again.')
    const day = row.created_at.toISOString().slice(0, 10)
    const fileName = `${row.export_type === 'books' ? 'books' : 'series'}-${day}.${row.format}`
    return { path: file, mediaType: EXPORT_MEDIA_TYPES[row.format], etag: row.id, fileName }
  }

  /** Whether {@link findFile} still finds it. */
  async mayDownload(caller: Caller, id: string): Promise<boolean> {
    const row = await findExport(this.#options.database, caller, id)
    return row !== null && (await isStillVisible(this.#options.database, caller, row.id))
  }

  /** Stops the regular deletion of old exports. */
  async close(): Promise<void> {
    await this.#cleaning.stop()
  }
}

/** An API key that may not read books may not read them in an export either. */
function checkPermission(caller: Caller, exportType: ExportType): void {
  const needed = exportType === 'series' ? 'series-read' : 'books-read'
  if (!caller.permissions.has(needed)) refuse('forbidden', `This needs the permission ${needed}.`, { details: { permission: needed } })
}

/** An API key that may not see file paths may not read them in an export of another key of the same user. */
function checkPaths(caller: Caller, row: ExportRecordRow): void {
  const includesPaths = row.whole_paths && [...row.fields, ...row.book_fields].some((field) => field === 'path')
  if (!includesPaths || seesWholePaths(caller)) return
  const why = 'This export contains paths of files on the server, which requires the permission books-write: create the export again.'
  refuse('forbidden', why, { details: { permission: 'books-write' } })
}

/** An API key that may not see the reading progress may not read it in an export either. */
function checkProgress(caller: Caller, columns: Parameters<typeof progressFields>[0]): void {
  const fields = progressFields(columns)
  if (fields.length > 0 && progressUserId(caller) === null)
    refuse('forbidden', `The export needs the permission progress-read for these fields: ${[...new Set(fields)].join(', ')}.`, {
      details: { permission: 'progress-read' },
    })
}

async function checkLibraries(database: Knex, caller: Viewer, given: readonly string[]): Promise<string[]> {
  const ids = [...new Set(given.map((id) => id.toLowerCase()))]
  const known = await listVisibleLibraryIds(database, caller, ids)
  const missing = ids.find((id) => !known.has(id))
  return missing === undefined ? ids : refuse('not_found', `There is no library ${missing}.`)
}

/** The anchors come first; fields of kinds that the export does not contain are skipped. */
function readFields(exportType: ExportType, chosen: NewExport) {
  const fields = readNames<SeriesExportField>(chosen.fields, { field: 'fields', catalog: SERIES_EXPORT_FIELDS, anchor: SERIES_ANCHOR })
  const bookFields = readNames<BookExportField>(chosen.bookFields ?? [], {
    field: 'bookFields',
    catalog: BOOK_EXPORT_FIELDS,
    anchor: BOOK_ANCHOR,
  })
  return { fields: exportType === 'books' ? [] : fields, bookFields: exportType === 'series' ? [] : bookFields }
}

function readNames<Name extends string>(
  given: readonly string[],
  { field, catalog, anchor }: { field: string; catalog: Record<Name, unknown>; anchor: Name },
): Name[] {
  const isKnown = (name: string): name is Name => Object.hasOwn(catalog, name)
  const unknown = given.find((name) => !isKnown(name))
  if (unknown !== undefined) {
    refuse(
      'invalid_value',
      `${field} contains "${unknown.slice(0, 100)}", which is not a field. There are: ${Object.keys(catalog).join(', ')}.`,
    )
  }
  return [...new Set([anchor, ...given.filter(isKnown)])]
}

function exportView(row: ExportRecordRow): SeriesExport {
  return {
    id: row.id,
    taskId: row.task_id,
    format: row.format,
    exportType: row.export_type,
    libraryIds: row.library_ids,
    fields: row.fields,
    bookFields: row.book_fields,
    status: row.status,
    rowCount: row.row_count,
    fileSizeBytes: row.file_bytes === null ? null : Number(row.file_bytes),
    error: row.status === 'failed' ? row.error : null,
    createdAt: row.created_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    completedAt: row.completed_at?.toISOString() ?? null,
    expiresAt: row.expires_at.toISOString(),
  }
}
