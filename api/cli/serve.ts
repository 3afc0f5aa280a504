import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { printSummary, renderProgress } from '#api/cli/library-report.ts'
import { type OpenedDatabase, openOwnDatabase } from '#api/cli/open-database.ts'
import { checkStart, describeListenFailure } from '#api/cli/start-check.ts'
import { describeStart, StartClock } from '#api/cli/start-clock.ts'
import { quoted, typed } from '#api/cli/typed.ts'
import type { Composition } from '#api/compose.ts'
import { STALLED_SIGNAL } from '#api/exit-codes.mjs'
import { watchGarbage } from '#api/garbage.ts'
import type { Services } from '#api/http/services.ts'
import { NAME, VERSION } from '#api/http/version.ts'
import { watchDataFolder } from '#core/database/data-folder-watch.ts'
import { CarrelError } from '#core/foundation/errors.ts'
import { describeStall, openWatchdog, suspectsOf, takeStall, type Watchdog } from '#core/foundation/watchdog.ts'
import { getLibraryProgress, getLibrarySummary, listLibraries } from '#core/ingest/library-progress-query.ts'
import { noteSuspects } from '#core/ingest/suspect-store.ts'
import { absolutePath } from '#core/settings/setting-table.ts'

/** Requests under way when we are asked to stop have this long; an orchestrator kills after 10 to 30 s. */
const DRAIN_MS = 10_000
/** Everything together; whatever hangs longer hangs for ever. */
const CLOSE_MS = 60_000
const PROGRESS_MS = 1_000
/** How long after its last answer PostgreSQL's process may take to end. */
const LOST_MS = 1_000

export const serve: Command = {
  name: 'serve',
  usage: '[folder...]',
  summary: 'runs the server (the default command)',
  about:
    'Runs the server: starts the database, scans the libraries, answers over HTTP until it is told to stop. Folders are those of books, as with --library.',
  flags: [],
  wordsMin: 0,
  wordsMax: 100,
  run,
}

/** HTTP and pictures take a second, which the other commands do without, and which PostgreSQL needs to start as well. */
const load = () => Promise.all([import('#api/compose.ts'), import('#api/server.ts'), import('#core/ingest/add-library.ts')])

type Closers = { what: string; close: () => Promise<void> }[]

async function run(input: CommandInput): Promise<number> {
  const { log, stop } = input
  const closers: Closers = []
  const lost = Promise.withResolvers<string>()
  watchGarbage()
  try {
    const reason = await serveUntilEnd(input, closers, lost)
    if (reason === null) return 0
    log.error({}, `${reason} The server stops; start it anew.`)
  } catch (error) {
    // Asked to stop while something was being waited for.
    if (stop.aborted && (error as Error).name === 'AbortError') return 0
    // Whatever failed for want of the database is told by its end, which we may hear of a moment later.
    const reason = await Promise.race([lost.promise, sleep(LOST_MS, null)])
    if (reason === null) throw error
    log.error({}, reason)
  } finally {
    await closeAll(input, closers)
  }
  return 1
}

/** Why the server cannot go on; null where it was asked to stop. Whatever was opened is put into `closers`. */
async function serveUntilEnd(input: CommandInput, closers: Closers, lost: PromiseWithResolvers<string>): Promise<string | null> {
  const { settings, log, stop } = input
  const clock = new StartClock('program')
  log.info({ version: VERSION, node: process.versions.node }, `${NAME} starts`)
  const folders = [...new Set([...settings.libraryFolders, ...input.words.map((word) => absolutePath(word, input.cwd))])]
  const opened = await openOwnDatabase({
    settings,
    log,
    purpose: 'server',
    onHeld: async () => {
      // What fails to load early fails again below, where it is reported.
      load().catch(() => {})
      await checkStart(settings, folders)
    },
    onLost: lost.resolve,
    stop,
  })
  closers.push({ what: 'database', close: opened.close })
  clock.done('database')
  // The launcher sees to it that PostgreSQL ends, should we be killed.
  if (opened.databaseProcess) process.send?.({ database: opened.databaseProcess })
  const watchdog = await watchMainThread(input, opened)
  closers.push({ what: 'watchdog', close: async () => await watchdog?.close() })
  if (stop.aborted) return null
  const composition = await compose(input, opened, closers)
  const { services } = composition
  clock.done('services')
  await addFirst(services, folders)
  clock.done('libraries')
  const url = await listen(input, services, closers)
  clock.done('port')
  log.info({}, describeStart(clock.split()))
  closers.push({ what: 'clearing of covers', close: clearInBackground(services) })
  await composition.start()
  await scanAll(services)
  const ended = Promise.race([
    lost.promise,
    new Promise<null>((resolve) => (stop.aborted ? resolve(null) : stop.addEventListener('abort', () => resolve(null), { once: true }))),
  ])
  await watchFirstScan(input, services, { url, folder: opened.settings.dataFolder, ended })
  return await ended
}

async function compose({ log }: CommandInput, opened: OpenedDatabase, closers: Closers): Promise<Composition> {
  const [{ openComposition }] = await load()
  const watch = await watchDataFolder(opened.settings.dataFolder, log)
  closers.push({ what: 'watch of the data folder', close: async () => watch.close() })
  const composition = await openComposition({ ...opened, log, dataFolderProblem: watch.problem })
  closers.push({ what: 'workers and accounts', close: composition.close })
  return composition
}

/** The first administrator and the libraries that the settings ask for. */
async function addFirst(services: Services, folders: readonly string[]): Promise<void> {
  const { accounts, log } = services
  const { firstAdmin } = services.settings
  const [, , { addLibrary }] = await load()
  if (firstAdmin && (await accounts.ensureFirstAdmin(firstAdmin))) log.info({ username: firstAdmin.username }, 'Made the first admin')
  for (const folder of folders) {
    const { library, created } = await addLibrary(services, { folder })
    if (created) log.info({ name: library.name, path: library.path }, 'Added a library')
  }
}

/** Answers the address. @throws CommandProblem when the port cannot be had */
async function listen({ settings, log }: CommandInput, services: Services, closers: Closers): Promise<string> {
  const [, { openServer }] = await load()
  const server = openServer(services)
  // Tasks are given back to the queue while the last requests finish.
  closers.push({
    what: 'server',
    close: async () => void (await Promise.all([server.close({ deadlineMs: DRAIN_MS }), services.tasks.stop()])),
  })
  const { url } = await server.listen(settings).catch((cause: NodeJS.ErrnoException) => {
    throw new CommandProblem(describeListenFailure(cause, settings), { cause })
  })
  log.info({}, `Listening on ${url}`)
  const { allowLocal } = settings.plugins
  if (allowLocal.length > 0)
    log.warn(
      { allowLocal },
      `For development, plugins may reach ${allowLocal.join(', ')} (plugins.allowLocal); leave that out on a server that others use`,
    )
  return url
}

/** Tells what the watchdog of an earlier process wrote down, then starts the one of this process. */
async function watchMainThread({ log }: CommandInput, { settings, database }: OpenedDatabase): Promise<Watchdog | null> {
  const stall = await takeStall(settings.dataFolder)
  if (stall) {
    const files = await noteSuspects(database, suspectsOf(stall), 'server_stalled')
    log.error({ stall, files }, describeStall(stall))
  }
  return openWatchdog({ stallMs: settings.watchdogMs, folder: settings.dataFolder, signal: STALLED_SIGNAL })
}

/** Removes the covers that a killed server left; answers how to stop. */
function clearInBackground({ database, settings: { dataFolder }, log }: Services): () => Promise<void> {
  const stop = new AbortController()
  const clearing = import('#core/metadata/clear-cover-orphans.ts')
    .then(({ clearCoverOrphans }) => clearCoverOrphans({ database, dataFolder }, stop.signal))
    .catch((error: unknown) => {
      if (!stop.signal.aborted) log.error({ err: error }, 'Covers that nothing needs any more could not be removed')
    })
  return async () => {
    stop.abort()
    await clearing
  }
}

/** Every active library, except where an earlier start left a scan in line, which goes on by itself. */
async function scanAll({ database, scans }: Services): Promise<void> {
  for (const library of await listLibraries(database)) {
    if (!library.isActive) continue
    await scans.start(library.id).catch((error: unknown) => {
      if (!(error instanceof CarrelError && error.code === 'scan_running')) throw error
    })
  }
}

/** Shows progress until everything that the start has set going is done, then says what there is. */
async function watchFirstScan(
  { out, log, stop }: CommandInput,
  services: Services,
  at: { url: string; folder: string; ended: Promise<unknown> },
): Promise<void> {
  const started = Date.now()
  let over = false
  void at.ended.then(() => {
    over = true
  })
  try {
    for (;;) {
      if (over) return
      const progress = renderProgress(await getLibraryProgress(services.database))
      if (progress === null) break
      out.progress(`${progress[0]!.toUpperCase()}${progress.slice(1)}`)
      await sleep(PROGRESS_MS, undefined, { signal: stop })
    }
    out.progressDone()
    const [summary, needsSetup] = await Promise.all([getLibrarySummary(services.database), services.accounts.needsSetup()])
    out.line()
    out.line(`${NAME} is ready (${Math.max(1, Math.round((Date.now() - started) / 1000))} s).`)
    out.line()
    out.line(`  Address      ${at.url}`)
    out.line(`  Data folder  ${at.folder}`)
    out.line(`  Admin        ${needsSetup ? 'none yet; make one:' : 'exists'}`)
    if (needsSetup) {
      out.line(`                 ${typed(`user add <name> --role admin --data-dir ${quoted(at.folder)}`)}`)
      out.line(`                 or POST ${at.url}/api/v1/setup/initialize with username, email and password`)
    }
    printSummary(out, summary)
    out.line()
  } catch (error) {
    // Asked to stop, or the database went: what ends the server says so itself.
    if (over || stop.aborted) return
    log.error({ error }, 'The state of the first scan could not be read')
  } finally {
    out.progressDone()
  }
}

async function closeAll({ log, stop }: CommandInput, closers: Closers): Promise<void> {
  if (stop.aborted) log.info({}, 'Stopping: requests under way finish, tasks go back to the queue')
  const hung = setTimeout(() => {
    log.error({}, `Closing took longer than ${CLOSE_MS / 1000} s; quitting. Unfinished tasks run again at the next start.`)
    process.exit(1)
  }, CLOSE_MS)
  for (const { what, close } of closers.reverse())
    await close().catch((error: unknown) => log.error({ error }, `The ${what} could not be closed`))
  clearTimeout(hung)
  if (stop.aborted) log.info({}, 'Stopped')
}
