import tap from 'tap'
import type { Rules } from '#core/conditions/rules.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { Guest } from '#plugins/runtime/guest.ts'
import type { Program } from '#plugins/runtime/program.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openRules } from '#plugins/templates/rules.ts'

/** That of all tests of a process together, whose isolates may stay. */
const RESIDENT_MB_MAX = 1_024

/**
 * Runs all programs in one runner, but for those with a debugger: to start one takes a quarter of a second of a core. Ends with its process, not with a
 * server that has it.
 */
class SharedSupervisor extends Supervisor {
  override open(program: Program): Guest {
    return super.open(program.inspect ? program : { ...program, place: 'tests', alone: false })
  }

  override close(): void {}

  end(): void {
    super.close()
  }
}

let supervisor: SharedSupervisor | undefined

/** The supervisor of this process, for tests that do not examine runners. */
export function findSupervisor(): Supervisor {
  if (supervisor) return supervisor
  const opened = new SharedSupervisor({ log: silentLog, spare: false, residentMbMax: RESIDENT_MB_MAX })
  tap.teardown(() => opened.end())
  supervisor = opened
  return opened
}

let rules: Rules | undefined

/** The rules of this test file, in an isolate that starts with the first evaluation. */
export function findRules(): Rules {
  rules ??= openRules(findSupervisor())
  return rules
}
