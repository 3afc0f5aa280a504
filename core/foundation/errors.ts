/**
 * The one table of errors that a client can receive. `kind` classifies the refusal (api/http/errors.ts maps kinds to HTTP
 * statuses; core does not use them), `message` is the text when the thrower gives no better one,
 * `remedy` what a client should do (the OpenAPI document lists it).
 */
export const ERRORS = {
  unauthorized: {
    kind: 'unauthenticated',
    message: 'Sign in first: send a bearer token or an API key.',
    remedy: 'Sign in, or send another token or API key.',
  },
  forbidden: {
    kind: 'forbidden',
    message: 'Your account may not do this.',
    remedy: 'Do not repeat it: the account or key lacks a permission, which an administrator can give.',
  },
  not_found: {
    kind: 'absent',
    message: 'There is nothing here, or you may not see it.',
    remedy: 'Check the address and the ids in it; what is hidden from the caller does not exist for it.',
  },
  method_not_allowed: {
    kind: 'method',
    message: 'This address does not support that method.',
    remedy: 'Use a method that this document lists for the address.',
  },
  invalid_request: {
    kind: 'malformed',
    message: 'The request is malformed.',
    remedy: 'Correct the request: `details` names each member or parameter that is missing, unknown or of the wrong type.',
  },
  invalid_value: {
    kind: 'rule',
    message: 'A value breaks a rule.',
    remedy: 'Correct the value: `details` names each member that breaks a rule.',
  },
  not_paged: {
    kind: 'rule',
    message: 'This book has no page images.',
    remedy: 'Read the book by its resources or its file.',
  },
  page_unreadable: {
    kind: 'rule',
    message: 'The bytes of this page are damaged or cannot be shown.',
    remedy: 'Show the next page; the file is damaged, and repeating does not help.',
  },
  not_analyzed: {
    kind: 'conflict',
    message: 'This book has not been analyzed yet.',
    remedy: 'Try again when the book has been analyzed; an event tells when.',
  },
  conflict: {
    kind: 'conflict',
    message: 'This conflicts with the current state.',
    remedy: 'Read the state again; `message` says what is in the way.',
  },
  precondition_failed: {
    kind: 'precondition',
    message: 'The resource has changed since you read it; get it again.',
    remedy: 'Get the record again, repeat the edit on it, and send its new ETag.',
  },
  scan_running: {
    kind: 'conflict',
    message: 'A scan of this library is already waiting or running.',
    remedy: 'Wait for the end of the scan, or cancel it.',
  },
  request_timeout: {
    kind: 'slow',
    message: 'The body of the request arrived too slowly.',
    remedy: 'Send it again, faster.',
  },
  payload_too_large: {
    kind: 'too_large',
    message: 'The request body is too large.',
    remedy: 'Send less at once.',
  },
  unsupported_media_type: {
    kind: 'media_type',
    message: 'The body must be plain, uncompressed JSON.',
    remedy: 'Send JSON as application/json, uncompressed, or a form where the operation takes a file.',
  },
  range_not_satisfiable: {
    kind: 'range',
    message: 'The requested range lies outside the file.',
    remedy: 'Get the content from its beginning; it is shorter than expected.',
  },
  rate_limit_exceeded: {
    kind: 'rate',
    message: 'Too many requests.',
    remedy: 'Wait as many seconds as Retry-After says.',
  },
  unavailable: {
    kind: 'unavailable',
    message: 'The server cannot do this at the moment; try again shortly.',
    remedy: 'Try again after the seconds of Retry-After, or shortly.',
  },
  service_failed: {
    kind: 'service',
    message: 'Another service that this needs did not answer as expected.',
    remedy: 'Check the address in `message` and that its service works, then try again; this server itself is well.',
  },
  internal: {
    kind: 'internal',
    message: 'An internal error occurred. Give the request id to the administrator.',
    remedy: 'Report it with the requestId; repeating rarely helps.',
  },
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
