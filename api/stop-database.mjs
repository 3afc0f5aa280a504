// The last duty of the launcher: no PostgreSQL outlives the server it belonged to. Its own watching shell does the same; where that was
// killed as well, the launcher is left.
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The watching shell asks for a fast shutdown first and goes further after 10 s; it is done by then, or gone. */
const PATIENCE = /** @type {const} */ ([
  ['SIGINT', 20_000],
  ['SIGQUIT', 10_000],
])
const POLL_MS = 50

/** What the server tells its launcher of the PostgreSQL that it has started. @typedef {{ pid: number, cluster: string }} DatabaseProcess */

/** @param {unknown} message what came from the server @returns {DatabaseProcess | null} */
export function readDatabaseMessage(message) {
  const told = /** @type {{ database?: { pid?: unknown, cluster?: unknown } } | null} */ (message)?.database
  if (typeof told?.pid !== 'number' || typeof told.cluster !== 'string') return null
  return { pid: told.pid, cluster: told.cluster }
}

/** Ends it when it still runs, and waits for that. @param {DatabaseProcess | null} database */
export async function stopDatabase(database) {
  if (database === null) return
  for (const [signal, patienceMs] of PATIENCE) {
    if (!runs(database)) return
    try {
      process.kill(database.pid, signal)
    } catch {
      // It has ended at this moment.
    }
    const until = Date.now() + patienceMs
    while (Date.now() < until) {
      if (!runs(database)) return
      await sleep(POLL_MS)
    }
  }
}

/** PostgreSQL stands in its cluster; another process that was given its number does not. */
function runs(/** @type {DatabaseProcess} */ { pid, cluster }) {
  try {
    const [place, folder] = [fs.statSync(`/proc/${pid}/cwd`), fs.statSync(cluster)]
    return place.dev === folder.dev && place.ino === folder.ino
  } catch {
    return false
  }
}
