import { DOMException } from './dom-exception.ts'
import { setDeadline } from './timers.ts'

type Listener = ((event: unknown) => void) | { handleEvent?: (event: unknown) => void } | null | undefined

/** Permits creating signals, which guests cannot do. */
const token = {}
let abort: (signal: AbortSignal, reason?: unknown) => void

export class AbortSignal {
  #aborted = false
  #reason: unknown
  readonly #listeners = new Set<Listener>()
  declare onabort: Listener

  static {
    abort = (signal, reason) => {
      if (signal.#aborted) return
      signal.#aborted = true
      signal.#reason = reason === undefined ? new DOMException('This operation was aborted.', 'AbortError') : reason
      const event = Object.freeze({ type: 'abort', target: signal })
      for (const run of [signal.onabort, ...signal.#listeners])
        try {
          if (typeof run === 'function') Reflect.apply(run, signal, [event])
          else run?.handleEvent?.(event)
        } catch {
          // An error in one listener must not affect the others.
        }
      signal.#listeners.clear()
    }
  }

  constructor(given: unknown) {
    if (given !== token) throw new TypeError('Use an AbortController to create signals.')
    Reflect.defineProperty(this, 'onabort', { value: null, writable: true })
  }

  static abort(reason: unknown): AbortSignal {
    const signal = makeOne()
    abort(signal, reason)
    return signal
  }

  static timeout(ms: unknown): AbortSignal {
    const signal = makeOne()
    setDeadline(() => abort(signal, new DOMException('The operation timed out.', 'TimeoutError')), ms)
    return signal
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const signal = makeOne()
    for (const one of signals) {
      if (one.aborted) abort(signal, one.reason)
      else one.addEventListener('abort', () => abort(signal, one.reason))
    }
    return signal
  }

  get aborted(): boolean {
    return this.#aborted
  }

  get reason(): unknown {
    return this.#reason
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason
  }

  addEventListener(kind: unknown, run: Listener): void {
    if (kind === 'abort' && run !== null && run !== undefined && !this.#aborted) this.#listeners.add(run)
  }

  removeEventListener(kind: unknown, run: Listener): void {
    if (kind === 'abort') this.#listeners.delete(run)
  }
}

/** Bundles rename classes that refer to themselves, and guests see their names. */
const makeOne = (): AbortSignal => new AbortSignal(token)

export class AbortController {
  readonly #signal = makeOne()

  get signal(): AbortSignal {
    return this.#signal
  }

  abort(reason: unknown): void {
    abort(this.#signal, reason)
  }
}

/** A signal for a guest, and what aborts it. */
export function makeSignal(): { signal: AbortSignal; giveUp: (reason: unknown) => void } {
  const signal = makeOne()
  return { signal, giveUp: (reason) => abort(signal, reason) }
}
