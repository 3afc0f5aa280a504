import type { ErrorAnswer } from '#api/http/reply.ts'
import { SHARED_MEMORY_WORDS } from '#core/database/start-problem.ts'
import { AppError, ERRORS, type ErrorCode, type ErrorKind } from '#core/foundation/errors.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'

/** The only mapping from kinds of errors to HTTP statuses. */
export const STATUS_OF_KIND: Record<ErrorKind, number> = {
  unauthenticated: 401,
  forbidden: 403,
  absent: 404,
  method: 405,
  malformed: 400,
  rule: 422,
  slow: 408,
  conflict: 409,
  precondition: 412,
  too_large: 413,
  media_type: 415,
  range: 416,
  rate: 429,
  service: 502,
  unavailable: 503,
  internal: 500,
}

/**
 * Turns whatever was thrown into an error response. Outages (no database, no space) say when to try again; any other unexpected error is a 500
 * that reveals only the request id.
 */
export function errorAnswer(error: unknown, requestId: string): ErrorAnswer {
  const { code, message: written, details: given, retryAfterSeconds } = readError(error)
  // They may repeat words of a package, an index, a file or a service.
  const message = escapedText(written)
  const details = Array.isArray(given) ? given.map(escapedDetail) : given
  const status = STATUS_OF_KIND[ERRORS[code].kind]
  if (status === 429) {
    // Clients expect exactly these three members.
    const seconds = Math.max(1, Math.ceil(retryAfterSeconds ?? 1))
    const reason = message.replace(/\.$/, '')
    const text = `${reason}. Please retry after ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
    return { status, body: { error: code, message: text, retry_after: seconds }, retryAfterSeconds: seconds }
  }
  return {
    status,
    body: { error: code, message, requestId, ...(details !== undefined && { details }) },
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  }
}

/** `details` of values that break a rule are sentences with their places. */
const escapedDetail = (detail: unknown): unknown =>
  typeof detail === 'object' && detail !== null && 'message' in detail && typeof detail.message === 'string'
    ? { ...detail, message: escapedText(detail.message) }
    : detail

/** The response to errors whose details must stay secret. */
export function internalAnswer(requestId: string): ErrorAnswer {
  return { status: 500, body: { error: 'internal', message: ERRORS.internal.message, requestId } }
}

interface Outage {
  code: ErrorCode
  message: string
  retryAfterSeconds?: number
}

const DATABASE_LOST: Outage = {
  code: 'unavailable',
  message: 'The database cannot be reached at the moment. The change may or may not have been made; check, then try again.',
  retryAfterSeconds: 2,
}
const DISK_FULL: Outage = {
  code: 'unavailable',
  message: 'The disk of the server is full. Nothing was changed. Free some space, then try again.',
  retryAfterSeconds: 60,
}
const NO_RESOURCES: Outage = {
  code: 'unavailable',
  message: 'The server has run out of connections, memory or file handles. Nothing was changed. Try again shortly.',
  retryAfterSeconds: 5,
}
const CONCURRENT_CHANGE: Outage = {
  code: 'unavailable',
  message: 'Another request changed the same data at the same time. Nothing was changed. Try again.',
  retryAfterSeconds: 1,
}
const TOO_LONG: Outage = {
  code: 'unavailable',
  message: 'The database took too long and stopped the request. Nothing was changed. Request less at once, or try again later.',
  retryAfterSeconds: 10,
}
const READ_ONLY: Outage = {
  code: 'unavailable',
  message: 'The database is read-only at the moment. Nothing was changed. Try again later.',
  retryAfterSeconds: 30,
}
const REFERENCE_DELETED: Outage = {
  code: 'conflict',
  message: 'Something that the request refers to was deleted at the same time. Nothing was changed.',
}

/** disk_full of PostgreSQL, and the codes of the operating system. */
export const FULL_CODES = /^(?:53100|ENOSPC|EDQUOT)$/
/** connection_exception; shutdown, crash, start and disconnection of the server; io_error */
export const LOST_CODES = /^(?:08\w{3}|57P\w{2}|58030)$/

/**
 * What error codes of PostgreSQL (its manual, appendix A; the first two characters are the class) and of the operating system mean to a client.
 * The first match counts; an error without a match is a bug of ours.
 */
const OUTAGES: readonly (readonly [codes: RegExp, outage: Outage])[] = [
  // deadlock_detected, serialization_failure, lock_not_available
  [/^(?:40P01|40001|55P03)$/, CONCURRENT_CHANGE],
  // foreign_key_violation
  [/^23503$/, REFERENCE_DELETED],
  [FULL_CODES, DISK_FULL],
  // The other codes of insufficient_resources: too_many_connections, out_of_memory, configuration_limit_exceeded.
  [/^(?:53\w{3}|EMFILE|ENFILE|ENOMEM)$/, NO_RESOURCES],
  // query_canceled: by the limit of the connection or by an administrator
  [/^57014$/, TOO_LONG],
  // invalid_regular_expression: a client wrote it, and this server had taken it for a valid one.
  [/^2201B$/, { code: 'invalid_request', message: 'The regular expression is not valid.' }],
  // read_only_sql_transaction: a standby, or an administrator has disabled changes
  [/^25006$/, READ_ONLY],
  [LOST_CODES, DATABASE_LOST],
  [/^(?:ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTCONN)$/, DATABASE_LOST],
]

/** Errors of pg and the pool without a code. Knex puts the statement before the message. */
const CODELESS: readonly (readonly [message: RegExp, outage: Outage])[] = [
  [/Timeout acquiring a connection|Unable to acquire a connection$/, NO_RESOURCES],
  [/(?:^| )(?:Connection terminated(?: unexpectedly)?|Connection ended unexpectedly|timeout expired|aborted)$/, DATABASE_LOST],
  [/(?:Connection terminated due to connection timeout|not queryable)$/, DATABASE_LOST],
]
/** Length of the end of a message that is compared; the longest pattern is shorter. */
const MESSAGE_END = 200

type ErrorReading = { code: ErrorCode; message: string; details?: unknown; retryAfterSeconds?: number | undefined }
const INTERNAL: ErrorReading = { code: 'internal', message: ERRORS.internal.message }

/** Never throws, although anything may have been thrown, including objects that throw when they are read. */
function readError(error: unknown): ErrorReading {
  try {
    if (error instanceof AppError && error.code !== 'internal') return error
    return (error instanceof Error && outageOf(error)) || INTERNAL
  } catch {
    return INTERNAL
  }
}

function outageOf(error: Error & { code?: unknown; syscall?: unknown }): Outage | undefined {
  const { code, syscall } = error
  // Only for connections: the socket file of a stopped database is missing, its name cannot be resolved. A missing file of a book has the same code.
  if (syscall === 'connect' || syscall === 'getaddrinfo') return DATABASE_LOST
  // Its code is that of a full disk.
  if (code === '53100' && SHARED_MEMORY_WORDS.test(error.message)) return NO_RESOURCES
  if (typeof code === 'string') return OUTAGES.find(([codes]) => codes.test(code))?.[1]
  const end = String(error.message).slice(-MESSAGE_END)
  return CODELESS.find(([message]) => message.test(end))?.[1]
}
