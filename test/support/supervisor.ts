import tap from 'tap'
import type { Rules } from '#core/conditions/rules.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { Isolation } from '#plugins/runtime/placement.ts'
import { openSupervisor, type Supervisor } from '#plugins/runtime/supervisor.ts'
import { openRules } from '#plugins/templates/rules.ts'

const supervisors = new Map<Isolation, Supervisor>()

/**
 * The supervisor of this test file, for everything that does not look at runners themselves: a runner takes a quarter of a second to start.
 * @param isolation `grouped` where it does not matter who else is in a runner: then plugins have one for all of them
 */
export function findSupervisor(isolation: Isolation = 'strict'): Supervisor {
  const known = supervisors.get(isolation)
  if (known) return known
  const supervisor = openSupervisor({ log: silentLog, isolation, spare: false })
  supervisors.set(isolation, supervisor)
  tap.teardown(() => supervisor.close())
  return supervisor
}

let rules: Rules | undefined

/** The rules of this test file, in an isolate that starts when the first is evaluated. */
export function findRules(): Rules {
  rules ??= openRules(findSupervisor('grouped'))
  return rules
}
