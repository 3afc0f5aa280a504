/**
 * The one table of errors that a client can receive. `kind` classifies the refusal (api/http/errors.ts maps kinds to HTTP
 * statuses; core does not use them), `message` is the text when the thrower gives no better one.
 */
export const ERRORS = {
  unauthorized: { kind: 'unauthenticated', message: 'Sign in first: send a bearer token or an API key.' },
  forbidden: { kind: 'forbidden', message: 'Your account may not do this.' },
  not_found: { kind: 'absent', message: 'There is nothing here, or you may not see it.' },
  method_not_allowed: { kind: 'method', message: 'This address does not support that method.' },
  invalid_request: { kind: 'malformed', message: 'The request is malformed.' },
  invalid_value: { kind: 'rule', message: 'A value breaks a rule.' },
  not_paged: { kind: 'rule', message: 'This book has no page images.' },
  page_unreadable: { kind: 'rule', message: 'The bytes of this page are damaged or cannot be shown.' },
  not_analyzed: { kind: 'conflict', message: 'This book has not been analyzed yet.' },
  conflict: { kind: 'conflict', message: 'This conflicts with the current state.' },
  precondition_failed: { kind: 'precondition', message: 'The resource has changed since you read it; get it again.' },
  scan_running: { kind: 'conflict', message: 'A scan of this library is already waiting or running.' },
  request_timeout: { kind: 'slow', message: 'The body of the request arrived too slowly.' },
  payload_too_large: { kind: 'too_large', message: 'The request body is too large.' },
  unsupported_media_type: { kind: 'media_type', message: 'The body must be plain, uncompressed JSON.' },
  range_not_satisfiable: { kind: 'range', message: 'The requested range lies outside the file.' },
  rate_limit_exceeded: { kind: 'rate', message: 'Too many requests.' },
  unavailable: { kind: 'unavailable', message: 'The server cannot do this at the moment; try again shortly.' },
  internal: { kind: 'internal', message: 'An internal error occurred. Give the request id to the administrator.' },
} as const

export type ErrorCode = keyof typeof ERRORS
export type ErrorKind = (typeof ERRORS)[ErrorCode]['kind']

/** A refused request, with a code from the table. `message` is for the client; `cause` is only logged. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: unknown
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message?: string, more: { details?: unknown; cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message ?? ERRORS[code].message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'AppError'
    this.code = code
    this.details = more.details
    this.retryAfterSeconds = more.retryAfterSeconds
  }
}

/** Throws a {@link AppError}. */
export function refuse(
  code: ErrorCode,
  message?: string,
  more?: { details?: unknown; cause?: unknown; retryAfterSeconds?: number },
): never {
  throw new AppError(code, message, more)
}

/** Refuses one value of a body. @param path its JSON pointer, such as `/scanningConfig/mode` */
export function refuseValue(path: string, message: string): never {
  refuse('invalid_value', message, { details: [{ path, message }] })
}
