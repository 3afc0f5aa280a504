/** Errors that the server understands: it tells the user what they mean, and only faults of the plugin count against its health. */
export class PluginError extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'PluginError'
    this.code = code
  }
}

/** Your service wants you to wait. The server waits, and asks again when it may. */
export class RateLimitError extends PluginError {
  readonly retryAfterSeconds: number
  constructor(message = 'The service asks to wait.', retryAfterSeconds = 60) {
    super('rate_limited', message)
    this.name = 'RateLimitError'
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** There is no such thing at your service. */
export class NotFoundError extends PluginError {
  constructor(message = 'There is nothing by this identifier.') {
    super('not_found', message)
    this.name = 'NotFoundError'
  }
}

/** The credentials are missing or refused: the user is asked to connect again. */
export class AuthError extends PluginError {
  constructor(message = 'The credentials were refused.') {
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

/** The configuration cannot work: the administrator is told why. */
export class ConfigError extends PluginError {
  constructor(message: string) {
    super('config', message)
    this.name = 'ConfigError'
  }
}
