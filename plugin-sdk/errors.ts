/**
 * What an error of a plugin, or of something that it asked the server for, may be told by.
 *
 * Yours to throw: `rate_limited`, `not_found`, `auth`, `upstream`, `config`. From the server: the first four, and `permission` (not granted),
 * `limit` (too many or too much), `invalid_argument` (asked for in a wrong way), `timeout`, `too_large` (an answer of a service), `closed` (the
 * call has ended), `server` (a fault of the server).
 */
export type ErrorCode =
  | 'rate_limited'
  | 'not_found'
  | 'auth'
  | 'upstream'
  | 'config'
  | 'permission'
  | 'limit'
  | 'invalid_argument'
  | 'timeout'
  | 'too_large'
  | 'closed'
  | 'server'

/** Whether something that was caught is an error of this code. What the server rejects with are plain errors: `instanceof` does not know them. */
export const hasCode = (error: unknown, code: ErrorCode): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code

/** Errors that the server understands: it tells the user what they mean, and only faults of the plugin count against its health. */
export class PluginError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string) {
    super(message)
    this.name = 'PluginError'
    this.code = code
  }
}

/** Your service wants you to wait. */
export class RateLimitError extends PluginError {
  readonly retryAfterSeconds: number
  constructor(message = 'The service has reached its rate limit.', retryAfterSeconds = 60) {
    super('rate_limited', message)
    this.name = 'RateLimitError'
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** There is no such thing at your service. */
export class NotFoundError extends PluginError {
  constructor(message = 'There is no entry with this identifier.') {
    super('not_found', message)
    this.name = 'NotFoundError'
  }
}

/** The credentials are missing or refused. */
export class AuthError extends PluginError {
  constructor(message = 'The service rejected the credentials.') {
    super('auth', message)
    this.name = 'AuthError'
  }
}

/** Your service failed. */
export class UpstreamError extends PluginError {
  constructor(message = 'The service failed.') {
    super('upstream', message)
    this.name = 'UpstreamError'
  }
}

/** The configuration cannot work: say what is wrong with it. */
export class ConfigError extends PluginError {
  constructor(message: string) {
    super('config', message)
    this.name = 'ConfigError'
  }
}
