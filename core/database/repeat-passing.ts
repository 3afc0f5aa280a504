/** A row that another transaction has just deleted, and a deadlock with one: a moment later the same succeeds. */
const PASSING = new Set<unknown>(['23503', '40P01'])
const TRIES_MAX = 3

/** Runs something again when it meets other transactions. @param run must be right also after a part of it */
export async function repeatPassing<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await run()
    } catch (error) {
      if (!PASSING.has((error as { code?: unknown }).code) || tries === TRIES_MAX) throw error
    }
  }
}
