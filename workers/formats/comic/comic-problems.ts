import type { Problem } from '#core/fields/analysis.ts'
import { BookProblem } from '../../book-problem.ts'
import { NAMES_IN_PROBLEM_MAX } from '../../limits.ts'

/** Collects the problems of single pages, so that one bad page does not fail the whole book. */
export class PageProblems {
  readonly #names: readonly string[]
  readonly #problems = new Map<number, BookProblem>()

  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** The problems of some of the pages, numbered as these. */
  ofPages(indexes: readonly number[]): PageProblems {
    const some = new PageProblems(indexes.map((index) => this.#names[index]!))
    for (const [place, index] of indexes.entries()) {
      const problem = this.#problems.get(index)
      if (problem) some.add(place, problem)
    }
    return some
  }

  has(index: number): boolean {
    return this.#problems.has(index)
  }

  add(index: number, problem: BookProblem): void {
    if (!this.#problems.has(index)) this.#problems.set(index, problem)
  }

  get(index: number): BookProblem | undefined {
    return this.#problems.get(index)
  }

  /** Whether every page is bad. */
  get all(): boolean {
    return this.#problems.size === this.#names.length
  }

  /** Runs `look` for a page; records a {@link BookProblem} and returns null. */
  watch<Result>(index: number, look: () => Result): Result | null {
    try {
      return look()
    } catch (error) {
      if (!(error instanceof BookProblem)) throw error
      this.add(index, error)
      return null
    }
  }

  /** One problem for all bad pages: fatal when every page is bad; null when none is. */
  problem(): Problem | null {
    const [first] = [...this.#problems.keys()].sort((a, b) => a - b)
    if (first === undefined) return null
    const problem = this.#problems.get(first)!
    const count = this.#problems.size
    const total = this.#names.length
    const details = { ...problem.problem.details, count, pages: this.#listed() }
    if (this.all) {
      // Encryption and compression methods apply to the whole archive, and the message says so; else count pages.
      const whole = problem.problem.details?.encrypted === true || problem.problem.details?.method !== undefined || total === 1
      const message = whole ? problem.message : `None of the ${total} pages can be shown as a picture. The first: ${problem.message}`
      return { type: 'page_extraction', message, details, fatal: true }
    }
    const message = count === 1 ? problem.message : `${count} of ${total} pages cannot be shown. The first: ${problem.message}`
    return { type: 'page_extraction', message, details, fatal: false }
  }

  #listed(): { page: number; name: string; reason: string }[] {
    return [...this.#problems]
      .sort(([a], [b]) => a - b)
      .slice(0, NAMES_IN_PROBLEM_MAX)
      .map(([index, problem]) => ({ page: index + 1, name: this.#names[index]!, reason: problem.message }))
  }
}
