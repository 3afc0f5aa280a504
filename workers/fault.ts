import type { BookErrorType, Problem } from '#core/metadata/analysis.ts'

/**
 * A book that cannot be read, or a part of it: thrown inside a thread, caught inside the same thread, and sent out as
 * its `problem`, because an Error loses its class on the way out.
 */
export class BookFault extends Error {
  readonly problem: Problem

  constructor(type: BookErrorType, message: string, details?: Record<string, unknown>) {
    super(message)
    this.name = 'BookFault'
    this.problem = details ? { type, message, details, fatal: true } : { type, message, fatal: true }
  }
}
