import { Register } from '#core/foundation/register.ts'

/** The entry for names beyond the limit. */
export const OTHER = 'other'
const NAME_LENGTH_MAX = 100

/** Counts by name, for a limited number of names: names that plugins choose, such as hosts, must not fill the memory. */
export class Counts {
  readonly #counts = new Register<number>()
  readonly #namesMax: number

  constructor(namesMax: number) {
    this.#namesMax = namesMax
  }

  add(name: string): void {
    const short = name.slice(0, NAME_LENGTH_MAX)
    const known = this.#counts.has(short) || this.#counts.size < this.#namesMax - 1 ? short : OTHER
    this.#counts.set(known, (this.#counts.get(known) ?? 0) + 1)
  }

  toRecord(): Record<string, number> {
    return Object.fromEntries(this.#counts)
  }
}

export interface Percentiles {
  p50: number
  p95: number
  p99: number
  max: number
}

/** Enough that the 99th percentile is not the maximum, and few enough to be recent. */
export const MEASUREMENTS_KEPT = 512

/**
 * The last measurements of something, for exact percentiles of how it is now; 4 KB. A histogram of `node:perf_hooks` forgets nothing, and takes 25 KB for
 * two figures and 260 KB for three; a plugin has up to 96.
 */
export class Measurements {
  readonly #ring = new Float64Array(MEASUREMENTS_KEPT)
  #added = 0

  add(value: number): void {
    // Numbers of runners are not trusted: invalid and negative ones are ignored.
    if (!(value >= 0 && value < Number.POSITIVE_INFINITY)) return
    this.#ring[this.#added % MEASUREMENTS_KEPT] = value
    this.#added += 1
  }

  /** Of the stored measurements, by nearest rank; null before the first. */
  percentiles(): Percentiles | null {
    if (this.#added === 0) return null
    const sorted = this.#ring.slice(0, Math.min(this.#added, MEASUREMENTS_KEPT)).sort()
    const at = (percent: number): number => sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] as number
    return { p50: at(50), p95: at(95), p99: at(99), max: sorted.at(-1) as number }
  }
}
