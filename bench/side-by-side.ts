import { loadavg } from 'node:os'
import { median } from '#bench/load.ts'
import type { ClientLoad, LoadClient, Target } from '#bench/load-client.ts'
import { cpuSeconds } from '#bench/memory.ts'

export const SIDES = ['bare', 'carrel'] as const
type Side = (typeof SIDES)[number]

/** The lowest of it that counts: fewer rounds show no spread. */
export const ROUNDS_MIN = 5

/** Results of both sides in interleaved rounds, so that other load of the machine affects both. */
interface Comparison {
  /** Medians, for `console.table`. */
  rows: Record<string, Record<string, number>>
  /** Median of the ratios of the rounds. */
  ratio: number
  /** The ratio with its spread, and the client with the cores that it used. */
  notes: string
  failures: number
}

interface LoadedSide extends Target {
  /** Of the server, whose CPU time per answer does not depend on the load of the machine. */
  pid: number
}

/** Loads both sides in turn. The first round, which fills caches, is shorter and does not count. */
export async function compareLoads(
  client: LoadClient,
  sides: Record<Side, LoadedSide>,
  options: { rounds: number; seconds: number; connections: number; answers: string },
): Promise<Comparison> {
  const runs: Record<Side, (ClientLoad & { cpuMs: number })[]> = { bare: [], carrel: [] }
  for (let round = -1; round < options.rounds; round++)
    for (const side of SIDES) {
      const before = cpuSeconds(sides[side].pid)
      const load = await client.load(sides[side], { connections: options.connections, seconds: round < 0 ? 1 : options.seconds })
      const cpuMs = ((cpuSeconds(sides[side].pid) - before) * 1000) / (load.requestsPerSecond * options.seconds)
      if (round >= 0) runs[side].push({ ...load, cpuMs })
    }
  const all = [...runs.bare, ...runs.carrel]
  const { ratio, note } = ratioOf(
    runs.carrel.map(({ requestsPerSecond }) => requestsPerSecond),
    runs.bare.map(({ requestsPerSecond }) => requestsPerSecond),
  )
  const cores = all.map(({ clientCores }) => clientCores)
  return {
    rows: Object.fromEntries(SIDES.map((side) => [side, rowOf(runs[side], options.answers)])),
    ratio,
    notes: `${note}; client: ${client.name}, ${median(cores).toFixed(2)} cores (at most ${Math.max(...cores).toFixed(2)})`,
    failures: all.reduce((sum, { failures }) => sum + failures, 0),
  }
}

const rowOf = (runs: readonly (ClientLoad & { cpuMs: number })[], answers: string) => {
  const middle = (figure: (run: ClientLoad & { cpuMs: number }) => number) => median(runs.map(figure))
  return {
    [`${answers}/s`]: Math.round(middle(({ requestsPerSecond }) => requestsPerSecond)),
    'MB/s': Math.round(middle(({ bytesPerSecond }) => bytesPerSecond) / 1e6),
    'p50 ms': rounded(middle(({ p50Ms }) => p50Ms)),
    'p99 ms': rounded(middle(({ p99Ms }) => p99Ms)),
    'CPU ms each': rounded(middle(({ cpuMs }) => cpuMs)),
    failures: runs.reduce((sum, { failures }) => sum + failures, 0),
  }
}

/** The median of the ratios of rounds, and its spread in words. */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): { ratio: number; note: string } {
  const ratios = ours.map((value, round) => value / (theirs[round] as number)).sort((a, b) => a - b)
  const ratio = median(ratios)
  return {
    ratio,
    note: `ratio ${rounded(ratio)}, spread ${rounded(ratios[0] ?? 0)} to ${rounded(ratios.at(-1) ?? 0)} in ${ratios.length} rounds`,
  }
}

/** Of the last minute, five and fifteen: above the number of busy processes of a benchmark, others are at work. */
export const machineLoad = (): string =>
  `load of the machine: ${loadavg()
    .map((load) => load.toFixed(2))
    .join(', ')}`

const rounded = (value: number): number => Math.round(value * 1000) / 1000
