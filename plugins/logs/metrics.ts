import { Register } from '#core/foundation/register.ts'
import { Counts, Measurements, OTHER, type Percentiles } from '#plugins/logs/counts.ts'

export interface MethodMetrics {
  method: string
  calls: number
  succeeded: number
  failed: number
  /** By code. */
  errors: Record<string, number>
  meanWallMs: number
  /** Of the last 512 calls. */
  wallMs: Percentiles | null
  cpuMs: Percentiles | null
  queueMs: Percentiles | null
  /** Total characters. */
  inputLength: number
  resultLength: number
}

interface HostMetrics {
  host: string
  /** By status, or by error code when there was none. */
  outcomes: Record<string, number>
  bytes: number
  cacheHits: number
  /** Number and duration of waits for the rate limit. */
  waits: number
  waitedMs: number
}

/** Metrics of one plugin. */
export interface Numbers {
  running: number
  calls: number
  succeeded: number
  failed: number
  errors: Record<string, number>
  meanWallMs: number
  methods: MethodMetrics[]
  hostCalls: Record<string, number>
  hosts: HostMetrics[]
  cacheHits: number
  rateLimitWaits: number
  rateLimitWaitedMs: number
}

export interface Counted {
  code: string
  cpuMs: number
  wallMs: number
  queueMs: number
  inputLength: number
  resultLength: number
}

/** More than a manifest has methods or hosts, failures have codes, or the server has kinds; names beyond it share one entry. */
const METHODS_MAX = 32
const CODES_MAX = 32
const KINDS_MAX = 32
const HOSTS_MAX = 32

interface MethodCounts {
  calls: number
  succeeded: number
  errors: Counts
  wallTotalMs: number
  wallMs: Measurements
  cpuMs: Measurements
  queueMs: Measurements
  inputLength: number
  resultLength: number
}

interface HostCounts {
  outcomes: Counts
  bytes: number
  cacheHits: number
  waits: number
  waitedMs: number
}

/** A number from a runner or a clock, safe to add. */
const positive = (value: number): number => (value > 0 && value < Number.POSITIVE_INFINITY ? value : 0)

/** The entry of a name; beyond the limit, the shared entry of all others. */
function entryOf<Entry>(map: Map<string, Entry>, name: string, max: number, make: () => Entry): Entry {
  const known = map.has(name) || map.size < max - 1 ? name : OTHER
  const entry = map.get(known) ?? make()
  map.set(known, entry)
  return entry
}

const newMethod = (): MethodCounts => ({
  calls: 0,
  succeeded: 0,
  errors: new Counts(CODES_MAX),
  wallTotalMs: 0,
  inputLength: 0,
  resultLength: 0,
  wallMs: new Measurements(),
  cpuMs: new Measurements(),
  queueMs: new Measurements(),
})
const newHost = (): HostCounts => ({ outcomes: new Counts(CODES_MAX), bytes: 0, cacheHits: 0, waits: 0, waitedMs: 0 })

export class Metrics {
  readonly #methods = new Register<MethodCounts>()
  readonly #hosts = new Register<HostCounts>()
  readonly #hostCalls = new Counts(KINDS_MAX)
  readonly #errors = new Counts(CODES_MAX)
  #running = 0

  began(): void {
    this.#running += 1
  }

  ended(method: string, { code, cpuMs, wallMs, queueMs, inputLength, resultLength }: Counted): void {
    this.#running -= 1
    const counts = entryOf(this.#methods, method, METHODS_MAX, newMethod)
    counts.calls += 1
    if (code === 'ok') counts.succeeded += 1
    else {
      counts.errors.add(code)
      this.#errors.add(code)
    }
    counts.wallMs.add(wallMs)
    // The CPU time of an aborted call may be unknown.
    if (code === 'ok' || cpuMs > 0) counts.cpuMs.add(cpuMs)
    if (code === 'ok' || queueMs > 0) counts.queueMs.add(queueMs)
    counts.wallTotalMs += positive(wallMs)
    counts.inputLength += positive(inputLength)
    counts.resultLength += positive(resultLength)
  }

  hostCall(kind: string): void {
    this.#hostCalls.add(kind)
  }

  fetched(request: { host: string; outcome: string; bytes: number; cached: boolean; waitedMs: number }): void {
    const { host, outcome, bytes, cached, waitedMs } = request
    const counts = entryOf(this.#hosts, host, HOSTS_MAX, newHost)
    counts.outcomes.add(outcome)
    counts.bytes += positive(bytes)
    if (cached) counts.cacheHits += 1
    if (positive(waitedMs) > 0) {
      counts.waits += 1
      counts.waitedMs += waitedMs
    }
  }

  isRunning(): boolean {
    return this.#running > 0
  }

  read(): Numbers {
    const calls = sum(this.#methods.values(), (one) => one.calls)
    const succeeded = sum(this.#methods.values(), (one) => one.succeeded)
    return {
      running: this.#running,
      calls,
      succeeded,
      failed: calls - succeeded,
      errors: this.#errors.toRecord(),
      meanWallMs: calls === 0 ? 0 : sum(this.#methods.values(), (one) => one.wallTotalMs) / calls,
      methods: [...this.#methods].map(([method, one]) => ({
        method,
        calls: one.calls,
        succeeded: one.succeeded,
        failed: one.calls - one.succeeded,
        errors: one.errors.toRecord(),
        meanWallMs: one.wallTotalMs / one.calls,
        wallMs: one.wallMs.percentiles(),
        cpuMs: one.cpuMs.percentiles(),
        queueMs: one.queueMs.percentiles(),
        inputLength: one.inputLength,
        resultLength: one.resultLength,
      })),
      hostCalls: this.#hostCalls.toRecord(),
      hosts: [...this.#hosts].map(([host, { outcomes, ...rest }]) => ({ host, outcomes: outcomes.toRecord(), ...rest })),
      cacheHits: sum(this.#hosts.values(), (one) => one.cacheHits),
      rateLimitWaits: sum(this.#hosts.values(), (one) => one.waits),
      rateLimitWaitedMs: sum(this.#hosts.values(), (one) => one.waitedMs),
    }
  }
}

function sum<Entry>(entries: Iterable<Entry>, of: (entry: Entry) => number): number {
  let total = 0
  for (const entry of entries) total += of(entry)
  return total
}
