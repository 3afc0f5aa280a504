import tap from 'tap'
import type { Rules } from '#core/conditions/rules.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { Isolation } from '#plugins/runtime/placement.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openRules } from '#plugins/templates/rules.ts'

const supervisors = new Map<Isolation, Supervisor>()

/**
 * The supervisor of this test file, for tests that do not examine runners: starting a runner takes a quarter of a second.
 * @param isolation `grouped` when tests may share a runner: then all plugins have the same one
 */
export function findSupervisor(isolation: Isolation = 'strict'): Supervisor {
  const known = supervisors.get(isolation)
  if (known) return known
  const supervisor = new Supervisor({ log: silentLog, isolation, spare: false })
  supervisors.set(isolation, supervisor)
  tap.teardown(() => supervisor.close())
  return supervisor
}

let rules: Rules | undefined

/** The rules of this test file, in an isolate that starts with the first evaluation. */
export function findRules(): Rules {
  rules ??= openRules(findSupervisor('grouped'))
  return rules
}
