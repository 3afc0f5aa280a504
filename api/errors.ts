import { CarrelError, ERRORS, type ErrorCode, type ErrorKind } from '#core/errors.ts'

/** The only place that knows which status a kind of refusal has. */
export const STATUS_OF_KIND: Record<ErrorKind, number> = {
  unauthenticated: 401,
  forbidden: 403,
  absent: 404,
  method: 405,
  malformed: 400,
  rule: 422,
  conflict: 409,
  precondition: 412,
  too_large: 413,
  media_type: 415,
  range: 416,
  rate: 429,
  unavailable: 503,
  internal: 500,
}

/** What a client is told: a status, a body, and how long to wait where that is known. */
export interface ErrorAnswer {
  status: number
  body: { error: string; message: string; requestId: string; details?: unknown } | { error: string; message: string; retry_after: number }
  retryAfterSeconds?: number
}

/** Turns whatever was thrown into an answer. Anything but a refusal is a 500 that tells nothing but the request id. */
export function answerOf(error: unknown, requestId: string): ErrorAnswer {
  const { code, message, details, retryAfterSeconds } = readError(error)
  const status = STATUS_OF_KIND[ERRORS[code].kind]
  if (status === 429) {
    // Exactly the three members of spec 7.
    const seconds = Math.max(1, Math.ceil(retryAfterSeconds ?? 1))
    const text = `Too many requests. Please retry after ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
    return { status, body: { error: code, message: text, retry_after: seconds }, retryAfterSeconds: seconds }
  }
  return {
    status,
    body: { error: code, message, requestId, ...(details !== undefined && { details }) },
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  }
}

/** What PostgreSQL says when two changes meet; nothing was written. */
const CLASHES: Readonly<Record<string, { code: ErrorCode; message: string; retryAfterSeconds?: number }>> = {
  // deadlock_detected, serialization_failure
  '40P01': {
    code: 'unavailable',
    message: 'Another change was made at the same moment. Nothing was changed; try again.',
    retryAfterSeconds: 1,
  },
  '40001': {
    code: 'unavailable',
    message: 'Another change was made at the same moment. Nothing was changed; try again.',
    retryAfterSeconds: 1,
  },
  // foreign_key_violation
  '23503': { code: 'conflict', message: 'Something this refers to was deleted at the same moment. Nothing was changed.' },
}

function readError(error: unknown): { code: ErrorCode; message: string; details?: unknown; retryAfterSeconds?: number | undefined } {
  if (error instanceof CarrelError && error.code !== 'internal') return error
  const clash = error instanceof Error && 'code' in error ? CLASHES[String(error.code)] : undefined
  if (clash) return clash
  // The router's own refusals.
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (status === 404) return { code: 'not_found', message: 'There is nothing at this address.' }
  if (status === 405) return { code: 'method_not_allowed', message: ERRORS.method_not_allowed.message }
  return { code: 'internal', message: ERRORS.internal.message }
}
