import { Semaphore } from '#core/foundation/semaphore.ts'

/** What arrives within this time is written together; a user who waits for one book does not notice it. */
const COLLECT_MS = 50
/** While others are on their way: forty comics a second then share two transactions instead of thirty, each of which takes some ms of both processes. */
const COLLECT_OF_MANY_MS = 500
/** So many do not wait for more: six hundred small books a second are as many within 50 ms. */
const ENOUGH = 32
/** Books of one transaction: their rows stay locked while it runs, some milliseconds each hundred. */
const ITEMS_MAX = 64
/** The next transaction begins beside one that has waited this long: an edit of a user may hold one of its rows for seconds. */
const PATIENCE_MS = 250
/** Of the connections, most remain for requests. */
const BATCHES_MAX = 3
const ALONE_MAX = 3
/** Rows that others hold now are usually free in the next batch. */
const TRIES_MAX = 3

/** `busy`: another transaction holds its rows; `alone`: it needs a transaction of its own. */
export type Together<Answer> = { answer: Answer } | 'busy' | 'alone'

interface BatchOptions<Item, Answer> {
  /** Writes items in one transaction that waits for no row of them; rejects when nothing was written. */
  together(items: readonly Item[]): Promise<Together<Answer>[]>
  /** Writes one item in a transaction of its own, which waits. */
  alone(item: Item): Promise<Answer>
  /** Items with the same key are never in one batch. */
  keyOf(item: Item): string
  /** The cost of an item. A batch costs at most `costMax`, unless it is a single item. */
  costOf(item: Item): number
  costMax: number
  /** Whether items are on their way. */
  isMoreComing?(): boolean
}

interface Waiting<Item, Answer> {
  item: Item
  at: number
  tries: number
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** Collects what ends at about the same time. An item that fails with others, or whose rows others hold, is written alone: none fails because of another. */
export class AnalysisBatches<Item, Answer> {
  readonly #options: BatchOptions<Item, Answer>
  readonly #lonely = new Semaphore(ALONE_MAX)
  #waiting: Waiting<Item, Answer>[] = []
  #timer: NodeJS.Timeout | null = null
  #running = 0
  #begunAt = 0

  constructor(options: BatchOptions<Item, Answer>) {
    this.#options = options
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, at: performance.now(), tries: 0, resolve, reject })
      this.#planAnew()
    })
  }

  #plan(): void {
    const [first] = this.#waiting
    if (this.#timer !== null || first === undefined || this.#running >= BATCHES_MAX) return
    const collectMs = this.#waiting.length >= ENOUGH ? 0 : this.#options.isMoreComing?.() ? COLLECT_OF_MANY_MS : COLLECT_MS
    const due = Math.max(first.at + collectMs, this.#running === 0 ? 0 : this.#begunAt + PATIENCE_MS)
    this.#timer = setTimeout(
      () => {
        this.#timer = null
        void this.#runSome()
      },
      Math.max(0, due - performance.now()),
    )
  }

  async #runSome(): Promise<void> {
    const some = this.#take()
    this.#running++
    this.#begunAt = performance.now()
    this.#plan()
    await this.#write(some)
    this.#running--
    // What waited for this batch begins now.
    this.#planAnew()
  }

  #planAnew(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#plan()
  }

  #take(): Waiting<Item, Answer>[] {
    const { keyOf, costOf, costMax } = this.#options
    const keys = new Set<string>()
    const some: Waiting<Item, Answer>[] = []
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

  async #write(some: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#options.together(some.map(({ item }) => item))
      for (const [index, one] of some.entries()) this.#settle(one, answers[index] as Together<Answer>)
    } catch {
      // Each is written alone, and the one that cannot be written says why.
      for (const one of some) this.#writeAlone(one)
    }
  }

  #settle(one: Waiting<Item, Answer>, answer: Together<Answer>): void {
    const tries = one.tries + 1
    if (typeof answer === 'object') one.resolve(answer.answer)
    else if (answer === 'alone' || tries === TRIES_MAX) this.#writeAlone(one)
    else this.#waiting.push({ ...one, tries, at: performance.now() })
  }

  /** The next batch does not wait for it. */
  #writeAlone({ item, resolve, reject }: Waiting<Item, Answer>): void {
    this.#lonely.run(() => this.#options.alone(item)).then(resolve, reject)
  }
}
