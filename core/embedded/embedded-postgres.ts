import type { ChildProcess } from 'node:child_process'
import { chown, lchown, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeLastWords, StartProblem } from '#core/database/start-problem.ts'
import { allowPreparation, prepareRole, ROLE, readPassword, rotatePassword } from '#core/embedded/database-role.ts'
import { launchPostgres, launchProgram } from '#core/embedded/launch-postgres.ts'
import { findPostgresRunner, type PostgresRunner } from '#core/embedded/postgres-binaries.ts'
import { readPostmasterFile, stopOrphan, stopPostmaster } from '#core/embedded/postmaster.ts'
import type { Log } from '#core/foundation/log.ts'

/** The name of our database in the cluster. */
const DATABASE = 'carrel'
const PORT = 5432
/** sun_path holds 107 bytes and a NUL; "/.s.PGSQL.5432.lock" is the longest name that PostgreSQL creates in the folder. */
const SOCKET_FOLDER_BYTES_MAX = 107 - '/.s.PGSQL.5432.lock'.length
/** Recovery after a power cut replays the log: minutes on a slow disk, but then PostgreSQL says so in its own log. */
const START_PATIENCE_MS = 300_000
const POLL_MS = 10
/** Enough of PostgreSQL's last log lines to see why it died. */
const LAST_LINES_MAX = 30

/**
 * PostgreSQL's own cache, filled as it reads. The indexes of a million books are larger than the least of 64 MB: each page beyond it is copied from the
 * cache of the system again and again.
 */
function sharedBuffersMb(): number {
  const sixteenth = os.totalmem() / 16 / 1_048_576
  return Math.round(Math.min(256, Math.max(64, sixteenth)))
}

const SETTINGS: Record<string, string> = {
  listen_addresses: '',
  // Its folder is closed to others already.
  unix_socket_permissions: '0700',
  port: String(PORT),
  // Our statements are short; compiling them costs more than it saves.
  jit: 'off',
  shared_buffers: `${sharedBuffersMb()}MB`,
  // The pool of the server, that of the queue, and a few commands beside them.
  max_connections: '40',
  // The default of 1000 MB is much for a small disk.
  max_wal_size: '512MB',
  log_timezone: 'UTC',
  timezone: 'UTC',
}

export interface EmbeddedPostgres {
  /** Of Carrel's own database. */
  url: string
  urlOf(database: string): string
  pid: number
  /** Fast shutdown; resolves when it has ended. Later calls wait for the same end. */
  close(): Promise<void>
}

/** So that pg takes none of them from a variable of the environment (PGREPLICATION and its kind), which are about the databases of somebody else. */
const OWN_PARAMETERS = 'sslmode=disable&sslnegotiation=postgres&replication=false&client_encoding=UTF8'

/** Connection URL of a database behind a Unix socket. */
export function socketUrl(socketFolder: string, database: string, { role = ROLE, password = '' } = {}): string {
  return `postgresql://${role}${password && `:${password}`}@/${database}?host=${encodeURIComponent(socketFolder)}&port=${PORT}&${OWN_PARAMETERS}`
}

/** URL of the PostgreSQL that runs on the data folder now, with the password of this start, or null. */
export async function findRunningUrl(folder: string): Promise<string | null> {
  const found = await readPostmasterFile(path.join(folder, 'postgres'))
  const password = await readPassword(folder)
  return found?.ready && password !== null ? socketUrl(found.socketFolder, DATABASE, { password }) : null
}

interface EmbeddedPostgresOptions {
  folder: string
  log: Log
  onExit: (reason: string) => void
  settings?: Record<string, string>
  mayCreateDatabases?: boolean
}

/**
 * Starts an embedded PostgreSQL on `<folder>/postgres`, created if new, reachable only through a Unix socket. The caller must hold the
 * lock of the folder: a PostgreSQL that still runs on it counts as left over and is stopped.
 * @param options.settings more server settings, for tests
 * @param options.mayCreateDatabases whether anybody with the URL may create databases, for tests
 * @param options.onExit called when it ends without close()
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { folder, log } = options
  const cluster = path.join(folder, 'postgres')
  const runner = await findPostgresRunner(folder)
  await prepareCluster(folder, { cluster, runner, log })
  await allowPreparation(cluster, runner.owner)
  const password = await rotatePassword(folder)
  const socketFolder = await makeSocketFolder(folder, runner)
  const settings = { ...SETTINGS, unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`, ...options.settings }
  const args = ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const server = launchPostgres(runner, cluster, args)
  const lastLines = followOutput(server, log)

  let closing = false
  const ended = followEnd(server, () => removeSocketFolder(folder, socketFolder))
  await waitUntilReady({ cluster, server, ended, lastLines })
  const urlOf = (database: string) => socketUrl(socketFolder, database, { password })
  const close = async () => {
    closing = true
    if (server.exitCode === null && server.signalCode === null) await stopPostmaster(server.pid!)
    await ended
  }
  try {
    await prepareRole({
      cluster,
      owner: runner.owner,
      database: DATABASE,
      password,
      urlOf: (role, database) => socketUrl(socketFolder, database, role === ROLE ? { password } : { role }),
      mayCreateDatabases: options.mayCreateDatabases ?? false,
    })
  } catch (error) {
    await close()
    throw error
  }
  void ended.then((reason) => {
    if (!closing) options.onExit(`PostgreSQL has stopped: ${describeLastWords(cluster, lastLines(), reason)}`)
  })
  return { url: urlOf(DATABASE), urlOf, pid: server.pid!, close }
}

/** Stops what an earlier start left running, and creates the cluster if there is none. */
async function prepareCluster(
  folder: string,
  { cluster, runner, log }: { cluster: string; runner: PostgresRunner; log: Log },
): Promise<void> {
  const orphan = await stopOrphan(cluster)
  if (orphan !== null) log.warn({ pid: orphan }, 'Stopped the PostgreSQL that an earlier, killed start left running')
  const left = await readPostmasterFile(cluster)
  if (left) await removeSocketFolder(folder, left.socketFolder)
  if (!(await stat(path.join(cluster, 'PG_VERSION')).catch(() => null))) {
    log.info({}, 'Creating the database')
    await createCluster({ cluster, runner, log })
  }
  await checkOwner(cluster, runner)
}

/** Resolves with the reason why the server ended, after everything is cleaned up. */
async function followEnd(server: ChildProcess, clear: () => Promise<void>): Promise<string> {
  // Without this a process.exit() anywhere would leave the server running.
  const stopAtExit = () => server.kill('SIGINT')
  process.once('exit', stopAtExit)
  const reason = await new Promise<string>((resolve) => {
    server.once('error', (error) => resolve(`it could not be started: ${error.message}`))
    server.once('exit', (code, signal) => resolve(`it ended with ${signal ?? `code ${code}`}`))
  })
  process.off('exit', stopAtExit)
  await clear()
  return reason
}

/** Logs its output at level debug; keeps the last lines for the message when it dies. */
function followOutput(child: ChildProcess, log: Log): () => string[] {
  const lines: string[] = []
  let rest = ''
  const take = (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop()!.slice(-4096)
    for (const line of parts) {
      lines.push(line)
      if (lines.length > LAST_LINES_MAX) lines.shift()
      log.debug({ postgres: line }, 'PostgreSQL')
    }
  }
  child.stdout!.on('data', take)
  child.stderr!.on('data', take)
  return () => (rest ? [...lines, rest] : lines)
}

async function waitUntilReady(start: {
  cluster: string
  server: ChildProcess
  ended: Promise<string>
  lastLines: () => string[]
}): Promise<void> {
  let reason: string | null = null
  void start.ended.then((text) => {
    reason = text
  })
  const until = Date.now() + START_PATIENCE_MS
  while (Date.now() < until) {
    if (reason !== null) throw new StartProblem(`PostgreSQL did not start: ${describeLastWords(start.cluster, start.lastLines(), reason)}`)
    const found = await readPostmasterFile(start.cluster)
    if (found?.pid === start.server.pid && found?.ready) return
    await sleep(POLL_MS)
  }
  await stopPostmaster(start.server.pid!)
  throw new StartProblem(
    `PostgreSQL was not ready after ${START_PATIENCE_MS / 1000} s. ${describeLastWords(start.cluster, start.lastLines(), 'did not end')}`,
  )
}

/** Built in a temporary folder and renamed: a start that is killed half-way leaves no half database. */
async function createCluster({ cluster, runner, log }: { cluster: string; runner: PostgresRunner; log: Log }): Promise<void> {
  const half = `${cluster}.new`
  const fixed = ['-D', half, '-U', 'postgres', '-A', 'reject', '-E', 'UTF8', '--no-instructions']
  // Same order and letters on every machine, with any locales; natural order comes from ICU collations by name.
  const builtin = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--lc-collate=C', '--lc-messages=C']
  // In trigram search, the C library decides which characters are letters; not every machine has C.UTF-8, and C covers only ASCII.
  for (const letters of ['C.UTF-8', 'C']) {
    await rm(half, { recursive: true, force: true })
    await mkdir(half, { mode: 0o700 })
    if (runner.owner !== undefined) await chown(half, runner.owner, runner.owner)
    const child = launchProgram(runner, 'initdb', [...fixed, ...builtin, `--lc-ctype=${letters}`])
    const output: string[] = []
    child.stdout!.on('data', (chunk: Buffer) => output.push(chunk.toString()))
    child.stderr!.on('data', (chunk: Buffer) => output.push(chunk.toString()))
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (code === 0) {
      await rename(half, cluster)
      return
    }
    log.debug({ initdb: output.join('') }, 'initdb failed')
    if (letters === 'C')
      throw new StartProblem(
        `The database could not be created in ${cluster}. ${describeLastWords(cluster, output, `ended with code ${code}`)}`,
      )
  }
}

/** A folder may have been used by root earlier, or copied: PostgreSQL must own it. */
async function checkOwner(cluster: string, runner: PostgresRunner): Promise<void> {
  const version = (await readFile(path.join(cluster, 'PG_VERSION'), 'utf8')).trim()
  if (version !== '18')
    throw new StartProblem(
      `${cluster} was written by PostgreSQL ${version}; this version of Carrel includes 18. Dump it there and load it here.`,
    )
  const found = await stat(cluster)
  const us = process.getuid?.()
  if (runner.owner === undefined) {
    if (us !== undefined && found.uid !== us)
      throw new StartProblem(
        `${cluster} belongs to user ${found.uid}, but Carrel runs as user ${us}. Run it as that user, or: chown -R ${us} '${cluster}'`,
      )
    return
  }
  if (found.uid === runner.owner) return
  for (const entry of await readdir(cluster, { recursive: true })) await lchown(path.join(cluster, entry), runner.owner, runner.owner)
  await chown(cluster, runner.owner, runner.owner)
}

/** `<folder>/run`, or a private folder in the system's temporary folder when that path is too long for a socket. */
async function makeSocketFolder(folder: string, runner: PostgresRunner): Promise<string> {
  let socketFolder = path.join(folder, 'run')
  if (Buffer.byteLength(socketFolder) > SOCKET_FOLDER_BYTES_MAX) socketFolder = await mkdtemp(path.join(temporaryFolder(), 'carrel-'))
  else {
    await rm(socketFolder, { recursive: true, force: true })
    await mkdir(socketFolder, { mode: 0o700 })
  }
  if (runner.owner !== undefined) await chown(socketFolder, runner.owner, runner.owner)
  return socketFolder
}

/** TMPDIR itself may be a long path. */
function temporaryFolder(): string {
  return Buffer.byteLength(os.tmpdir()) + '/carrel-XXXXXX'.length <= SOCKET_FOLDER_BYTES_MAX ? os.tmpdir() : '/tmp'
}

/** Removes only a folder that {@link makeSocketFolder} created: the name in a pid file is not trusted any further. */
async function removeSocketFolder(folder: string, socketFolder: string): Promise<void> {
  const ours = socketFolder === path.join(folder, 'run') || /^carrel-[A-Za-z0-9]{6}$/.test(path.relative(temporaryFolder(), socketFolder))
  if (ours) await rm(socketFolder, { recursive: true, force: true })
}
