import { Register } from '#core/foundation/register.ts'

/** Leaves the semaphore; only the first call counts. */
export type Leave = () => void

/** What enters a semaphore. */
interface Entry {
  /** Whose entry it is, if each has a limit: a user, a file, a plugin. */
  key?: string
  /** How much of the total it takes, such as bytes; 1 by default. */
  weight?: number
}

interface Waiting extends Required<Entry> {
  admit: (leave: Leave) => void
}

/**
 * Lets in as much work at a time as its total, and of each key no more than the limit of a key. The others wait in order of arrival: who waits for the
 * total is overtaken by nobody, and who waits for their own key only by others.
 */
export class Semaphore {
  readonly #total: number
  readonly #perKey: number
  #used = 0
  /** Objects, because setting a key again copies it. */
  readonly #usedOf = new Register<{ weight: number }>()
  readonly #waiting = new Set<Waiting>()

  constructor(total: number, perKey = Number.POSITIVE_INFINITY) {
    this.#total = total
    this.#perKey = perKey
  }

  /** The weight of all that are inside. */
  get running(): number {
    return this.#used
  }

  /** How many callers wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** How many callers wait with this key. */
  waitingOf(key: string): number {
    let count = 0
    for (const one of this.#waiting) if (one.key === key) count++
    return count
  }

  /** Enters without waiting, or returns null. */
  tryEnter({ key = '', weight = 1 }: Entry = {}): Leave | null {
    for (const one of this.#waiting) if (one.key === key || this.#fitsKey(one)) return null
    return this.#fitsKey({ key, weight }) && this.#fitsTotal(weight) ? this.#enter({ key, weight }) : null
  }

  /** Waits until it may enter. Rejects with the signal's reason if the signal aborts in the meantime. */
  async enter(signal?: AbortSignal, { key = '', weight = 1 }: Entry = {}): Promise<Leave> {
    signal?.throwIfAborted()
    return this.tryEnter({ key, weight }) ?? (await this.#wait({ key, weight }, signal))
  }

  /** Runs `work` inside; `work` may call `leave` before it ends. Rejects like {@link enter}. */
  async run<Result>(work: (leave: Leave) => Promise<Result>, signal?: AbortSignal, entry?: Entry): Promise<Result> {
    const leave = await this.enter(signal, entry)
    try {
      return await work(leave)
    } finally {
      leave()
    }
  }

  #wait(entry: Required<Entry>, signal: AbortSignal | undefined): Promise<Leave> {
    return new Promise((resolve, reject) => {
      const admit = (leave: Leave) => {
        signal?.removeEventListener('abort', giveUp)
        resolve(leave)
      }
      const waiting = { ...entry, admit }
      const giveUp = () => {
        this.#waiting.delete(waiting)
        reject(signal?.reason)
        // Those behind may have waited for this one alone.
        this.#admit()
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#waiting.add(waiting)
    })
  }

  #fitsTotal(weight: number): boolean {
    return this.#used + weight <= this.#total
  }

  #fitsKey({ key, weight }: Required<Entry>): boolean {
    return this.#perKey === Number.POSITIVE_INFINITY || (this.#usedOf.get(key)?.weight ?? 0) + weight <= this.#perKey
  }

  #enter({ key, weight }: Required<Entry>): Leave {
    this.#use(key, weight)
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      this.#use(key, -weight)
      this.#admit()
    }
  }

  #use(key: string, weight: number): void {
    this.#used += weight
    if (this.#perKey === Number.POSITIVE_INFINITY) return
    const used = this.#usedOf.get(key)
    if (used === undefined) this.#usedOf.set(key, { weight })
    else if (used.weight + weight === 0) this.#usedOf.delete(key)
    else used.weight += weight
  }

  #admit(): void {
    const passedOver = new Set<string>()
    for (const one of this.#waiting) {
      if (passedOver.has(one.key)) continue
      if (!this.#fitsKey(one)) passedOver.add(one.key)
      else if (!this.#fitsTotal(one.weight)) return
      else {
        this.#waiting.delete(one)
        one.admit(this.#enter(one))
      }
    }
  }
}
