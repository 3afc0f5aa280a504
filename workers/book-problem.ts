import type { BookErrorType, Problem } from '#core/fields/analysis.ts'

/**
 * A book, or a part of it, that cannot be read. It is thrown and caught inside one thread and leaves it as its `problem`,
 * because an Error loses its class when it is sent to another thread.
 */
export class BookProblem extends Error {
  readonly problem: Problem

  constructor(type: BookErrorType, message: string, details?: Record<string, unknown>) {
    super(message)
    this.name = 'BookProblem'
    this.problem = details ? { type, message, details, fatal: true } : { type, message, fatal: true }
  }
}
