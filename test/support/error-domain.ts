// Stands in for the package by which tap finds the test of an error that nothing caught. That package follows every promise of the process with async hooks,
// which takes a fifth of the time of tests; Node carries what AsyncLocalStorage holds along without hooks.
import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

type HandleError = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin) => void

const current = new AsyncLocalStorage<Domain>()

/** Everything that runs in the resource of a test, which is the one that creates the domain, and that is begun there. */
export class Domain {
  readonly #handle: HandleError
  readonly #parent = current.getStore()
  #isDestroyed = false

  constructor(handle: HandleError) {
    this.#handle = handle
    const resource = executionAsyncResource() as AsyncResource
    resource.runInAsyncScope = (work, self, ...values) =>
      AsyncResource.prototype.runInAsyncScope.call(resource, () => current.run(this, () => Reflect.apply(work, self, values))) as never
  }

  /** Later errors belong to the test around this one. */
  destroy(): void {
    this.#isDestroyed = true
  }

  /** @returns whether a test took the error */
  static handle(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): boolean {
    for (let domain = current.getStore(); domain !== undefined; domain = domain.#parent) {
      if (domain.#isDestroyed) continue
      domain.#handle(error, origin)
      return true
    }
    return false
  }
}

// Where a test has handlers of its own, they take the error.
process.on('uncaughtExceptionMonitor', (error, origin) => {
  if (process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()) return
  if (!Domain.handle(error, origin)) return
  // The error is handled: without this Node would end the process. Node calls it once, next.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null))
})
