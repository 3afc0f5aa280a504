// @ts-check
// Fills Node's compile cache before the server starts, if its code has changed. Plain JavaScript, for the launcher and benchmarks.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

/** The folders with code of the server. */
const FOLDERS = ['api', 'core', 'migrations', 'plugins', 'workers']
/** Loads all code; see there. */
const LOADER = path.join('api', 'load-all.mjs')
/** It takes 3 s, on slow machines ten times as much. Without the cache the server only uses more memory. */
const PATIENCE_MS = 60_000

/**
 * Loads the code of the server in another process if the cache is out of date. Removing types loads Node's compiler, which stays in the
 * memory of the process: 25 MB that the server would otherwise use after its first start. Never fails.
 * @param {{ root: string, node: string, flags: readonly string[], environment: NodeJS.ProcessEnv, patienceMs?: number }} options
 *   `environment` must have NODE_COMPILE_CACHE, else nothing happens
 * @returns {Promise<boolean>} whether code was loaded
 */
export async function fillCompileCache({ root, node, flags, environment, patienceMs = PATIENCE_MS }) {
  const folder = environment['NODE_COMPILE_CACHE']
  const loader = path.join(root, LOADER)
  if (!folder || environment['NODE_DISABLE_COMPILE_CACHE'] || !fs.existsSync(loader)) return false
  try {
    const stamp = path.join(folder, 'filled')
    const key = keyOf(root, [node, ...flags])
    if (readText(stamp) === key) return false
    fs.mkdirSync(folder, { recursive: true })
    if (await load(node, [...flags, loader], { env: environment, timeout: patienceMs })) fs.writeFileSync(stamp, key)
    return true
  } catch {
    // The folder is not writable, or files disappeared while they were read.
    return false
  }
}

/** Changes with every file of the code. */
function keyOf(/** @type {string} */ root, /** @type {readonly string[]} */ more) {
  const hash = createHash('sha256').update(JSON.stringify([root, process.getuid?.() ?? null, ...more]))
  for (const folder of FOLDERS) {
    const names = fs.readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).sort()
    for (const name of names.filter((each) => /\.(ts|mjs)$/.test(each))) {
      const { size, mtimeMs } = fs.statSync(path.join(root, folder, name))
      hash.update(`${folder}/${name} ${size} ${mtimeMs}\n`)
    }
  }
  return hash.digest('hex')
}

/** @returns {Promise<boolean>} whether it completed */
function load(
  /** @type {string} */ node,
  /** @type {string[]} */ args,
  /** @type {{ env: NodeJS.ProcessEnv, timeout: number }} */ options,
) {
  return new Promise((resolve) => {
    const child = spawn(node, args, { ...options, stdio: 'ignore', killSignal: 'SIGKILL' })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}

function readText(/** @type {string} */ file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
