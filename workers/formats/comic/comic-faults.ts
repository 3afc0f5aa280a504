import type { Problem } from '#core/metadata/analysis.ts'
import { BookFault } from '../../fault.ts'
import { NAMES_IN_PROBLEM_MAX } from '../../limits.ts'

/** Collects the problems of single pages, so that one bad page does not fail the whole book. */
export class PageFaults {
  readonly #names: readonly string[]
  readonly #faults = new Map<number, BookFault>()

  constructor(names: readonly string[]) {
    this.#names = names
  }

  has(index: number): boolean {
    return this.#faults.has(index)
  }

  add(index: number, fault: BookFault): void {
    if (!this.#faults.has(index)) this.#faults.set(index, fault)
  }

  get(index: number): BookFault | undefined {
    return this.#faults.get(index)
  }

  /** Whether every page is bad. */
  get all(): boolean {
    return this.#faults.size === this.#names.length
  }

  /** Runs `look` for a page; records a {@link BookFault} and returns null. */
  watch<Result>(index: number, look: () => Result): Result | null {
    try {
      return look()
    } catch (error) {
      if (!(error instanceof BookFault)) throw error
      this.add(index, error)
      return null
    }
  }

  /** One problem for all bad pages: fatal when every page is bad; null when none is. */
  problem(): Problem | null {
    const [first] = [...this.#faults.keys()].sort((a, b) => a - b)
    if (first === undefined) return null
    const fault = this.#faults.get(first)!
    const count = this.#faults.size
    const total = this.#names.length
    const details = { ...fault.problem.details, count, pages: this.#listed() }
    if (this.all) {
      // Encryption and compression methods apply to the whole archive, and the message says so; else count pages.
      const whole = fault.problem.details?.encrypted === true || fault.problem.details?.method !== undefined || total === 1
      const message = whole ? fault.message : `None of the ${total} pages can be shown as a picture. The first: ${fault.message}`
      return { type: 'page_extraction', message, details, fatal: true }
    }
    const message = count === 1 ? fault.message : `${count} of ${total} pages cannot be shown. The first: ${fault.message}`
    return { type: 'page_extraction', message, details, fatal: false }
  }

  #listed(): { page: number; name: string; reason: string }[] {
    return [...this.#faults]
      .sort(([a], [b]) => a - b)
      .slice(0, NAMES_IN_PROBLEM_MAX)
      .map(([index, fault]) => ({ page: index + 1, name: this.#names[index]!, reason: fault.message }))
  }
}
