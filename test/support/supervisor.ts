import tap from 'tap'
import { silentLog } from '#core/log.ts'
import { openSupervisor, type Supervisor } from '#plugins/isolate/supervisor.ts'

let supervisor: Supervisor | null = null

/** The supervisor of this test file, for everything that does not look at runners themselves: a runner takes a quarter of a second to start. */
export function findSupervisor(): Supervisor {
  if (supervisor !== null) return supervisor
  const opened = openSupervisor({ log: silentLog })
  tap.teardown(() => opened.close())
  supervisor = opened
  return opened
}
