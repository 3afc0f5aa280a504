import vm from 'node:vm'
import fc from 'fast-check'

/** The seed of the random values of a run, which prints it at its end. A file that runs alone chooses its own. */
export const testSeed = Number(process.env['TEST_SEED'] ?? Date.now()) | 0

/** Properties take a second, and many times that on a busy machine; an endless property exceeds this limit anyway. */
const LIMIT_MS = 60_000

/**
 * Checks a property like `fc.assert`, with a time limit: an endless call fails with its seed and value instead of blocking all tests.
 * @throws Error when the property is false, or exceeds the limit
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
    // At the timeout of a script, V8 stops everything that it has called: nothing else in this thread can stop a loop.
    vm.runInNewContext('check()', { check: () => fc.assert(watched, { ...given, seed }) }, { timeout: limitMs })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new Error(`The property did not end within ${limitMs} ms: { seed: ${seed} }, with ${fc.stringify(last)}`, { cause: error })
  }
}

/** Like {@link assertInTime}, for asynchronous properties: the time limit of their test applies. */
export async function assertEventually<Given>(property: fc.IAsyncProperty<Given>, given: fc.Parameters<Given> = {}): Promise<void> {
  await fc.assert(property, { seed: testSeed, ...given })
}
