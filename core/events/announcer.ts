import type { Knex } from 'knex'
import type { NewAnnouncement } from '#core/events/event.ts'
import { announce } from '#core/events/event-store.ts'
import type { Log } from '#core/foundation/log.ts'

/**
 * A commit that notifies waits for every other one that does, with the disk's time for each: analyses, which come by the hundred a second, are
 * announced together this long after the first of them.
 */
const COLLECT_MS = 200
const RETRY_MS = 1_000
/** What waits while the database is away; beyond it everybody is to read everything again. */
const WAITING_MAX = 5_000

/** Announces what happens often, some at a time and after it was committed. What it holds is lost when the process is killed. */
export interface Announcer {
  soon(news: readonly NewAnnouncement[]): void
  /** Announces what waits. */
  close(): Promise<void>
}

export function openAnnouncer({ database, log }: { database: Knex; log: Log }): Announcer {
  let waiting: NewAnnouncement[] = []
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> = Promise.resolve()
  let closed = false

  function add(news: readonly NewAnnouncement[]): void {
    waiting = waiting.length + news.length > WAITING_MAX ? [{ event: { type: 'reload' } }] : [...waiting, ...news]
  }

  function plan(ms: number): void {
    timer ??= setTimeout(() => {
      timer = undefined
      // One after the other: of two at once the later news could be told first.
      flushing = flushing.then(flush)
    }, ms)
  }

  async function flush(): Promise<void> {
    const news = waiting
    waiting = []
    if (news.length === 0) return
    try {
      await database.transaction((trx) => announce(trx, news))
    } catch (error) {
      log.warn({ err: error, count: news.length }, 'Events could not be announced; they are tried again')
      const later = waiting
      waiting = []
      add(news)
      add(later)
      if (!closed) plan(RETRY_MS)
    }
  }

  return {
    soon(news) {
      if (news.length === 0) return
      add(news)
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

/** For tools and tests that nobody follows. */
export const silentAnnouncer: Announcer = { soon() {}, async close() {} }
