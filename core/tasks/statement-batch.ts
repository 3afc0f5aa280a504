/** Items per statement. */
const ITEMS_MAX = 500

interface Waiting<Item, Answer> {
  item: Item
  resolve(answer: Answer): void
  reject(error: unknown): void
}

interface BatchOptions<Item, Answer> {
  /** Returns the results in the order of the items. */
  run(items: readonly Item[]): Promise<readonly Answer[]>
  /** Receives each error; true retries the same items, false fails them with the error. */
  retries(error: unknown): Promise<boolean>
}

/** Runs one statement at a time; items that are added meanwhile go into the next one. */
export class StatementBatch<Item, Answer> {
  readonly #options: BatchOptions<Item, Answer>
  #waiting: Waiting<Item, Answer>[] = []
  #isBusy = false

  constructor(options: BatchOptions<Item, Answer>) {
    this.#options = options
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (!this.#isBusy) void this.#work()
    })
  }

  async #work(): Promise<void> {
    this.#isBusy = true
    // Items that are added in the same turn of the event loop go together.
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#runSome(this.#waiting.splice(0, ITEMS_MAX))
    this.#isBusy = false
  }

  async #runSome(some: readonly Waiting<Item, Answer>[]): Promise<void> {
    for (;;) {
      try {
        const answers = await this.#options.run(some.map(({ item }) => item))
        for (const [index, { resolve }] of some.entries()) resolve(answers[index] as Answer)
        return
      } catch (error) {
        if (isRefusedValue(error)) return await this.#refuse(some, error)
        if (await this.#options.retries(error)) continue
        for (const { reject } of some) reject(error)
        return
      }
    }
  }

  /** One value that the database rejects must not fail the other items. */
  async #refuse(some: readonly Waiting<Item, Answer>[], error: unknown): Promise<void> {
    if (some.length === 1) some[0]?.reject(error)
    else for (const one of some) await this.#runSome([one])
  }
}

/** PostgreSQL's class of data exceptions. */
const isRefusedValue = (error: unknown) => error instanceof Error && 'code' in error && String(error.code).startsWith('22')
