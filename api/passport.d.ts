/** The parts of passport 0.7 and its strategies that the server uses; the packages have no types. */
declare module 'passport' {
  import type { IncomingMessage } from 'node:http'

  export interface Strategy {
    name?: string
    authenticate(request: IncomingMessage, options?: object): void
  }

  type Done = (error: unknown, user: unknown) => void

  export interface Passport {
    use(name: string, strategy: Strategy): this
    authenticate(names: readonly string[], options: object, done: Done): (request: IncomingMessage) => void
    /** Replaces the middleware for Express. */
    framework(framework: Framework): this
    /** For frameworks. */
    _strategy(name: string): Strategy | undefined
  }

  export interface Framework {
    authenticate(passport: Passport, names: readonly string[], options: object, done: Done): (request: IncomingMessage) => void
  }

  const passport: { Passport: new () => Passport }
  export default passport
}

declare module 'passport-custom' {
  import type { IncomingMessage } from 'node:http'
  import type { Strategy } from 'passport'

  const custom: {
    Strategy: new (verify: (request: IncomingMessage, done: (error: unknown, user?: unknown) => void) => void) => Strategy
  }
  export default custom
}

declare module 'passport-headerapikey' {
  import type { Strategy } from 'passport'

  const headerApiKey: {
    HeaderAPIKeyStrategy: new (
      header: { header: string; prefix: string },
      passRequest: false,
      verify: (key: string, done: (error: unknown, user?: unknown) => void) => void,
    ) => Strategy
  }
  export default headerApiKey
}

declare module 'passport-http' {
  import type { IncomingMessage } from 'node:http'
  import type { Strategy } from 'passport'

  const http: {
    BasicStrategy: new (
      options: { realm: string; passReqToCallback: true },
      verify: (request: IncomingMessage, username: string, password: string, done: (error: unknown, user?: unknown) => void) => void,
    ) => Strategy
  }
  export default http
}
