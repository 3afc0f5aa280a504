// @ts-check
// Last task of the launcher: PostgreSQL must not outlive its server. A shell that watches the server does the same; the launcher is the
// fallback if that shell was killed as well.
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The shell first requests a fast shutdown and escalates after 10 s, so it is done by then, or dead. */
const PATIENCE = /** @type {const} */ ([
  ['SIGINT', 20_000],
  ['SIGQUIT', 10_000],
])
const POLL_MS = 50

/** What the server reports to its launcher about the PostgreSQL that it has started. @typedef {{ pid: number, cluster: string }} DatabaseProcess */

/** @param {unknown} message from the server @returns {DatabaseProcess | null} */
export function readDatabaseMessage(message) {
  const database = /** @type {{ database?: { pid?: unknown, cluster?: unknown } } | null} */ (message)?.database
  if (typeof database?.pid !== 'number' || typeof database.cluster !== 'string') return null
  return { pid: database.pid, cluster: database.cluster }
}

/** Stops PostgreSQL if it still runs, and waits until it has ended. @param {DatabaseProcess | null} database */
export async function stopDatabase(database) {
  if (database === null) return
  for (const [signal, patienceMs] of PATIENCE) {
    if (!runs(database)) return
    try {
      process.kill(database.pid, signal)
    } catch {
      // It has just ended.
    }
    const until = Date.now() + patienceMs
    while (Date.now() < until) {
      if (!runs(database)) return
      await sleep(POLL_MS)
    }
  }
}

/** The working folder of PostgreSQL is its cluster; another process that reused its pid has another one. */
function runs(/** @type {DatabaseProcess} */ { pid, cluster }) {
  try {
    const [place, folder] = [fs.statSync(`/proc/${pid}/cwd`), fs.statSync(cluster)]
    return place.dev === folder.dev && place.ino === folder.ino
  } catch {
    return false
  }
}
