import { slice, stringify, textOr } from './built-ins.ts'
import { limits, post } from './channel.ts'
import { oldestRequest, waitingRequest } from './host-calls.ts'

const MESSAGE_LENGTH_MAX = 4_096
const STACK_LENGTH_MAX = 8_192
const CODE_LENGTH_MAX = 64

interface Problem {
  code: string
  message: string
  /** The code that the guest gave the error. */
  own?: string | null
  stack?: string
  wait?: number | null
}

export function sendResult(id: number, value: unknown) {
  let text: unknown
  try {
    text = stringify(value)
  } catch (error) {
    return sendFailure(id, error, 'invalid_result', 'The answer is not plain JSON: ')
  }
  const result = textOr(text, 'null')
  if (result.length > limits.resultLength)
    return sendProblem(id, {
      code: 'invalid_result',
      message: `The result has ${result.length} characters; the limit is ${limits.resultLength}.`,
    })
  const unawaited = oldestRequest(id)
  if (unawaited === null) post('done', id, result)
  else post('done', id, result, unawaited, waitingRequest(id) ?? '')
}

/** A thrown value may be anything, and reading it may run code of the guest, which counts for the budget of the call. */
export function sendFailure(id: number, error: unknown, code: string, begin = ''): void {
  let name = 'Error'
  let message = ''
  let stack = ''
  let own: string | null = null
  let wait: number | null = null
  try {
    if (error !== null && typeof error === 'object') {
      const thrown = error as Record<string, unknown>
      // Reads each property once: a getter may return another value the second time.
      name = textOr(thrown['name'], name)
      message = textOr(thrown['message'], message)
      stack = textOr(thrown['stack'], stack)
      own = textOr(thrown['code'], own)
      const seconds = thrown['retryAfterSeconds']
      // JSON has no NaN or infinity.
      if (typeof seconds === 'number' && seconds > 0 && seconds < 1e9) wait = seconds
    } else message = textOr(error, message)
  } catch {
    message = 'The code threw an unreadable error.'
  }
  if (message === '') message = name === 'Error' ? 'The code threw a value that is not an error.' : name
  sendProblem(id, { code, message: begin + message, own, stack, wait })
}

export function sendProblem(id: number, { code, message, own = null, stack = '', wait = null }: Problem): void {
  const text = stringify({
    // Own properties, so that nothing that guests put on a prototype is read.
    __proto__: null,
    code,
    message: slice(message, 0, MESSAGE_LENGTH_MAX),
    own: own === null ? null : slice(own, 0, CODE_LENGTH_MAX),
    stack: slice(stack, 0, STACK_LENGTH_MAX),
    wait,
  })
  post('fail', id, text)
}
