import { readdirSync, readFileSync } from 'node:fs'

/** Memory of a server and of the processes that it started, in MB. */
export interface Memory {
  /** Resident, of the server's own process. */
  server: number
  /**
   * Proportional (Pss), of the others: memory that they share counts once. PostgreSQL, and the processes that draw pages and run plugins.
   */
  postgres: number
  children: number
  /** Proportional, of all together. */
  all: number
  processes: number
}

/** Measures now. @param pid of the server */
export function memoryOf(pid: number): Memory {
  const others = descendantsOf(pid)
  const sum = (pids: readonly number[]) => pids.reduce((total, one) => total + kilobytes(`/proc/${one}/smaps_rollup`, 'Pss'), 0) / 1024
  const postgres = sum(others.filter(isPostgres))
  const children = sum(others.filter((one) => !isPostgres(one)))
  return {
    server: Math.round(kilobytes(`/proc/${pid}/status`, 'VmRSS') / 1024),
    postgres: Math.round(postgres),
    children: Math.round(children),
    all: Math.round(sum([pid]) + postgres + children),
    processes: others.length + 1,
  }
}

/** One line for the output of a benchmark. @param peakMb of the server's own process */
export function memoryLine(peakMb: number, now: Memory): string {
  return `memory: server ${peakMb.toFixed(0)} MB at its peak; at the end server ${now.server}, PostgreSQL ${now.postgres}, other children ${now.children}, all ${now.processes} processes ${now.all} MB`
}

function descendantsOf(pid: number): number[] {
  const parents = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = Number(statOf(name)[1])
    parents.set(parent, [...(parents.get(parent) ?? []), Number(name)])
  }
  const below = (one: number): number[] => (parents.get(one) ?? []).flatMap((child) => [child, ...below(child)])
  return below(pid)
}

/** The fields of `/proc/PID/stat` from the state on: the name before them may contain spaces. */
function statOf(pid: number | string): string[] {
  const stat = readIfThere(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Linux reports CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** CPU time of a process in seconds; with `ofEnded`, of its children that have ended. */
export function cpuSeconds(pid: number | 'self', { ofEnded = false } = {}): number {
  const stat = statOf(pid)
  const [user, system] = ofEnded ? [stat[13], stat[14]] : [stat[11], stat[12]]
  return (Number(user ?? 0) + Number(system ?? 0)) / TICKS_PER_SECOND
}

/** CPU time in seconds of the processes that a server has started, and of their children that have ended. */
export function cpuOfChildren(pid: number): { postgres: number; others: number } {
  const used = { postgres: 0, others: cpuSeconds(pid, { ofEnded: true }) }
  for (const one of descendantsOf(pid))
    used[isPostgres(one) ? 'postgres' : 'others'] += cpuSeconds(one) + cpuSeconds(one, { ofEnded: true })
  return used
}

const isPostgres = (pid: number) => readIfThere(`/proc/${pid}/comm`).startsWith('postgres')

const kilobytes = (file: string, label: string) => Number(new RegExp(`^${label}:\\s+(\\d+)`, 'm').exec(readIfThere(file))?.[1] ?? 0)

/** Empty for a process that has ended. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
