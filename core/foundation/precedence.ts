/** Urgent work of one kind often follows within this time. */
const PAUSE_MS = 50

/** Lets work wait while more urgent work runs, but never for long. */
export class Precedence {
  #urgent = 0
  #pause: NodeJS.Timeout | undefined
  readonly #waiting = new Set<() => void>()

  /** Runs urgent work. */
  async first<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#urgent++
    clearTimeout(this.#pause)
    this.#pause = undefined
    try {
      return await work()
    } finally {
      this.#urgent--
      if (this.#urgent === 0) this.#pause = setTimeout(() => this.#release(), PAUSE_MS).unref()
    }
  }

  /** Resolves when no urgent work runs, after `msMax`, or when the signal aborts. */
  async after(msMax: number, signal: AbortSignal): Promise<void> {
    if ((this.#urgent === 0 && this.#pause === undefined) || signal.aborted) return
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        this.#waiting.delete(end)
        resolve()
      }
      const timer = setTimeout(end, msMax)
      signal.addEventListener('abort', end, { once: true })
      this.#waiting.add(end)
    })
  }

  #release(): void {
    this.#pause = undefined
    for (const end of this.#waiting) end()
  }
}
