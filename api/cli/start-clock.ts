import { performance } from 'node:perf_hooks'

/** Durations of the steps of a start, in milliseconds, in order. */
type StartSplit = readonly { step: string; ms: number }[]

/** Measures the steps of a start, beginning with the start of the process. */
export class StartClock {
  readonly #steps: { step: string; ms: number }[] = []
  #since = 0

  /** @param step the first step, from the start of the process until now */
  constructor(step: string) {
    this.done(step)
  }

  done(step: string): void {
    const now = performance.now()
    this.#steps.push({ step, ms: Math.round(now - this.#since) })
    this.#since = now
  }

  split(): StartSplit {
    return this.#steps
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/** One line for the log. */
export function describeStart(split: StartSplit): string {
  const total = split.reduce((sum, { ms }) => sum + ms, 0)
  return `Started in ${seconds(total)} (${split.map(({ step, ms }) => `${step} ${seconds(ms)}`).join(', ')})`
}
