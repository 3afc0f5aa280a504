/**
 * Codes of errors of a plugin and of its requests to the server.
 *
 * A plugin throws `rate_limited`, `not_found`, `auth`, `upstream`, `config`. The server uses the first four, and `permission` (not granted),
 * `limit` (exceeded), `invalid_argument`, `timeout`, `too_large` (a response of a service), `closed` (the call has ended), `server` (an internal
 * error).
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

/** Whether a caught error has this code. Errors from the server are plain errors, which `instanceof` does not recognize. */
export const hasCode = (error: unknown, code: ErrorCode): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code

/** Errors that the server recognizes: it explains them to the user, and does not count them as failures of the plugin. */
export class PluginError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string) {
    super(message)
    this.name = 'PluginError'
    this.code = code
  }
}

/** The service asks to wait. */
export class RateLimitError extends PluginError {
  readonly retryAfterSeconds: number
  constructor(message = 'The service has reached its rate limit.', retryAfterSeconds = 60) {
    super('rate_limited', message)
    this.name = 'RateLimitError'
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The service has no such entry. */
export class NotFoundError extends PluginError {
  constructor(message = 'There is no entry with this identifier.') {
    super('not_found', message)
    this.name = 'NotFoundError'
  }
}

/** The credentials are missing or rejected. */
export class AuthError extends PluginError {
  constructor(message = 'The service rejected the credentials.') {
    super('auth', message)
    this.name = 'AuthError'
  }
}

/** The service failed. */
export class UpstreamError extends PluginError {
  constructor(message = 'The service failed.') {
    super('upstream', message)
    this.name = 'UpstreamError'
  }
}

/** The configuration is invalid: say what is wrong with it. */
export class ConfigError extends PluginError {
  constructor(message: string) {
    super('config', message)
    this.name = 'ConfigError'
  }
}
