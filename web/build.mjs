// @ts-check
// Builds the web interface into a folder that does not exist yet: node web/build.mjs FOLDER
// The server runs it in the background when the sources have changed. Plain JavaScript, because it runs before anything is installed here.
// Writes what it does to stdout ("installing", "building"), and why it failed to stderr.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** The server and PostgreSQL go first; 19 would starve on a machine that analyzes books for hours. */
const NICENESS = 10
/** Measured: the build needs 395 MB; without a limit Node takes what a large machine has. */
const HEAP_MB_MAX = 512
/** The newest and the one before, whose files open pages still ask for. */
const BUILDS_KEPT = 2
/** As api/web/build.ts names them; nothing else beside the folder is touched. */
const BUILD_NAME = /^[0-9a-f]{24}$/
/** npm without a cache takes minutes over a slow connection. */
const OTHER_BUILD_PATIENCE_MS = 15 * 60_000
const LOCK_POLL_MS = 200
/** The first lines of a failed program say what failed; they are shown to people. */
const OUTPUT_LENGTH_MAX = 4_000

const root = path.dirname(fileURLToPath(import.meta.url))
const folder = path.resolve(process.argv[2] ?? fail('Usage: node web/build.mjs FOLDER'))
const builds = path.dirname(folder)
const lock = path.join(builds, 'build.lock')
/** The tools of a build come from strangers: they get no password of the database, no key and no path of the server. */
const withoutSettings = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:CARREL|PG|DATABASE)/i.test(name)))

os.setPriority(NICENESS)
fs.mkdirSync(builds, { recursive: true })
await takeLock()
try {
  if (!fs.existsSync(folder)) await build()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
} finally {
  fs.rmSync(lock, { force: true })
}

async function build() {
  if (!isInstalled()) {
    process.stdout.write('installing\n')
    await install()
  }
  process.stdout.write('building\n')
  // Renamed when it is complete, so that a folder of this name contains all of it.
  const unfinished = `${folder}.${process.pid}`
  try {
    const vite = path.join(root, 'node_modules', 'vite', 'bin', 'vite.js')
    await run(process.execPath, [`--max-old-space-size=${HEAP_MB_MAX}`, vite, 'build', '--outDir', unfinished, '--logLevel', 'warn'])
    fs.renameSync(unfinished, folder)
  } finally {
    fs.rmSync(unfinished, { recursive: true, force: true })
  }
  removeOldBuilds()
}

/** Whether node_modules has every package of the lock file that this machine needs, in its version. */
function isInstalled() {
  const wanted = readJson(path.join(root, 'package-lock.json'))?.packages ?? {}
  const present = readJson(path.join(root, 'node_modules', '.package-lock.json'))?.packages ?? {}
  return Object.entries(wanted).every(
    ([place, entry]) => place === '' || entry.dev || entry.optional || present[place]?.version === entry.version,
  )
}

/** npm of the program that started this one, else the one on PATH. None of the packages needs its scripts. */
async function install() {
  const cli = process.env['npm_execpath']
  const own = cli !== undefined && /npm-cli\.[cm]?js$/.test(cli) && fs.existsSync(cli)
  const words = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await run(own ? process.execPath : 'npm', own ? [cli, ...words] : words)
}

/** @throws with the first lines that the program wrote */
function run(/** @type {string} */ program, /** @type {string[]} */ words) {
  return /** @type {Promise<void>} */ (
    new Promise((resolve, reject) => {
      const child = spawn(program, words, { cwd: root, env: { ...withoutSettings, NO_COLOR: '1' }, stdio: ['ignore', 'pipe', 'pipe'] })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          output = (output + chunk).slice(0, OUTPUT_LENGTH_MAX)
        })
      child.once('error', reject)
      child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(output.trim() || `${program} ended with code ${code}`))))
      for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) process.once(signal, () => child.kill(signal))
    })
  )
}

/** One process builds, others wait: npm deletes node_modules first. */
async function takeLock() {
  const mine = `${lock}.${process.pid}`
  fs.writeFileSync(mine, String(process.pid))
  try {
    for (const until = Date.now() + OTHER_BUILD_PATIENCE_MS; Date.now() < until; await sleep(LOCK_POLL_MS)) {
      try {
        fs.linkSync(mine, lock)
        return
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
      }
      dropDeadLock()
    }
  } finally {
    fs.rmSync(mine, { force: true })
  }
  fail(`Another process seems to have been building for a long time. If there is none, delete ${lock} and start again.`)
}

/** Removes the lock of a dead process. It renames first, so that only one of two processes succeeds. */
function dropDeadLock() {
  const aside = `${lock}.dead.${process.pid}`
  try {
    if (isAlive(Number(fs.readFileSync(lock, 'utf8')))) return
    fs.renameSync(lock, aside)
    // Between the check and the rename another process may have taken the lock.
    if (isAlive(Number(fs.readFileSync(aside, 'utf8')))) fs.linkSync(aside, lock)
    fs.rmSync(aside, { force: true })
  } catch {
    // The lock has disappeared, which the next try notices.
  }
}

function isAlive(/** @type {number} */ pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}

function removeOldBuilds() {
  const found = fs
    .readdirSync(builds, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && BUILD_NAME.test(entry.name))
    .map((entry) => path.join(builds, entry.name))
    .sort((a, b) => fs.statSync(b).mtimeMs - fs.statSync(a).mtimeMs)
  for (const old of found.slice(BUILDS_KEPT)) fs.rmSync(old, { recursive: true, force: true })
}

function readJson(/** @type {string} */ file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

/** @returns {never} */
function fail(/** @type {string} */ message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
