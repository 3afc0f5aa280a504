import type { IncomingMessage } from 'node:http'
import type { Framework, Strategy } from 'passport'

/** What a strategy has decided about a request. */
interface Outcome {
  succeed(user: unknown): void
  fail(): void
  error(error: unknown): void
}

/** A strategy while it looks at one request. Strategies report by calling functions of their own object. */
interface Attempt extends Strategy {
  outcome: Outcome
}

const REPORTS = {
  success(this: Attempt, user: unknown) {
    this.outcome.succeed(user)
  },
  fail(this: Attempt) {
    this.outcome.fail()
  },
  error(this: Attempt, error: unknown) {
    this.outcome.error(error)
  },
}

/** Gives a strategy the functions by which it reports. */
export const reporting = (strategy: Strategy): Strategy => Object.assign(strategy, REPORTS)

/**
 * Runs the strategies in turn until one succeeds. passport's own middleware, which is for Express, gives each attempt five new functions as
 * properties; V8 keeps such functions, and through them the request, until a full collection, which doubled the work of the collector.
 */
export const framework: Framework = {
  authenticate: (passport, names, options, done) => (request: IncomingMessage) => {
    const attempt = (at: number): void => {
      const name = names[at]
      const strategy = name === undefined ? undefined : passport._strategy(name)
      if (!strategy) {
        done(name === undefined ? null : new Error(`There is no strategy "${name}".`), false)
        return
      }
      const running = Object.create(strategy) as Attempt
      running.outcome = { succeed: (user) => done(null, user), fail: () => attempt(at + 1), error: (error) => done(error, false) }
      running.authenticate(request, options)
    }
    attempt(0)
  },
}
