import { access, constants, stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { type Caller, isAdministrator } from '#core/account/caller.ts'
import { isRestricted } from '#core/account/user-store.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { getLibraryRow } from '#core/analysis/named-records.ts'
import {
  type CreateLibraryRequest,
  DEFAULT_SERIES_STRATEGY,
  type ScanningConfig,
  type SeriesStrategy,
  type UpdateLibraryRequest,
} from '#core/catalog/library.ts'
import { deleteLibraryRows, moveBookPaths } from '#core/catalog/library-content-store.ts'
import { findFolderProblem, realLibraryPath } from '#core/catalog/library-folder.ts'
import {
  insertLibrary,
  type LibraryChange,
  type LibraryRow,
  listLibraryPaths,
  lockLibrary,
  recordDevices,
  updateLibrary,
  withLibraryLock,
} from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { clearCoverOrphans } from '#core/covers/clear-cover-orphans.ts'
import { runForSeveral } from '#core/database/statement-scope.ts'
import { BOOK_FORMATS } from '#core/fields/book-format.ts'
import { AppError, refuse, refuseValue } from '#core/foundation/errors.ts'
import { askDiskOf, isSilence } from '#core/foundation/mounts.ts'
import { isInTargets } from '#core/foundation/open-inside.ts'
import type { FolderSettings } from '#core/scan/browse-folders.ts'
import { compileExcludes } from '#core/scan/glob.ts'
import { type LayoutChange, previewArranging, queueArranging } from '#core/scan/layouts/arrange-library.ts'
import { checkLayout, checkMatches } from '#core/scan/layouts/check-layout.ts'
import { forgetDecisions } from '#core/scan/layouts/folder-layout-store.ts'
import { layoutOf } from '#core/scan/layouts/series-config.ts'
import { checkLinkTargets } from '#core/scan/links/link-targets.ts'
import { checkNaming, NEW_NAMING, namingOf } from '#core/scan/naming-config.ts'
import { renameLibrary, renameStopped } from '#core/scan/renumber.ts'
import { describeScheduleProblem, nextScan } from '#core/scan/scan-schedule.ts'
import { findActiveScan } from '#core/scan/scan-store.ts'
import type { Scans } from '#core/scan/scans.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { TaskAdder } from '#core/tasks/task.ts'

/**
 * Creates a library for a folder; returns its id. With `scanImmediately` its first scan is queued.
 * @param by the caller; null for the operator at the command line
 * @throws invalid_value when the folder cannot be a library or a value is invalid; conflict when it overlaps another library; forbidden for a caller with
 *   rules
 */
export async function createLibrary(
  dependencies: { database: Knex; scans: Scans; rules: Rules; settings: FolderSettings },
  request: CreateLibraryRequest,
  by: Editor | null = null,
): Promise<string> {
  const { database, scans } = dependencies
  await refuseRestricted(database, by, 'create a library')
  await checkRules(dependencies.rules, request)
  const strategy = request.seriesStrategy ?? DEFAULT_SERIES_STRATEGY
  await checkLayout(dependencies.rules, strategy, request.seriesConfig)
  const path = await checkFolder(request.path, dependencies.settings)
  const change = changeOf(request)
  if (request.linkTargets?.length)
    change.link_targets = await checkLinkTargets(dependencies, { given: request.linkTargets, libraryPath: path, libraryId: null, by })
  await checkNaming(dependencies.rules, namingOf(NEW_NAMING, change))
  // Before the lock as well: nobody waits behind it for a disk that does not answer, which is refused at once the second time.
  await refuseOverlap(database, path)
  const libraryId = await withLibraryLock(database, async (trx) => {
    await refuseOverlap(trx, path)
    return await insertLibrary(trx, {
      ...change,
      name: nameOf(request.name),
      path,
      series_strategy: strategy,
      ...(request.seriesConfig === undefined ? {} : { series_config: request.seriesConfig }),
    })
  })
  if (request.scanImmediately) await scans.start(libraryId)
  return libraryId
}

/**
 * Changes a library. Another layout is stored, and a task moves its books.
 * @param by as in {@link createLibrary}
 * @throws not_found, invalid_value, conflict; forbidden for another folder or layout, if the caller has rules
 */
export async function editLibrary(
  { database, rules, settings, tasks }: { database: Knex; rules: Rules; settings: FolderSettings; tasks: TaskAdder },
  libraryId: string,
  request: UpdateLibraryRequest,
  by: Editor | null = null,
): Promise<void> {
  await checkRules(rules, request)
  const change = changeOf(request)
  if (request.name) change.name = nameOf(request.name)
  if (request.isActive !== undefined && request.isActive !== null) change.is_active = request.isActive
  const path = request.path ? await folderOfEdit({ database, settings }, { libraryId, path: request.path, by }) : null
  const layout = changesLayout(request)
    ? await layoutChangeOf({ database, rules }, await getLibraryRow(database, by, libraryId), { request, by })
    : null
  const targets = await linkTargetsOf({ database, settings }, { libraryId, path, request, by })
  // Before the lock as well, as in createLibrary; what it finds counts only for another folder than now.
  if (path !== null) await refuseOverlap(database, path, libraryId).catch(() => {})
  if (targets) change.link_targets = targets
  let isRenamed = false
  const edit = async (trx: Knex.Transaction) => {
    const library = await getLibraryRow(trx, by, libraryId)
    if (layout) await lockLibrary(trx, library.id)
    // What was missed while the library was disabled is not made up for. A stored schedule that was valid once and is no more is ignored, as elsewhere.
    if (change.is_active && !library.is_active && request.scanningConfig === undefined)
      change.next_scan_at =
        describeScheduleProblem(library.scanning_config) === null ? nextScan(library.scanning_config as ScanningConfig | null) : null
    const naming = namingOf(library, change)
    await checkNaming(rules, naming)
    Object.assign(change, naming)
    isRenamed = !isDeepStrictEqual(naming, namingOf(library, {}))
    if (path !== null && path !== library.path) {
      if (await findActiveScan(trx, libraryId)) refuse('scan_running', 'The folder cannot be changed while it is scanned.')
      await refuseOverlap(trx, path, libraryId)
      await moveBookPaths(trx, { id: libraryId, from: library.path, to: path })
      change.path = path
      // Of another place.
      await recordDevices(trx, libraryId, {})
    }
    if (layout) {
      // The scan would place the rest of the new books by the old layout.
      if (await findActiveScan(trx, libraryId)) refuse('scan_running', 'The layout cannot be changed while the library is scanned.')
      await forgetDecisions(trx, libraryId)
      Object.assign(change, layout, { arrange_due: true })
    }
    await updateLibrary(trx, libraryId, change)
  }
  // All or nothing, and to its end even if its client disconnects: a move changes every book.
  await runForSeveral(() => withLibraryLock(database, edit))
  if (isRenamed) await renameLibrary({ tasks }, libraryId)
  else if (NAMING.some((name) => request[name] !== undefined)) await renameStopped({ database, tasks }, libraryId)
  // If the server is killed before this, the next scan queues it.
  if (layout) await queueArranging(tasks, libraryId)
}

const NAMING = ['bookStrategy', 'bookConfig', 'numberStrategy', 'numberConfig'] as const

/** Who edits libraries. */
export type Editor = Viewer & Pick<Caller, 'permissions'>

/**
 * What a disk says about a folder, and whether a pattern matches any file, would tell people of what is hidden from them; and a layout moves that too.
 * Administrators change their own rules anyway. @param what that is refused @throws forbidden
 */
export async function refuseRestricted(database: Knex, by: Editor | null, what: string): Promise<void> {
  if (by !== null && !isAdministrator(by) && (await isRestricted(database, by)))
    refuse('forbidden', `You do not see every library or series, so you cannot ${what}: ask an administrator.`)
}

/** The folder that the request gives, as it is stored. Clients send the present one along. */
async function folderOfEdit(
  { database, settings }: { database: Knex; settings: FolderSettings },
  { libraryId, path, by }: { libraryId: string; path: string; by: Editor | null },
): Promise<string> {
  const { path: present } = await getLibraryRow(database, by, libraryId)
  if (path !== present) await refuseRestricted(database, by, 'choose another folder for a library')
  return await checkFolder(path, settings)
}

/** The link targets that the request gives; null when they do not change. Those of a library that moves must not be in its new folder. */
async function linkTargetsOf(
  dependencies: { database: Knex; settings: FolderSettings },
  wanted: { libraryId: string; path: string | null; request: UpdateLibraryRequest; by: Editor | null },
): Promise<string[] | null> {
  const { libraryId, path, by } = wanted
  const { linkTargets } = wanted.request
  if (linkTargets === undefined && path === null) return null
  const library = await getLibraryRow(dependencies.database, by, libraryId)
  const given = linkTargets === undefined ? library.link_targets : (linkTargets ?? [])
  const isSame = isDeepStrictEqual(given, library.link_targets)
  if (isSame && (given.length === 0 || path === null || path === library.path)) return null
  // Somebody else may move a library, but not choose the targets.
  return await checkLinkTargets(dependencies, { given, libraryId, libraryPath: path ?? library.path, by: isSame ? null : by })
}

const changesLayout = ({ seriesStrategy, seriesConfig }: UpdateLibraryRequest) => Boolean(seriesStrategy) || seriesConfig !== undefined

/**
 * The columns of the layout of the request; null when the library has that layout.
 * @throws invalid_value; forbidden when the caller does not see every series
 */
async function layoutChangeOf(
  { database, rules }: { database: Knex; rules: Rules },
  library: LibraryRow,
  { request: { seriesStrategy, seriesConfig }, by }: { request: UpdateLibraryRequest; by: Editor | null },
): Promise<{ series_strategy: SeriesStrategy; series_config: unknown } | null> {
  const strategy = seriesStrategy ?? (library.series_strategy as SeriesStrategy)
  // Settings of another strategy mean nothing to this one.
  const config = seriesConfig === undefined ? (strategy === library.series_strategy ? library.series_config : null) : seriesConfig
  await checkLayout(rules, strategy, config)
  const isSame = strategy === library.series_strategy && isDeepStrictEqual(config ?? {}, library.series_config ?? {})
  if (isSame) return null
  await refuseRestricted(database, by, 'change the layout of a library')
  await checkMatches({ database, rules }, library, layoutOf(strategy, config))
  return { series_strategy: strategy, series_config: config }
}

/** What a change of the layout would move; nothing is stored. @throws as {@link editLibrary} */
export async function previewLayout(
  { database, rules }: { database: Knex; rules: Rules },
  libraryId: string,
  { request, by, signal }: { request: UpdateLibraryRequest; by: Editor | null; signal: AbortSignal },
): Promise<LayoutChange> {
  const library = await getLibraryRow(database, by, libraryId)
  const layout = await layoutChangeOf({ database, rules }, library, { request, by })
  return layout ? await previewArranging(database, rules, { library: { ...library, ...layout }, signal }) : NO_CHANGE
}

const NO_CHANGE: LayoutChange = { booksMoved: 0, seriesKept: 0, seriesNew: 0, seriesRemoved: 0, examples: [] }

/** A scan between two batches of a slow disk, and the analyses of large files, end within this time. */
const STOP_MS_MAX = 20_000

/**
 * Removes a library: its scan, its rows and its covers. The files stay.
 * @param by as in {@link createLibrary}
 * @throws not_found; unavailable when its scan does not stop in time, or other work uses its books
 */
export async function removeLibrary(
  dependencies: { database: Knex; scans: Scans; dataFolder: string; stopMsMax?: number },
  libraryId: string,
  by: Viewer | null = null,
): Promise<void> {
  const { database, scans, dataFolder, stopMsMax = STOP_MS_MAX } = dependencies
  const until = Date.now() + stopMsMax
  // Again: a scan that was about to stop may have queued more analyses. `cancel` itself waits some seconds for an active scan, so this loop is not busy.
  do await scans.cancel(libraryId, by)
  while (Date.now() < until && (await findActiveScan(database, libraryId)))
  if (await findActiveScan(database, libraryId)) refuseRemoval('its scan has not stopped yet')
  try {
    if (!(await deleteLibraryRows(database, libraryId))) refuse('not_found', `There is no library ${libraryId}.`)
  } catch (error) {
    if (error instanceof AppError || !BUSY.test(String((error as { code?: unknown }).code))) throw error
    refuseRemoval('other work is using its books', error)
  }
  await clearCoverOrphans({ database, dataFolder })
}

/** deadlock_detected, serialization_failure, lock_not_available, query_canceled */
const BUSY = /^(?:40P01|40001|55P03|57014)$/

/** The database has deleted nothing, but the scan and the analyses are canceled. */
function refuseRemoval(reason: string, cause?: unknown): never {
  const rest = 'Its scan and the analyses of its books were cancelled. Delete it again shortly, or scan it again to keep it.'
  refuse('unavailable', `The library was not deleted, because ${reason}. ${rest}`, { cause, retryAfterSeconds: 5 })
}

const nameOf = (name: string) => name.trim() || refuseValue('/name', 'A library needs a name.')

/** @throws invalid_value */
export async function checkRules(
  rules: Rules,
  request: Pick<UpdateLibraryRequest, 'autoMatchConditions' | 'titlePreprocessingRules'>,
): Promise<void> {
  if (request.autoMatchConditions) await rules.checkCondition(request.autoMatchConditions, '/autoMatchConditions')
  if (request.titlePreprocessingRules) await rules.checkTitleRules(request.titlePreprocessingRules)
}

/** The members that both requests have. Null clears members that may be empty, and leaves the others unchanged. @throws invalid_value */
export function changeOf(request: Omit<UpdateLibraryRequest, 'name' | 'path' | 'isActive'>): LibraryChange {
  const { bookStrategy, numberStrategy, defaultReadingDirection, excludedPatterns } = request
  const allowedFormats = filterOf(request)
  const change: LibraryChange = {
    ...(request.description === undefined ? {} : { description: request.description }),
    ...(request.bookConfig === undefined ? {} : { book_config: request.bookConfig }),
    ...(request.numberConfig === undefined ? {} : { number_config: request.numberConfig }),
    ...(request.allowedFormats === undefined ? {} : { allowed_formats: allowedFormats }),
    ...(excludedPatterns === undefined ? {} : { excluded_patterns: excludedPatterns }),
    ...(request.scanningConfig === undefined
      ? {}
      : { scanning_config: request.scanningConfig, next_scan_at: nextScan(request.scanningConfig) }),
    ...(request.titlePreprocessingRules === undefined ? {} : { title_preprocessing_rules: request.titlePreprocessingRules }),
    ...(request.autoMatchConditions === undefined ? {} : { auto_match_conditions: request.autoMatchConditions }),
  }
  if (bookStrategy) change.book_strategy = bookStrategy
  if (numberStrategy) change.number_strategy = numberStrategy
  if (defaultReadingDirection) change.default_reading_direction = defaultReadingDirection
  return change
}

/** Checks which files are left out; returns the formats that are not, null for all. @throws invalid_value */
export function filterOf({
  allowedFormats,
  excludedPatterns,
}: Pick<UpdateLibraryRequest, 'allowedFormats' | 'excludedPatterns'>): string[] | null {
  if (excludedPatterns) {
    try {
      compileExcludes(excludedPatterns)
    } catch (error) {
      refuseValue('/excludedPatterns', (error as Error).message)
    }
  }
  // An empty list would allow no format at all, which nobody means.
  return allowedFormats?.length ? formatsOf(allowedFormats) : null
}

/** Accepts CBZ as well as cbz, because clients send both. @throws invalid_value */
function formatsOf(given: readonly string[]): string[] {
  const formats = given.map((format) => format.toLowerCase())
  const invalid = formats.findIndex((format) => !(BOOK_FORMATS as readonly string[]).includes(format))
  if (invalid !== -1)
    refuse('invalid_value', `"${given[invalid]}" is not a book format; the formats are ${BOOK_FORMATS.join(', ')}.`, {
      details: [{ path: `/allowedFormats/${invalid}`, message: 'is not a book format' }],
    })
  return [...new Set(formats)]
}

/** Returns the path as it is stored. @throws invalid_value with what is wrong with it; unavailable when its disk does not answer */
export async function checkFolder(given: string, { dataFolder }: Pick<Settings, 'dataFolder'>): Promise<string> {
  const fail = (message: string): never => refuseValue('/path', message)
  if (given.includes('\0')) fail('A path cannot contain a NUL character.')
  if (!isAbsolute(given)) fail(`"${given}" is not an absolute path: it must begin with "/".`)
  const path = resolve(given)
  if (path === '/') fail('The whole file system cannot be a library: choose a folder.')
  const problem = await askDiskOf(path, () => findProblem(path, dataFolder)).catch((cause) => {
    throw isSilence(cause) ? new AppError('unavailable', cause.message, { cause }) : cause
  })
  if (problem) fail(problem)
  return path
}

/** Why this path cannot be a library, by what is on the disk; null when it can. */
async function findProblem(path: string, dataFolder: string): Promise<string | null> {
  const facts = await stat(path).catch((error: NodeJS.ErrnoException) => error)
  if (facts instanceof Error) {
    const reason =
      facts.code === 'EACCES' ? 'cannot be accessed by the server: check the permissions of its parent folders' : 'does not exist'
    return `"${path}" ${reason}.`
  }
  if (!facts.isDirectory()) return `"${path}" is not a folder.`
  const isReadable = await access(path, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  return isReadable ? await findFolderProblem(path, dataFolder) : `The server may not read "${path}": check its permissions.`
}

/** Two libraries must not share files. @param except the library itself @throws conflict, which names the other library: only for people without rules */
export async function refuseOverlap(trx: Knex, path: string, except?: string): Promise<void> {
  // Compares real paths: a link into a library is inside it.
  const real = await realLibraryPath(path)
  for (const other of await listLibraryPaths(trx)) {
    if (other.id === except?.toLowerCase()) continue
    if (other.linkTargets.some((target) => isInTargets(real, [target]) || isInTargets(target, [real])))
      refuse('conflict', `"${path}" cannot be a library, because links of another library lead there. Choose another folder.`)
    for (const [one, two] of [
      [path, other.path],
      [real, await realLibraryPath(other.path)],
    ] as [string, string][]) {
      if (one === two)
        refuse('conflict', `The library "${other.name}" has this folder already. Edit that library, or choose another folder.`)
      if (`${one}/`.startsWith(`${two}/`)) refuse('conflict', `"${path}" is inside the library "${other.name}" (${other.path}).`)
      if (`${two}/`.startsWith(`${one}/`)) refuse('conflict', `"${path}" contains the library "${other.name}" (${other.path}).`)
    }
  }
}
