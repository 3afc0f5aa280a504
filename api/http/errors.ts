import { CarrelError, ERRORS, type ErrorCode, type ErrorKind } from '#core/foundation/errors.ts'

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

/**
 * Turns whatever was thrown into an answer. A fault below (no database, no space) is told with when to come back; anything else that is not
 * a refusal is a 500 that tells nothing but the request id.
 */
export function answerOf(error: unknown, requestId: string): ErrorAnswer {
  const { code, message, details, retryAfterSeconds } = readError(error)
  const status = STATUS_OF_KIND[ERRORS[code].kind]
  if (status === 429) {
    // Clients expect exactly these three members.
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

/** For whatever must not be told. */
export function internalAnswer(requestId: string): ErrorAnswer {
  return { status: 500, body: { error: 'internal', message: ERRORS.internal.message, requestId } }
}

interface Fault {
  code: ErrorCode
  message: string
  retryAfterSeconds?: number
}

const LOST: Fault = {
  code: 'unavailable',
  message: 'The database is not to be reached at the moment. Whether anything was changed is not known; look, then try again.',
  retryAfterSeconds: 2,
}
const FULL: Fault = {
  code: 'unavailable',
  message: 'The disk of the server is full. Nothing was changed; free some space, then try again.',
  retryAfterSeconds: 60,
}
const CROWDED: Fault = {
  code: 'unavailable',
  message: 'The server has no connection, memory or file handle left for this at the moment. Nothing was changed; try again shortly.',
  retryAfterSeconds: 5,
}
const MET: Fault = {
  code: 'unavailable',
  message: 'Another change was made at the same moment. Nothing was changed; try again.',
  retryAfterSeconds: 1,
}
const TOO_LONG: Fault = {
  code: 'unavailable',
  message: 'The database took too long over this and was stopped. Nothing was changed; ask for less at once, or try again later.',
  retryAfterSeconds: 10,
}
const READ_ONLY: Fault = {
  code: 'unavailable',
  message: 'The database takes no changes at the moment. Nothing was changed; try again later.',
  retryAfterSeconds: 30,
}
const DELETED: Fault = { code: 'conflict', message: 'Something this refers to was deleted at the same moment. Nothing was changed.' }

/** disk_full of PostgreSQL, and what the operating system says. */
export const FULL_CODES = /^(?:53100|ENOSPC|EDQUOT)$/
/** connection_exception; shutdown, crash, start and disconnection of the server; io_error */
export const LOST_CODES = /^(?:08\w{3}|57P\w{2}|58030)$/

/**
 * What the code of an error from below means to a client: of PostgreSQL (its manual, appendix A; the first two characters are the class)
 * and of the operating system. The first that fits counts; what fits none is a bug of ours.
 */
const FAULTS: readonly (readonly [codes: RegExp, fault: Fault])[] = [
  // deadlock_detected, serialization_failure, lock_not_available
  [/^(?:40P01|40001|55P03)$/, MET],
  // foreign_key_violation
  [/^23503$/, DELETED],
  [FULL_CODES, FULL],
  // The rest of insufficient_resources: too_many_connections, out_of_memory, configuration_limit_exceeded.
  [/^(?:53\w{3}|EMFILE|ENFILE|ENOMEM)$/, CROWDED],
  // query_canceled: by the limit of the connection, or by an administrator
  [/^57014$/, TOO_LONG],
  // read_only_sql_transaction: a standby, or an administrator who stopped changes
  [/^25006$/, READ_ONLY],
  [LOST_CODES, LOST],
  [/^(?:ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTCONN)$/, LOST],
]

/** Errors of pg and of the pool that carry no code. Knex puts the statement before the message. */
const CODELESS: readonly (readonly [message: RegExp, fault: Fault])[] = [
  [/Timeout acquiring a connection|Unable to acquire a connection$/, CROWDED],
  [/(?:^| )(?:Connection terminated(?: unexpectedly)?|Connection ended unexpectedly|timeout expired|aborted)$/, LOST],
  [/(?:Connection terminated due to connection timeout|not queryable)$/, LOST],
]
/** As much of the end of a message as the longest of these. */
const MESSAGE_END = 200

type Reading = { code: ErrorCode; message: string; details?: unknown; retryAfterSeconds?: number | undefined }
const INTERNAL: Reading = { code: 'internal', message: ERRORS.internal.message }

/** Never throws: what was thrown may be anything, and may throw when it is looked at. */
function readError(error: unknown): Reading {
  try {
    if (error instanceof CarrelError && error.code !== 'internal') return error
    return (error instanceof Error && faultOf(error)) || INTERNAL
  } catch {
    return INTERNAL
  }
}

function faultOf(error: Error & { code?: unknown; syscall?: unknown }): Fault | undefined {
  const { code, syscall } = error
  // The socket of a database that has ended is gone, the name of another is not found: neither is a file that is missing.
  if (syscall === 'connect' || syscall === 'getaddrinfo') return LOST
  if (typeof code === 'string') return FAULTS.find(([codes]) => codes.test(code))?.[1]
  const end = String(error.message).slice(-MESSAGE_END)
  return CODELESS.find(([message]) => message.test(end))?.[1]
}
