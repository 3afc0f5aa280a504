import { stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#core/foundation/log.ts'

const LOOK_EVERY_MS = 2_000
/** A sleeping disk answers faster; a disconnected network file system never answers. */
const ANSWER_MS = 10_000
const NO_ANSWER = 'does not answer'
/** Failed checks in a row: a process that was delayed itself may take its own delay for one of the folder, once. */
const FAILED_CHECKS = 2

interface DataFolderWatch {
  /** The problem with the folder, or null; at most some seconds old. */
  problem(): string | null
  close(): void
}

/** Notices when the data folder of the running server is renamed, deleted, emptied or replaced, and when it returns. */
export async function watchDataFolder(folder: string, log: Log, { lookEveryMs = LOOK_EVERY_MS } = {}): Promise<DataFolderWatch> {
  const { dev, ino } = await stat(folder)
  let problem: string | null = null
  let looking = false
  const look = async () => {
    if (looking) return
    looking = true
    const answer = inspect(folder, { dev, ino })
    let found: string | null = NO_ANSWER
    for (let failed = 0; failed < FAILED_CHECKS && found === NO_ANSWER; failed++)
      found = await Promise.race([answer, sleep(ANSWER_MS, NO_ANSWER, { ref: false })])
    looking = false
    if (found === problem) return
    problem = found
    if (found === null) log.warn({ folder }, `The data folder ${folder} is back`)
    else if (found === NO_ANSWER)
      log.error(
        { folder },
        `The data folder ${folder} ${found}: data that the server writes now may be lost. Check its disk; the server checks the folder again by itself.`,
      )
    else
      log.error({ folder }, `The data folder ${folder} ${found}: data that the server writes now is lost. Put it back, or stop the server.`)
  }
  const timer = setInterval(() => void look(), lookEveryMs).unref()
  return { problem: () => problem, close: () => clearInterval(timer) }
}

async function inspect(folder: string, before: { dev: number; ino: number }): Promise<string | null> {
  try {
    const found = await stat(folder)
    if (found.dev !== before.dev || found.ino !== before.ino) return 'is not the same folder as at the start'
    // The lock of this process, which nothing else removes.
    await stat(path.join(folder, 'carrel.lock'))
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') return `cannot be read (${code})`
    return (await stat(folder).catch(() => null)) ? 'was emptied' : 'was renamed or deleted'
  }
}
