import vm from 'node:vm'
import fc from 'fast-check'

/** Of the random values of a run, which tells it at its end; a file that runs by itself takes one of its own. */
export const testSeed = Number(process.env['TEST_SEED'] ?? Date.now()) | 0

/** Properties take a second; a machine that is busy with everything at once needs many times that, and what never ends is told apart all the same. */
const LIMIT_MS = 60_000

/**
 * Checks a property as `fc.assert` does, under a time limit: what never returns fails with the seed and the value that it did not return from, instead
 * of holding up all tests.
 * @throws Error when it does not hold, or not within the limit
 */
export function assertInTime<Given>(property: fc.IProperty<Given>, given: fc.Parameters<Given> = {}, limitMs = LIMIT_MS): void {
  const seed = given.seed ?? testSeed
  let last: unknown
  const watched = new Proxy(property, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...all: unknown[]) => {
        if (name === 'run') last = all[0]
        return member.apply(target, all)
      }
    },
  })
  try {
    // V8 stops everything that a script has called when the script's time is over: nothing else on this thread could stop a loop.
    vm.runInNewContext('check()', { check: () => fc.assert(watched, { ...given, seed }) }, { timeout: limitMs })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new Error(`The property did not end within ${limitMs} ms: { seed: ${seed} }, with ${fc.stringify(last)}`, { cause: error })
  }
}

/** As {@link assertInTime} for properties that wait for something: the limit of their test ends those. */
export async function assertEventually<Given>(property: fc.IAsyncProperty<Given>, given: fc.Parameters<Given> = {}): Promise<void> {
  await fc.assert(property, { seed: testSeed, ...given })
}
