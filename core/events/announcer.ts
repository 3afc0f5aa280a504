import type { Knex } from 'knex'
import type { NewAnnouncement } from '#core/events/event.ts'
import { announce } from '#core/events/event-store.ts'
import type { Log } from '#core/foundation/log.ts'

/**
 * Commits with notifications run one after the other, and each waits for the disk. Analyses cause hundreds of events per second, so such events are
 * announced together, this long after the first of them.
 */
const COLLECT_MS = 200
const RETRY_MS = 1_000
/** Events that wait while the database is unreachable; beyond this number, clients must reload everything. */
const WAITING_MAX = 5_000

/** Announces frequent events in batches, after their commit. Waiting events are lost when the process is killed. */
export interface Announcer {
  soon(announcements: readonly NewAnnouncement[]): void
  /** Announces the waiting events. */
  close(): Promise<void>
}

export function openAnnouncer({ database, log }: { database: Knex; log: Log }): Announcer {
  let waiting: NewAnnouncement[] = []
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> = Promise.resolve()
  let closed = false

  function add(announcements: readonly NewAnnouncement[]): void {
    waiting = waiting.length + announcements.length > WAITING_MAX ? [{ event: { type: 'reload' } }] : [...waiting, ...announcements]
  }

  function plan(ms: number): void {
    timer ??= setTimeout(() => {
      timer = undefined
      // One batch after the other: otherwise a later event could be sent first.
      flushing = flushing.then(flush)
    }, ms)
  }

  async function flush(): Promise<void> {
    const announcements = waiting
    waiting = []
    if (announcements.length === 0) return
    try {
      await database.transaction((trx) => announce(trx, announcements))
    } catch (error) {
      log.warn({ err: error, count: announcements.length }, 'Could not announce events; the server tries again')
      const later = waiting
      waiting = []
      add(announcements)
      add(later)
      if (!closed) plan(RETRY_MS)
    }
  }

  return {
    soon(announcements) {
      if (announcements.length === 0) return
      add(announcements)
      if (!closed) plan(COLLECT_MS)
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await flushing
      await flush()
    },
  }
}

/** For tools and tests without followers. */
export const silentAnnouncer: Announcer = { soon() {}, async close() {} }
