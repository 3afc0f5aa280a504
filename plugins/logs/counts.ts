import { Register } from '#core/foundation/register.ts'

/** Counts by name, for a limited number of names: names that plugins choose, such as hosts, must not fill the memory. */
export interface Counts {
  add(name: string, count?: number): void
  total(): number
  toRecord(): Record<string, number>
}

/** The entry for names beyond the limit. */
export const OTHER = 'other'
const NAME_LENGTH_MAX = 100

export function openCounts(namesMax: number): Counts {
  const counts = new Register<number>()
  let total = 0
  return {
    add(name, count = 1) {
      const short = name.slice(0, NAME_LENGTH_MAX)
      const known = counts.has(short) || counts.size < namesMax - 1 ? short : OTHER
      counts.set(known, (counts.get(known) ?? 0) + count)
      total += count
    },
    total: () => total,
    toRecord: () => Object.fromEntries(counts),
  }
}

export interface Percentiles {
  p50: number
  p95: number
  p99: number
  max: number
}

/**
 * The last measurements of something, for exact percentiles of how it is now; 4 KB. A histogram of `node:perf_hooks` forgets nothing, and takes 25 KB for
 * two figures and 260 KB for three; a plugin has up to 96.
 */
export interface Measurements {
  add(value: number): void
  /** The number of stored measurements. */
  count(): number
  /** Of the stored measurements, by nearest rank; null before the first. */
  percentiles(): Percentiles | null
}

/** Enough that the 99th percentile is not the maximum, and few enough to be recent. */
export const MEASUREMENTS_KEPT = 512

export function openMeasurements(): Measurements {
  const ring = new Float64Array(MEASUREMENTS_KEPT)
  let added = 0
  const kept = () => Math.min(added, MEASUREMENTS_KEPT)
  return {
    add(value) {
      // Numbers of runners are not trusted: invalid and negative ones are ignored.
      if (!(value >= 0 && value < Number.POSITIVE_INFINITY)) return
      ring[added % MEASUREMENTS_KEPT] = value
      added += 1
    },
    count: kept,
    percentiles() {
      if (added === 0) return null
      const sorted = ring.slice(0, kept()).sort()
      const at = (percent: number): number => sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] as number
      return { p50: at(50), p95: at(95), p99: at(99), max: sorted.at(-1) as number }
    },
  }
}
