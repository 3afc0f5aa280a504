import type { Knex } from 'knex'
import type { Test } from 'tap'
import { eventAudience } from '#core/account/event-audience-query.ts'
import type { CarrelEvent } from '#core/events/event.ts'
import { Events } from '#core/events/follow.ts'
import type { Follower } from '#core/events/stream.ts'
import { silentLog } from '#core/foundation/log.ts'
import { until } from '#test/support/library-fixture.ts'

/** The events that each follower receives from now on, without their times. */
export async function receiveEvents(t: Test, database: Knex, followers: readonly Follower[]): Promise<Omit<CarrelEvent, 'timestamp'>[][]> {
  const events = new Events({ database, log: silentLog, audience: eventAudience(database) })
  t.teardown(() => events.close())
  const begun = new Set<Follower>()
  const received = followers.map((follower) => {
    const mine: Omit<CarrelEvent, 'timestamp'>[] = []
    events.follow(follower, { after: null }).start({
      take(delivery) {
        begun.add(follower)
        for (const { event } of delivery) {
          if (event === null) continue
          const { timestamp: _, ...rest } = event
          mine.push(rest)
        }
        return true
      },
      end() {},
    })
    return mine
  })
  await until(() => begun.size === followers.length)
  return received
}
