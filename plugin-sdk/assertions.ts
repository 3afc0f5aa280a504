import type { CallFailure, CallTrace } from './call-trace.ts'

/** Common assertions for tests of plugins. Any other assertion that throws works as well. */

/** Longer values are cut in messages; a value may be a whole library. */
const SHOWN_LENGTH_MAX = 500

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX - 1)}…` : text
}

/** @throws Error if two values differ as JSON, with members in any order; it names the first difference. */
export function assertEqual(actual: unknown, expected: unknown): void {
  const difference = findDifference(actual, expected, '')
  if (difference !== null) throw new Error(`${difference}\n  was    ${shown(actual)}\n  should be ${shown(expected)}`)
}

function findDifference(actual: unknown, expected: unknown, place: string): string | null {
  if (Object.is(actual, expected)) return null
  if (!isObject(actual) || !isObject(expected) || Array.isArray(actual) !== Array.isArray(expected))
    return `${place === '' ? 'The value' : place} is ${shown(actual)} and should be ${shown(expected)}.`
  for (const name of new Set([...Object.keys(actual), ...Object.keys(expected)])) {
    const difference = findDifference(actual[name], expected[name], `${place}/${name}`)
    if (difference !== null) return difference
  }
  return null
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const isFailure = (error: unknown, code: string): error is CallFailure => isObject(error) && error['code'] === code

/**
 * Waits for a call that must fail with this code.
 * @returns the error, with its message and the trace of the call
 * @throws Error if it succeeds or fails with another code
 */
export async function assertFails(call: Promise<unknown>, code: string): Promise<CallFailure> {
  let answer: unknown
  try {
    answer = await call
  } catch (error) {
    if (isFailure(error, code)) return error
    const { code: other = 'no code', message = String(error) } = isObject(error) ? error : {}
    throw new Error(`The call should have failed with ${code}, but failed with ${String(other)}: ${String(message)}`, { cause: error })
  }
  throw new Error(`The call should have failed with ${code}, but returned ${shown(answer)}.`)
}

/** @throws Error if a call has exceeded the budget. Allow some margin: on a busy machine a call uses more CPU time. */
export function assertWithin(trace: CallTrace, budget: { cpuMs?: number; wallMs?: number; requests?: number }): void {
  for (const [name, used] of [
    ['cpuMs', trace.cpuMs],
    ['wallMs', trace.wallMs],
    ['requests', trace.requests.length],
  ] as const) {
    const limit = budget[name]
    if (limit !== undefined && used > limit) throw new Error(`The call used ${used} of ${name}; the limit is ${limit}.`)
  }
}
