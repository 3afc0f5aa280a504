import type { AnalysisEnd } from '#core/analysis/book-store.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'

/** What arrives within this time is written together; a user who waits for one book does not notice it. */
const COLLECT_MS = 50
/** While others are on their way: forty comics a second then share two transactions instead of thirty, each of which takes some ms of both processes. */
const COLLECT_OF_MANY_MS = 500
/** Books of one transaction: their rows stay locked while it runs, some milliseconds each hundred. */
const ITEMS_MAX = 64
/** Of the connections, most remain for requests. */
const BATCHES_MAX = 3
const ALONE_MAX = 3
/** Rows that others hold now are usually free in the next batch. */
const TRIES_MAX = 3

interface BatchOptions<Item> {
  /** Writes items in one transaction that waits for no row of them; rejects when nothing was written. `busy` items are tried again, `alone` ones written alone. */
  together(items: readonly Item[]): Promise<AnalysisEnd[]>
  /** Writes one item in a transaction of its own, which waits. */
  alone(item: Item): Promise<AnalysisEnd>
  /** Items with the same key are never in one batch. */
  keyOf(item: Item): string
  /** The cost of an item. A batch costs at most `costMax`, unless it is a single item. */
  costOf(item: Item): number
  costMax: number
  /** So many do not wait for more. */
  enough: number
  /** Whether items are on their way. */
  isMoreComing?(): boolean
}

interface Waiting<Item> {
  item: Item
  at: number
  tries: number
  resolve(end: AnalysisEnd): void
  reject(error: unknown): void
}

/** Collects what ends at about the same time. An item that fails with others, or whose rows others hold, is written alone: none fails because of another. */
export class AnalysisBatches<Item> {
  readonly #options: BatchOptions<Item>
  readonly #lonely = new Semaphore(ALONE_MAX)
  #waiting: Waiting<Item>[] = []
  #timer: NodeJS.Timeout | undefined
  #running = 0

  constructor(options: BatchOptions<Item>) {
    this.#options = options
  }

  add(item: Item): Promise<AnalysisEnd> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, at: performance.now(), tries: 0, resolve, reject })
      this.#plan()
    })
  }

  #plan(): void {
    clearTimeout(this.#timer)
    const [first] = this.#waiting
    if (first === undefined || this.#running >= BATCHES_MAX) return
    const { enough, isMoreComing } = this.#options
    const collectMs = this.#waiting.length >= enough ? 0 : isMoreComing?.() ? COLLECT_OF_MANY_MS : COLLECT_MS
    this.#timer = setTimeout(() => void this.#runSome(), Math.max(0, first.at + collectMs - performance.now()))
  }

  async #runSome(): Promise<void> {
    const some = this.#take()
    this.#running++
    this.#plan()
    await this.#write(some)
    this.#running--
    // What waited for this batch begins now.
    this.#plan()
  }

  #take(): Waiting<Item>[] {
    const { keyOf, costOf, costMax } = this.#options
    const keys = new Set<string>()
    const some: Waiting<Item>[] = []
    let cost = 0
    this.#waiting = this.#waiting.filter((one) => {
      const fits = some.length < ITEMS_MAX && !keys.has(keyOf(one.item)) && (some.length === 0 || cost + costOf(one.item) <= costMax)
      if (!fits) return true
      keys.add(keyOf(one.item))
      cost += costOf(one.item)
      some.push(one)
      return false
    })
    return some
  }

  async #write(some: readonly Waiting<Item>[]): Promise<void> {
    try {
      const ends = await this.#options.together(some.map(({ item }) => item))
      for (const [index, one] of some.entries()) this.#settle(one, ends[index] as AnalysisEnd)
    } catch {
      // Each is written alone, and the one that cannot be written says why.
      for (const one of some) this.#writeAlone(one)
    }
  }

  #settle(one: Waiting<Item>, end: AnalysisEnd): void {
    const tries = one.tries + 1
    if (end.kind === 'alone' || (end.kind === 'busy' && tries === TRIES_MAX)) this.#writeAlone(one)
    else if (end.kind === 'busy') this.#waiting.push({ ...one, tries, at: performance.now() })
    else one.resolve(end)
  }

  /** The next batch does not wait for it. */
  #writeAlone({ item, resolve, reject }: Waiting<Item>): void {
    this.#lonely.run(() => this.#options.alone(item)).then(resolve, reject)
  }
}
