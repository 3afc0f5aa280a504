import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import type { Guest } from '#plugins/runtime/guest.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Budget, CallOptions, Program } from '#plugins/runtime/program.ts'
import { Supervisor, type SupervisorOptions } from '#plugins/runtime/supervisor.ts'

export const BUDGET: Budget = { cpuMs: 300, wallMs: 10_000 }
/** The data for the context of a plugin's function. */
export const MORE = JSON.stringify({ callId: 'a call', plugin: { id: 'org.example.test', version: '1.0.0' }, config: {}, userConfig: {} })

/** A plugin with the functions in the text, and `echo`. */
export function pluginProgram(functions: string, change: Partial<Program> = {}, before = ''): Program {
  const names = [
    'echo',
    'setup',
    ...[...functions.matchAll(/(?:^|,\s*|\n\s*)(?:async )?\*?(\w+)\s*(?=[:(])/g)].map(([, name]) => name as string),
  ]
  return {
    name: 'a test',
    place: 'test',
    sources: [{ name: 'test.js', code: `${before}\nexport default { echo: (x) => x, ${functions} }`, module: true }],
    memoryMbMax: 32,
    load: { cpuMs: 500, wallMs: 60_000 },
    resultLengthMax: 100_000,
    concurrency: 4,
    queueMax: 64,
    restMs: 0,
    plugin: { methods: [...new Set(names)], hostCalls: 100, inFlight: 8, logLines: 200, logLength: 65_536 },
    ...change,
  }
}

export interface OpenGuest {
  guest: Guest
  call(name: string, value?: unknown, budget?: Budget, options?: CallOptions): Promise<unknown>
  /** The error of the call; throws when the call succeeds. */
  fails(name: string, value?: unknown, budget?: Budget, options?: CallOptions): Promise<GuestError>
}

/** A supervisor that closes with the test, and guests in it. */
export function openGuests(t: Test, options: Partial<SupervisorOptions> = {}) {
  const supervisor = new Supervisor({ log: silentLog, ...options })
  t.teardown(() => supervisor.close())
  const open = (functions: string, change: Partial<Program> = {}, before = ''): OpenGuest => {
    const guest = supervisor.open(pluginProgram(functions, change, before))
    const call = async (name: string, value: unknown = null, budget = BUDGET, more: CallOptions = {}) =>
      JSON.parse((await guest.call(name, JSON.stringify(value), budget, { more: MORE, ...more })).text) as unknown
    return {
      guest,
      call,
      async fails(name, value, budget, more) {
        const outcome = await call(name, value, budget, more).catch((error: unknown) => error)
        if (!(outcome instanceof GuestError)) throw new Error(`${name} answered ${JSON.stringify(outcome)}`)
        return outcome
      },
    }
  }
  return { supervisor, open }
}

/** Child processes that run a runner, the oldest first. */
export function runnersOf(program = 'runner.mjs'): number[] {
  return childrenOf(process.pid)
    .filter((pid) => wordsOf(pid).includes(program))
    .map((pid) => (path.basename(wordsOf(pid).split('\0')[0] as string) === 'unshare' ? (childrenOf(pid)[0] ?? pid) : pid))
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(/\s+/).filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function wordsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

/** Polls until the condition is true. */
export async function eventually(holds: () => boolean, what: string, ms = 60_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`Timeout while waiting for ${what}`)
    await sleep(10)
  }
}

export type { Supervisor }
