import { realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { checkDatabase, migrate, openDatabase, pendingMigrations, refuseIncompatible } from '#core/database/database.ts'
import {
  type DataFolder,
  describeDenied,
  FolderInUse,
  findHolder,
  makeDataFolder,
  openDataFolder,
  type Purpose,
} from '#core/embedded/data-folder.ts'
import { type EmbeddedPostgres, findRunningUrl, openEmbeddedPostgres } from '#core/embedded/embedded-postgres.ts'
import { closeFolders } from '#core/embedded/private-folders.ts'
import type { Log } from '#core/foundation/log.ts'
import type { Settings } from '#core/settings/settings.ts'

/** Containers start in any order: an external database may start after the server. */
const FOREIGN_PATIENCE_MS = 30_000
/** For a starting server or a running command; the longest case is recovery after a crash. */
const RUNNING_PATIENCE_MS = 60_000
/** For a stopping server: it drains for 10 s, quits after 60, and PostgreSQL writes its checkpoint. */
const CLOSING_PATIENCE_MS = 90_000
/** When a new server starts, the stop signal may still be on its way to the old one. */
const RESTART_PATIENCE_MS = 5_000
const POLL_MS = 200
/** Requests wait for each other in the pool rather than in PostgreSQL: more connections than this make two cores slower. */
const SERVER_POOL_MAX = 16
const COMMAND_POOL_MAX = 4
/** Authentication is cached for seconds and takes a millisecond, so that few connections serve all requests. */
const RESERVED = { poolMax: 4, statementTimeoutMs: 5_000, acquireTimeoutMs: 5_000 }
const OLDEST_VERSION = 150_000

/**
 * How a command uses the database. `look` only reads; `inspect` only reads, also tables that are not up to date; `change` requires an
 * existing database; `make` creates folder and database if they are missing.
 */
export type DatabaseUse = 'look' | 'inspect' | 'change' | 'make'

/** There is no database yet at the place in the settings. */
export class NoDatabase extends CommandProblem {}

/** An open database, and everything that was started for it. */
export interface OpenedDatabase {
  database: Knex
  /** Additional reserved connections; only in the server. */
  reserved?: Knex
  /** With the real path of the data folder, links resolved. */
  settings: Settings
  /** Whether a server runs on the data folder; it then runs queued tasks. */
  serverRuns: boolean
  /** The PostgreSQL that this process has started, with its folder. */
  databaseProcess?: { pid: number; cluster: string }
  close(): Promise<void>
}

/**
 * Opens the database for the one process that owns the data folder: the server.
 * @param onLocked called when the data folder is locked and before the database starts; throwing ends the start
 * @param onLost called when the embedded PostgreSQL dies
 */
export async function openOwnDatabase(options: {
  settings: Settings
  log: Log
  purpose: Purpose
  /** For a command; a server creates what it needs. */
  use?: DatabaseUse
  onLocked?: () => Promise<void>
  onLost: (reason: string) => void
  stop: AbortSignal
}): Promise<OpenedDatabase> {
  const { settings, log, use = 'make' } = options
  const opened: { folder?: DataFolder; postgres?: EmbeddedPostgres; database?: Knex; reserved?: Knex } = {}
  // Closes in reverse order, and each part even if another fails.
  const close = async () => {
    opened.folder?.announceClosing()
    try {
      await Promise.all([opened.database, opened.reserved].map((database) => database?.destroy()))
    } finally {
      try {
        await opened.postgres?.close()
      } finally {
        await opened.folder?.close()
      }
    }
  }
  try {
    opened.folder = await takeDataFolder(options)
    options.stop.addEventListener('abort', () => opened.folder?.announceClosing(), { once: true })
    await options.onLocked?.()
    if (settings.databaseUrl === null) {
      log.info({}, 'Starting PostgreSQL')
      const onExit = (reason: string) => {
        opened.folder?.announceClosing()
        options.onLost(reason)
      }
      opened.postgres = await openEmbeddedPostgres({ folder: opened.folder.path, log, onExit })
    }
    // PostgreSQL has access to what it needs by now. From here on, new files are private, whichever code creates them.
    process.umask(0o077)
    const closed = isLook(use) ? 0 : await closeFolders(opened.folder.path)
    if (closed > 0) log.info({ closed }, 'Restricted folders of the data folder that other users could read')
    const url = opened.postgres?.url ?? settings.databaseUrl!
    opened.database = openDatabase({ url, poolMax: options.purpose === 'server' ? SERVER_POOL_MAX : COMMAND_POOL_MAX, log })
    if (opened.postgres === undefined) await awaitForeign(opened.database, log, options.stop)
    await prepareTables(opened.database, use, log)
    // Opened on first use, as every pool is.
    if (options.purpose === 'server') opened.reserved = openDatabase({ url, log, ...RESERVED })
    return {
      database: opened.database,
      ...(opened.reserved && { reserved: opened.reserved }),
      settings: { ...settings, dataFolder: opened.folder.path },
      serverRuns: false,
      ...(opened.postgres && { databaseProcess: { pid: opened.postgres.pid, cluster: path.join(opened.folder.path, 'postgres') } }),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const isLook = (use: DatabaseUse) => use === 'look' || use === 'inspect'

async function prepareTables(database: Knex, use: DatabaseUse, log: Log): Promise<void> {
  if (use === 'inspect') return
  if (use === 'look') {
    await refuseIncompatible(database)
    if ((await pendingMigrations(database)).length > 0)
      throw new CommandProblem('The tables of the database are missing or from an older version of Carrel. Start the server once.')
    return
  }
  const ran = await migrate(database)
  if (ran.length > 0) log.info({ migrations: ran.length }, 'Migrated the database')
}

/** Locks the data folder. A server waits for the previous one to close; a command fails if a server runs, and then works beside it. */
async function takeDataFolder({ settings, log, purpose, stop }: Parameters<typeof openOwnDatabase>[0]): Promise<DataFolder> {
  const began = Date.now()
  for (let isReported = false; ; isReported = true) {
    try {
      const serving = { allowLocal: settings.plugins.allowLocal, port: settings.port }
      return await openDataFolder(settings.dataFolder, purpose, purpose === 'server' ? serving : {})
    } catch (error) {
      if (!(error instanceof FolderInUse) || purpose === 'command') throw error
      // A lock without a name is about to be written, or was just removed.
      const patienceMs =
        error.closing || error.pid === null ? CLOSING_PATIENCE_MS : error.purpose === 'command' ? RUNNING_PATIENCE_MS : RESTART_PATIENCE_MS
      if (Date.now() - began > patienceMs) throw error
      if (!isReported)
        log.info({ pid: error.pid }, `Waiting for another Carrel ${error.purpose} to release the data folder ${settings.dataFolder}`)
      await sleep(POLL_MS, undefined, { signal: stop })
    }
  }
}

/** Opens the database for a command, with or without a running server. @throws NoDatabase unless `use` is `make` */
async function openCommandDatabase(
  { settings, log, stop }: Pick<CommandInput, 'settings' | 'log' | 'stop'>,
  use: DatabaseUse,
): Promise<OpenedDatabase> {
  const until = Date.now() + RUNNING_PATIENCE_MS
  if (settings.databaseUrl !== null) return await openForeign(settings, log, stop, use)
  if (use !== 'make') await refuseAbsent(settings.dataFolder)
  for (;;) {
    try {
      return await openOwnDatabase({ settings, log, purpose: 'command', use, onLost: (reason) => log.error({}, reason), stop })
    } catch (error) {
      if (!(error instanceof FolderInUse)) throw error
      if (error.purpose === 'server') {
        const found = await attach(settings, log)
        if (found) return found
      }
      if (Date.now() > until) throw error
      await sleep(POLL_MS, undefined, { signal: stop })
    }
  }
}

/** Opens the database, runs the work of a command, and closes it. @throws NoDatabase unless `use` is `make` */
export async function withDatabase<T>(
  input: Pick<CommandInput, 'settings' | 'log' | 'stop'>,
  use: DatabaseUse,
  work: (opened: OpenedDatabase) => Promise<T>,
): Promise<T> {
  const opened = await openCommandDatabase(input, use)
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

/** A mistyped --data-dir must not create a new, empty library. */
async function refuseAbsent(folder: string): Promise<void> {
  await refuseAbsentFolder(folder)
  const cluster = path.join(folder, 'postgres', 'PG_VERSION')
  const isThere = await stat(cluster).catch((cause: NodeJS.ErrnoException) => cause.code !== 'ENOENT' && cause.code !== 'ENOTDIR')
  // A server may be creating it at this moment.
  if (isThere || (await findHolder(folder))?.purpose === 'server') return
  throw new NoDatabase(`The folder ${folder} has no Carrel database. Check --data-dir. The server creates the database at its first start.`)
}

async function refuseAbsentFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') return null
    throw new CommandProblem(describeDenied(folder, cause), { cause })
  })
  if (found === null)
    throw new NoDatabase(`The data folder ${folder} does not exist. Check --data-dir. The server creates it at its first start.`)
  if (!found.isDirectory()) throw new CommandProblem(`--data-dir ${folder} is not a folder. Give the path of a folder.`)
}

/** Connects to the embedded PostgreSQL of the running server; null while it starts, or if it restarted with a new password. */
async function attach(settings: Settings, log: Log): Promise<OpenedDatabase | null> {
  const folder = await realpath(settings.dataFolder)
  const url = await findRunningUrl(folder)
  if (url === null) return null
  const database = openDatabase({ url, poolMax: COMMAND_POOL_MAX, log })
  try {
    if ((await pendingMigrations(database)).length === 0)
      return { database, settings: { ...settings, dataFolder: folder }, serverRuns: true, close: () => database.destroy() }
  } catch (error) {
    log.debug({ error }, 'The PostgreSQL of the running server does not accept this command yet')
  }
  await database.destroy()
  return null
}

async function openForeign(settings: Settings, log: Log, stop: AbortSignal, use: DatabaseUse): Promise<OpenedDatabase> {
  const { dataFolder } = settings
  if (use === 'change') await refuseAbsentFolder(dataFolder)
  const folder = use === 'make' ? await makeDataFolder(dataFolder) : await realpath(dataFolder).catch(() => dataFolder)
  const database = openDatabase({ url: settings.databaseUrl!, poolMax: COMMAND_POOL_MAX, log })
  try {
    // A command that only reads can be repeated.
    await awaitForeign(database, log, stop, isLook(use) ? 0 : FOREIGN_PATIENCE_MS)
    await prepareTables(database, use, log)
    const serverRuns = (await findHolder(folder))?.purpose === 'server'
    return { database, settings: { ...settings, dataFolder: folder }, serverRuns, close: () => database.destroy() }
  } catch (error) {
    await database.destroy()
    throw error
  }
}

async function awaitForeign(database: Knex, log: Log, stop: AbortSignal, patienceMs = FOREIGN_PATIENCE_MS): Promise<void> {
  const until = Date.now() + patienceMs
  for (let isReported = false; ; ) {
    try {
      const { version } = await checkDatabase(database)
      if (version >= OLDEST_VERSION) return
      throw new CommandProblem(`The database server is PostgreSQL ${Math.floor(version / 10_000)}; Carrel needs 15 or newer.`)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? ''
      // Unreachable, unknown host, or still starting (57P03); other errors do not go away by waiting.
      const mayCome = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', 'ETIMEDOUT', '57P03'].includes(code)
      if (error instanceof CommandProblem) throw error
      if (!mayCome || Date.now() >= until)
        throw new CommandProblem(
          `The database of DATABASE_URL cannot be used: ${describe(error)}. Check its address, user and permissions.`,
          {
            cause: error,
          },
        )
      if (!isReported) log.info({}, `Waiting for the database of DATABASE_URL (${describe(error)}). Start it, or check its address.`)
      isReported = true
      await sleep(POLL_MS, undefined, { signal: stop })
    }
  }
}

function describe(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  return message || code || String(error)
}
