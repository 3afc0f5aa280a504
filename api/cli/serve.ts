import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { printSummary, renderProgress } from '#api/cli/library-report.ts'
import { type OpenedDatabase, openOwnDatabase } from '#api/cli/open-database.ts'
import { checkStart, describeListenFailure } from '#api/cli/start-check.ts'
import { describeStart, StartClock } from '#api/cli/start-clock.ts'
import { quoted, typed } from '#api/cli/typed.ts'
import { describeStall, openWatchdog, suspectsOf, takeStall, type Watchdog } from '#api/cli/watchdog.ts'
import type { Composition } from '#api/compose.ts'
import { STALLED_SIGNAL } from '#api/exit-codes.mjs'
import { watchGarbage } from '#api/garbage.ts'
import type { Services } from '#api/http/services.ts'
import { NAME, VERSION } from '#api/http/version.ts'
import { webPlaces } from '#api/web/build.ts'
import { WebInterface } from '#api/web/web-interface.ts'
import { noteSuspects } from '#core/analysis/suspect-store.ts'
import { watchDataFolder } from '#core/embedded/data-folder-watch.ts'
import { getLibraryProgress, getLibrarySummary } from '#core/scan/library-progress-query.ts'
import { readSetting } from '#core/settings/chosen-setting-store.ts'
import { absolutePath } from '#core/settings/setting-table.ts'

/** The folder of the installation. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** How long requests in progress may take after a stop signal; orchestrators kill after 10 to 30 s. */
const DRAIN_MS = 10_000
/** Limit for closing everything; what takes longer would hang forever. */
const CLOSE_MS = 60_000
const PROGRESS_MS = 1_000
/** How long the process of PostgreSQL may take to end after its last answer. */
const LOST_MS = 1_000

export const serve: Command = {
  name: 'serve',
  usage: '[folder...]',
  words: [0, 100],
  summary: 'runs the server (the default command)',
  about:
    'Runs the server: starts the database, scans the libraries, and serves HTTP until it is stopped. The folders contain books, as with --library.',
  flags: [],
  run,
}

/** Loading HTTP and image code takes a second. Other commands do not need it, and PostgreSQL starts meanwhile. */
const load = () => Promise.all([import('#api/compose.ts'), import('#api/server.ts'), import('#core/scan/add-library.ts')])

type Closers = { what: string; close: () => Promise<void> }[]

async function run(input: CommandInput): Promise<number> {
  const { log, stop } = input
  const closers: Closers = []
  const lost = Promise.withResolvers<string>()
  watchGarbage()
  try {
    const reason = await serveUntilEnd(input, closers, lost)
    if (reason === null) return 0
    log.error({}, `${reason} The server stops; start it again.`)
  } catch (error) {
    // The server was stopped during its start.
    if (stop.aborted && (error as Error).name === 'AbortError') return 0
    // If the database has ended, that explains the failure; its exit may be noticed a moment later.
    const reason = await Promise.race([lost.promise, sleep(LOST_MS, null)])
    if (reason === null) throw error
    log.error({}, reason)
  } finally {
    await closeAll(input, closers)
  }
  return 1
}

/** Runs until the end; returns why the server cannot continue, or null if it was stopped. Adds everything that it opens to `closers`. */
async function serveUntilEnd(input: CommandInput, closers: Closers, lost: PromiseWithResolvers<string>): Promise<string | null> {
  const { settings, log, stop } = input
  const clock = new StartClock('program')
  log.info({ version: VERSION, node: process.versions.node }, `${NAME} starts`)
  const folders = [...new Set([...settings.libraryFolders, ...input.words.map((word) => absolutePath(word, input.cwd))])]
  const opened = await openOwnDatabase({
    settings,
    log,
    purpose: 'server',
    onLocked: async () => {
      // An early loading error occurs again below, where it is reported.
      load().catch(() => {})
      await checkStart(settings, folders)
    },
    onLost: lost.resolve,
    stop,
  })
  closers.push({ what: 'database', close: opened.close })
  clock.done('database')
  // If the server is killed, the launcher ends PostgreSQL.
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
  await services.scans.startOnStart()
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

/** Creates the first administrator and the libraries of the settings. */
async function addFirst(services: Services, folders: readonly string[]): Promise<void> {
  const { accounts, log } = services
  const { firstAdmin } = services.settings
  const [, , { addLibrary }] = await load()
  if (firstAdmin && (await accounts.ensureFirstAdmin(firstAdmin)))
    log.info({ username: firstAdmin.username }, 'Created the first administrator')
  for (const folder of folders) {
    const { library, created } = await addLibrary(services, { folder })
    if (created) log.info({ name: library.name, path: library.path }, 'Added a library')
  }
}

/** Returns the address. @throws CommandProblem if the port is not available */
async function listen({ settings, log }: CommandInput, services: Services, closers: Closers): Promise<string> {
  const [, { Server }] = await load()
  const web = openWebInterface(services)
  const server = new Server(services, { web })
  // Tasks return to the queue while the last requests finish.
  closers.push({
    what: 'server',
    close: async () => void (await Promise.all([server.close({ deadlineMs: DRAIN_MS }), services.tasks.stop()])),
  })
  const { url } = await server.listen(settings).catch((cause: NodeJS.ErrnoException) => {
    throw new CommandProblem(describeListenFailure(cause, settings), { cause })
  })
  log.info({}, `Listening on ${url}`)
  closers.push({ what: 'build of the web interface', close: () => web.close() })
  void web.start()
  const { allowLocal } = settings.plugins
  if (allowLocal.length > 0)
    log.warn(
      { allowLocal },
      `Plugins may connect to ${allowLocal.join(', ')} (plugins.allowLocal). This is for development only; remove it on a server that others use`,
    )
  return url
}

function openWebInterface({ settings, log, database }: Services): WebInterface {
  const readStart = async () => ({
    name: await readSetting(database, 'application.name'),
    hasDocs: (await readSetting(database, 'apiDocs.enabled')) === 'true',
  })
  return new WebInterface({ places: webPlaces(ROOT), mayBuild: settings.webBuild, readStart, log })
}

/** Reports what the watchdog of an earlier process recorded, then starts the watchdog of this process. */
async function watchMainThread({ log }: CommandInput, { settings, database }: OpenedDatabase): Promise<Watchdog | null> {
  const stall = await takeStall(settings.dataFolder)
  if (stall) {
    const files = await noteSuspects(database, suspectsOf(stall), 'server_stalled')
    log.error({ stall, files }, describeStall(stall))
  }
  return openWatchdog({ stallMs: settings.watchdogMs, folder: settings.dataFolder, signal: STALLED_SIGNAL })
}

/** Removes covers that a killed server left behind; returns a function that stops this. */
function clearInBackground({ database, settings: { dataFolder }, log }: Services): () => Promise<void> {
  const stop = new AbortController()
  const clearing = import('#core/covers/clear-cover-orphans.ts')
    .then(({ clearCoverOrphans }) => clearCoverOrphans({ database, dataFolder }, stop.signal))
    .catch((error: unknown) => {
      if (!stop.signal.aborted) log.error({ err: error }, 'Could not remove orphaned covers')
    })
  return async () => {
    stop.abort()
    await clearing
  }
}

/** Shows progress until all work of the start is done, then prints a summary. */
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
    out.line(`  Admin        ${needsSetup ? 'none yet: open the address in a browser, or create one:' : 'exists'}`)
    if (needsSetup) {
      out.line(`                 ${typed(`user add <name> --role admin --data-dir ${quoted(at.folder)}`)}`)
      out.line(`                 or POST ${at.url}/api/v1/setup/initialize with username, email and password`)
    }
    printSummary(out, summary)
    out.line()
  } catch (error) {
    // The server was stopped, or the database ended; whatever ends the server reports it.
    if (over || stop.aborted) return
    log.error({ error }, 'Could not read the state of the first scan')
  } finally {
    out.progressDone()
  }
}

async function closeAll({ log, stop }: CommandInput, closers: Closers): Promise<void> {
  if (stop.aborted) log.info({}, 'Stopping: waiting for requests in progress, returning tasks to the queue')
  const hung = setTimeout(() => {
    log.error({}, `Closing took longer than ${CLOSE_MS / 1000} s; exiting. Unfinished tasks run again at the next start.`)
    process.exit(1)
  }, CLOSE_MS)
  for (const { what, close } of closers.reverse())
    await close().catch((error: unknown) => log.error({ error }, `Could not close the ${what}`))
  clearTimeout(hung)
  if (stop.aborted) log.info({}, 'Stopped')
}
