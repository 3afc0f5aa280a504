import { readdirSync, readFileSync } from 'node:fs'
import { cpuOfChildren, cpuSeconds, memoryOf } from '#bench/memory.ts'
import type { RunningServer } from '#test/support/running-server.ts'

/** Linux reports CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** What a server and the machine have used so far. */
interface Usage {
  at: number
  /** Round trips to the database, by the beginning of the statement. */
  statements: Map<string, number>
  /** CPU seconds of the server's threads, by name; of threads that have ended, `ended`. */
  threads: Map<string, number>
  postgres: number
  /** CPU seconds of the whole machine. */
  machine: number
}

/** What was used in a part of a benchmark. */
export interface Used {
  seconds: number
  statements: number
  /** The most frequent first. */
  frequent: [text: string, count: number][]
  /** CPU seconds. */
  main: number
  threads: Record<string, number>
  server: number
  postgres: number
  /** CPU seconds of everything that does not belong to the benchmark. */
  others: number
}

/** @param server started with `bench/rescan/statements.ts` */
export async function usageOf(server: RunningServer): Promise<Usage> {
  const statements = await countStatements(server)
  const threads = threadSeconds(server.pid)
  const whole = cpuSeconds(server.pid)
  threads.set('ended', whole - [...threads.values()].reduce((sum, one) => sum + one, 0))
  return { at: performance.now(), statements, threads, postgres: cpuOfChildren(server.pid).postgres, machine: machineSeconds() }
}

export function usedBetween(before: Usage, after: Usage): Used {
  const difference = (from: Map<string, number>, to: Map<string, number>) =>
    [...to].map(([key, value]): [string, number] => [key, value - (from.get(key) ?? 0)]).sort((a, b) => b[1] - a[1])
  const frequent = difference(before.statements, after.statements)
  const threads = difference(before.threads, after.threads)
  const sum = (all: [string, number][]) => all.reduce((total, [, value]) => total + value, 0)
  const [server, postgres] = [sum(threads), after.postgres - before.postgres]
  return {
    seconds: (after.at - before.at) / 1000,
    statements: sum(frequent),
    frequent,
    main: threads.find(([name]) => name === 'main')?.[1] ?? 0,
    threads: Object.fromEntries(
      threads.filter(([, seconds]) => seconds >= 0.05).map(([name, seconds]) => [name, Number(seconds.toFixed(1))]),
    ),
    server,
    postgres,
    others: Math.max(0, after.machine - before.machine - server - postgres),
  }
}

/** Proportional memory of all processes of the server, and the resident memory of its own. */
export function memoryRow(pid: number): Record<string, number> {
  const { server, all, processes } = memoryOf(pid)
  return { 'server resident MB': server, 'all processes MB': all, processes }
}

async function countStatements(server: RunningServer): Promise<Map<string, number>> {
  return await new Promise((resolve) => {
    const receive = (message: { statements?: [string, number][] }) => {
      if (message.statements === undefined) return
      server.process.off('message', receive)
      resolve(new Map(message.statements))
    }
    server.process.on('message', receive)
    server.process.send('statements')
  })
}

function threadSeconds(pid: number): Map<string, number> {
  const seconds = new Map<string, number>()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    const end = stat.lastIndexOf(')')
    const name = Number(thread) === pid ? 'main' : stat.slice(stat.indexOf('(') + 1, end)
    const [user, system] = stat
      .slice(end + 2)
      .split(' ')
      .slice(11, 13)
    seconds.set(name, (seconds.get(name) ?? 0) + (Number(user) + Number(system)) / TICKS_PER_SECOND)
  }
  return seconds
}

/** Everything but idling and waiting for disks. */
function machineSeconds(): number {
  const [, user, nice, system, , , interrupts, soft, stolen] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] as string).split(/\s+/)
  return [user, nice, system, interrupts, soft, stolen].reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND
}
