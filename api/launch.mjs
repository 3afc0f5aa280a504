#!/usr/bin/env node
// @ts-check
// Starts a program of this repository on a machine that has only Node 20 and npm: installs the packages if they do not match
// the lock file, and runs the program on the pinned Node. Plain JavaScript, because it runs before anything is installed.
//   node api/launch.mjs [--dev] [program] [arguments…]
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { fillCompileCache } from './compile-cache.mjs'
import { STALLED_EXIT_CODE, STALLED_SIGNAL } from './exit-codes.mjs'
import { NODE_FLAGS, tunedEnvironment } from './node-tuning.mjs'
import { restartPauseMs } from './restart-pause.mjs'
import { readDatabaseMessage, stopDatabase } from './stop-database.mjs'

const OLDEST_NODE = 20
/** Node runs the TypeScript files directly from this version on. */
const NEEDED_NODE = 24
/** npm without a cache takes minutes over a slow connection; after this time the other launch must hang. */
const OTHER_INSTALL_PATIENCE_MS = 15 * 60_000
const SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP'])
const PARENT_POLL_MS = 500

/** A signal that arrived while no program ran. @type {NodeJS.Signals | null} */
let signaled = null

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const modules = path.join(root, 'node_modules')
const stampFile = path.join(modules, '.carrel-installed.json')
const installLock = path.join(root, '.cache', 'install.lock')

const argv = process.argv.slice(2)
const dev = argv[0] === '--dev'
if (dev) argv.shift()

endWithParent()
try {
  await main()
} catch (error) {
  fail(error instanceof Error ? error.message : String(error))
}

async function main() {
  if (major(process.versions.node) < OLDEST_NODE)
    fail(`Node ${process.versions.node} is too old. Install Node ${NEEDED_NODE} or newer (${OLDEST_NODE} is enough on Linux).`)
  if (!isInstalled()) await install()
  await run(findProgram())
}

/**
 * Under npm the launcher ends when npm, or the shell that npm uses, ends: npm forwards only two signals, and only to that shell, so
 * nothing else would stop it.
 */
function endWithParent() {
  if (process.env['npm_lifecycle_event'] === undefined) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, PARENT_POLL_MS).unref()
}

/** The first argument if it is a file of the repository; otherwise the server with all arguments. */
function findProgram() {
  const first = argv[0]
  if (first !== undefined && !first.startsWith('-')) {
    const file = path.resolve(root, first)
    if (fs.statSync(file, { throwIfNoEntry: false })?.isFile()) {
      argv.shift()
      return file
    }
    if (/\.(ts|mjs|js)$/.test(first)) fail(`There is no program ${first} in ${root}.`)
  }
  return path.join(root, 'api', 'main.ts')
}

/** Whether node_modules matches the lock file, by a stamp or, if npm was run manually, by npm's own record. */
function isInstalled() {
  const lock = hashOf(path.join(root, 'package-lock.json'))
  const record = hashOf(path.join(modules, '.package-lock.json'))
  if (lock === null) fail(`${path.join(root, 'package-lock.json')} is missing: the checkout is incomplete. Clone it again.`)
  if (record === null) return false
  const stamp = readJson(stampFile)
  if (stamp?.lock === lock && stamp.record === record && (stamp.dev || !dev)) return true
  const missing = listMissing()
  if (missing.required.length > 0 || (dev && missing.dev.length > 0)) return false
  writeStamp(missing.dev.length === 0)
  return true
}

/** Packages of the lock file that node_modules lacks or has in another version. */
function listMissing() {
  const wanted = readJson(path.join(root, 'package-lock.json'))?.packages ?? {}
  const present = readJson(path.join(modules, '.package-lock.json'))?.packages ?? {}
  const missing = { required: /** @type {string[]} */ ([]), dev: /** @type {string[]} */ ([]) }
  for (const [place, entry] of Object.entries(wanted)) {
    // Entries outside of node_modules are folders of this repository.
    if (!place.startsWith('node_modules/') || (present[place] && present[place].version === entry.version)) continue
    // Optional packages are for other machines, unless they match this one.
    if (
      (entry.optional || entry.devOptional) &&
      !(entry.os?.includes(process.platform) && entry.cpu?.includes(process.arch) && !entry.libc)
    )
      continue
    if (entry.dev) missing.dev.push(place)
    else missing.required.push(place)
  }
  return missing
}

function writeStamp(/** @type {boolean} */ withDev) {
  const stamp = {
    lock: hashOf(path.join(root, 'package-lock.json')),
    record: hashOf(path.join(modules, '.package-lock.json')),
    dev: withDev,
  }
  try {
    fs.writeFileSync(stampFile, JSON.stringify(stamp))
  } catch {
    // A read-only installation is checked by npm's record at every start instead.
  }
}

async function install() {
  await takeInstallLock()
  try {
    // Another launch may have installed while this one waited.
    if (isInstalled()) return
    const count = Object.keys(readJson(path.join(root, 'package-lock.json'))?.packages ?? {}).length
    process.stderr.write(`Installing up to ${count} packages (npm ci in ${root}); this happens once and may take a minute …\n`)
    const started = Date.now()
    const code = await npm(['ci', '--no-audit', '--no-fund', '--loglevel=error', ...(dev ? ['--include=dev'] : [])])
    if (code !== 0) fail(`npm ci failed (exit ${code}); see its output above. Solve that problem, then start again.`)
    const missing = listMissing()
    if (missing.required.length > 0)
      fail(`npm ci left out ${missing.required.slice(0, 5).join(', ')}. Run "npm ci" in ${root} without --omit=optional, then start again.`)
    writeStamp(missing.dev.length === 0)
    process.stderr.write(`Installed in ${Math.round((Date.now() - started) / 1000)} s.\n`)
  } finally {
    fs.rmSync(installLock, { force: true })
  }
}

/** One launch installs, others wait: npm ci deletes node_modules first. */
async function takeInstallLock() {
  const mine = `${installLock}.${process.pid}`
  const until = Date.now() + OTHER_INSTALL_PATIENCE_MS
  let isReported = false
  fs.mkdirSync(path.dirname(installLock), { recursive: true })
  fs.writeFileSync(mine, String(process.pid))
  try {
    while (Date.now() < until) {
      try {
        fs.linkSync(mine, installLock)
        return
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
      }
      if (!dropDeadLock() && !isReported) {
        process.stderr.write('Another start is installing the packages; waiting for it …\n')
        isReported = true
      }
      await sleep(100)
    }
  } finally {
    fs.rmSync(mine, { force: true })
  }
  fail(`Another start seems to have been installing for a long time. If there is none, delete ${installLock} and start again.`)
}

/** Removes the lock of a dead launch; true if it did. It renames first, so that only one of two launches succeeds. */
function dropDeadLock() {
  if (isAlive(readPid(installLock))) return false
  const aside = `${installLock}.dead.${process.pid}`
  try {
    fs.renameSync(installLock, aside)
    // Between the check and the rename another launch may have taken the lock.
    if (isAlive(readPid(aside))) fs.linkSync(aside, installLock)
    fs.rmSync(aside, { force: true })
  } catch {
    return false
  }
  return true
}

function readPid(/** @type {string} */ file) {
  try {
    return Number(fs.readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}

function isAlive(/** @type {number} */ pid) {
  // 0: the file has disappeared, which the next iteration notices.
  if (!Number.isInteger(pid) || pid <= 0) return pid === 0
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}

/** Runs the npm that started this process, else the one on PATH. Its output goes to stderr: stdout belongs to the program. */
function npm(/** @type {string[]} */ args) {
  const cli = process.env['npm_execpath']
  const own = cli !== undefined && /npm-cli\.[cm]?js$/.test(cli) && fs.existsSync(cli)
  return new Promise((resolve, reject) => {
    const child = spawn(own ? process.execPath : 'npm', own ? [cli, ...args] : args, { cwd: root, stdio: ['ignore', 2, 2] })
    child.once('error', (error) =>
      reject(new Error(`npm could not be run (${error.message}). Install npm, or run "npm ci" in ${root} yourself.`)),
    )
    child.once('exit', (code, signal) => resolve(code ?? signal))
    for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  })
}

/** Runs the program and ends as it ends. Restarts only the server, if its watchdog ended it because it was blocked. */
async function run(/** @type {string} */ program) {
  const isServer = program === path.join(root, 'api', 'main.ts')
  if (isServer && isToServe()) {
    // This signal came during the installation, which is over now.
    for (const signal of SIGNALS) process.removeAllListeners(signal)
    await fillCompileCache({ root, node: findNode().node, flags: NODE_FLAGS, environment: environment() })
  }
  for (let pauseMs = 0; ; ) {
    const began = Date.now()
    const { code, signal } = await runOnce(program)
    if (signal !== null) endBy(signal)
    if (code !== STALLED_EXIT_CODE || !isServer) process.exit(code ?? 1)
    pauseMs = restartPauseMs(pauseMs, Date.now() - began)
    process.stderr.write(
      `The server was blocked and has been ended; see above for what it was doing. It restarts in ${pauseMs / 1000} s.\n`,
    )
    await pause(pauseMs)
  }
}

/** Waits. A signal, earlier or during the pause, ends the launcher, since no program is running. */
async function pause(/** @type {number} */ ms) {
  const until = Date.now() + ms
  do {
    if (signaled !== null) endBy(signaled)
    await sleep(Math.min(100, ms))
  } while (Date.now() < until)
}

/** @returns {never} */
function endBy(/** @type {NodeJS.Signals} */ signal) {
  for (const each of SIGNALS) process.removeAllListeners(each)
  process.kill(process.pid, signal)
  // The signal ends the process before the next line, unless it is blocked.
  process.exit(1)
}

/**
 * Runs the program on the pinned Node, forwards signals, and stops a PostgreSQL that the program left running.
 * @returns {Promise<{ code: number | null, signal: NodeJS.Signals | null }>}
 */
async function runOnce(/** @type {string} */ program, own = false) {
  const { node, usePinned } = findNode(own)
  if (!usePinned && major(process.versions.node) < NEEDED_NODE)
    fail(
      `Carrel needs Node ${NEEDED_NODE}; this is ${process.versions.node}, and none could be installed for ${process.platform}-${process.arch}. Install Node ${NEEDED_NODE}.`,
    )

  for (const signal of SIGNALS) process.removeAllListeners(signal)
  // Through the channel the program notices that the launcher was killed, and the server reports its database.
  const child = spawn(node, [...NODE_FLAGS, program, ...argv], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: environment(),
  })
  for (const signal of SIGNALS)
    process.on(signal, () => {
      // Also for a program that is blocked and cannot follow it: its watchdog ends it, and then it must not be restarted.
      signaled = signal
      child.kill(signal)
    })
  /** @type {import('./stop-database.mjs').DatabaseProcess | null} */
  let database = null
  child.on('message', (message) => {
    database = readDatabaseMessage(message) ?? database
  })
  const ended = await new Promise((resolve) => {
    child.once('error', (error) => resolve({ error }))
    child.once('exit', (code, signal) => resolve(signal === STALLED_SIGNAL ? { code: STALLED_EXIT_CODE, signal: null } : { code, signal }))
  })
  if (ended.error === undefined) {
    await stopDatabase(database)
    return ended
  }
  // A pinned Node for another C library fails as if the file were missing.
  if (usePinned && child.pid === undefined) return await runOnce(program, true)
  fail(`${program} could not be run: ${ended.error.message}`)
}

/** The pinned Node if there is one, unless the caller wants its own. */
function findNode(own = false) {
  const pinned = path.join(modules, '.bin', 'node')
  const usePinned = !own && fs.existsSync(pinned)
  return { node: usePinned ? pinned : process.execPath, usePinned }
}

/** Whether this starts the server: without a command, or with folders only. Commands end too soon for the cache. */
function isToServe() {
  const [first = 'serve'] = argv
  const isInformation = argv.some((each) => ['--help', '-h', '--version'].includes(each))
  return !isInformation && (first === 'serve' || first.startsWith('-') || /[/\\.]/.test(first))
}

function environment() {
  return { ...tunedEnvironment(process.env), NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? compileCache() }
}

function compileCache() {
  const folder = path.join(root, '.cache', 'compile')
  try {
    fs.mkdirSync(folder, { recursive: true })
    fs.accessSync(folder, fs.constants.W_OK)
    return folder
  } catch {
    return path.join(os.tmpdir(), `carrel-compile-${process.getuid?.() ?? 0}`)
  }
}

function hashOf(/** @type {string} */ file) {
  try {
    return createHash('sha256').update(fs.readFileSync(file)).digest('hex')
  } catch {
    return null
  }
}

function readJson(/** @type {string} */ file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

function major(/** @type {string} */ version) {
  return Number(version.split('.')[0])
}

/** @returns {never} */
function fail(/** @type {string} */ message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
