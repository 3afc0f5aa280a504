import { Register } from '#core/foundation/register.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { type Pace, TokenBucket } from '#core/foundation/token-bucket.ts'
import { burstOf, HOST_RATE_MAX } from '#plugins/packages/budgets.ts'
import { covers } from '#plugins/packages/permissions.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** The rate that a service allows, according to the manifest of a plugin. */
interface HostRate {
  perMinute: number
  /** Requests at once after a pause. */
  burst?: number | undefined
  /** Requests in flight. */
  maxParallel?: number | undefined
}
/** By host, or by `*.` and a parent domain. */
export type HostRates = Readonly<Record<string, HostRate>>

interface HostPace extends Pace {
  parallelMax: number
}

/** Manifests limit the number of parallel requests. */
const PACE_MAX: HostPace = {
  perSecond: HOST_RATE_MAX.perMinute / 60,
  burst: HOST_RATE_MAX.burst,
  parallelMax: Number.POSITIVE_INFINITY,
}
/** Above this number of hosts, idle ones are forgotten. */
const HOSTS_MAX = 1_000
const FORGET_EVERY_MS = 2_000
/** Requests of one plugin in flight, for all its users: each may hold a response of megabytes, and all may wait for one host. */
const PARALLEL_MAX = 6
/** Queued requests of one plugin; as many as its calls can make. */
const WAITING_MAX = 64

interface Waiting {
  go: () => void
  leave: (error: Error) => void
}

const tooMany = (of: string, waitMs?: number): GuestError => {
  const wait = waitMs === undefined ? 'wait a little' : `the next may be sent in ${Math.ceil(waitMs / 1000)} s`
  return new GuestError('thrown', `Too many requests ${of}; ${wait}.`, 'rate_limited')
}

/** Waits in a queue; leaves it when the signal aborts. */
function waitIn(queue: Waiting[], signal: AbortSignal, late: GuestError, onLeave: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      const index = queue.indexOf(waiting)
      if (index >= 0) queue.splice(index, 1)
      onLeave()
      waiting.leave(late)
    }
    const waiting: Waiting = {
      go: () => {
        signal.removeEventListener('abort', stop)
        resolve()
      },
      leave: reject,
    }
    queue.push(waiting)
    signal.addEventListener('abort', stop, { once: true })
  })
}

interface RateRequest {
  host: string
  /** The plugin. */
  caller: string
  /** Those that its manifest states, which bind this plugin only: no plugin slows another. */
  rates?: HostRates | undefined
  /** By the clock of `performance.now()`. */
  deadline: number
  signal: AbortSignal
}

interface Host {
  pace: HostPace
  bucket: TokenBucket
  /** Requests in flight. */
  inFlight: number
  /** Queues by plugin, in the order of their next requests. */
  queues: Map<string, Waiting[]>
  timer: NodeJS.Timeout | undefined
}

const slower = (pace: HostPace, rate: HostRate): HostPace => ({
  perSecond: Math.min(pace.perSecond, rate.perMinute / 60),
  burst: Math.min(pace.burst, burstOf(rate)),
  parallelMax: Math.max(Math.min(pace.parallelMax, rate.maxParallel ?? pace.parallelMax), 1),
})

export class HostRateLimiter {
  readonly #now: () => number
  readonly #hosts = new Register<Host>()
  #forgotAt = 0

  /** @param now milliseconds of a clock that never goes back; another one in tests */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  #seconds(): number {
    return this.#now() / 1000
  }

  /**
   * Waits for the rate that the plugin states for a host, and then for the limit of the host for all plugins. The next request is of the plugin that has waited longest, not of the one with the most requests.
   * @returns a function to call at the end of the request
   * @throws GuestError rate_limited, at once when the deadline cannot be met
   */
  async take(request: RateRequest): Promise<() => void> {
    const { host, caller, rates = {} } = request
    const stated = Object.entries(rates).filter(([pattern]) => covers(pattern, host))
    if (stated.length === 0) return await this.#takeOne(this.#find(host, PACE_MAX), request)
    const pace = stated.reduce((lowest, [, rate]) => slower(lowest, rate), PACE_MAX)
    const leaveOwn = await this.#takeOne(this.#find(`${caller} ${host}`, pace), request)
    try {
      const leave = await this.#takeOne(this.#find(host, PACE_MAX), request)
      return () => {
        leave()
        leaveOwn()
      }
    } catch (error) {
      leaveOwn()
      throw error
    }
  }

  async #takeOne(host: Host, request: RateRequest): Promise<() => void> {
    request.signal.throwIfAborted()
    if (host.queues.size === 0 && hasCapacity(host)) {
      enter(host)
      return this.#leaveOnce(host)
    }
    await this.#waitInQueue(host, request)
    return this.#leaveOnce(host)
  }

  async #waitInQueue(host: Host, { host: name, caller, deadline, signal }: RateRequest): Promise<void> {
    const queue = host.queues.get(caller) ?? []
    const soonestMs = host.bucket.secondsUntil(queue.length + 1, host.pace) * 1000
    if (this.#now() + soonestMs > deadline) throw tooMany(`to ${name}`, soonestMs)
    host.queues.set(caller, queue)
    const turn = waitIn(queue, signal, tooMany(`to ${name}`), () => {
      if (queue.length > 0) return
      host.queues.delete(caller)
      this.#serve(host)
    })
    if (host.timer === undefined) this.#serve(host)
    await turn
  }

  #leaveOnce(host: Host): () => void {
    let isInFlight = true
    return () => {
      if (!isInFlight) return
      isInFlight = false
      host.inFlight -= 1
      if (host.queues.size > 0) this.#serve(host)
    }
  }

  /** An idle host whose bucket is full again is equal to a new one, so removing it allows no extra requests. */
  #forget(): void {
    const time = this.#now()
    if (this.#hosts.size <= HOSTS_MAX || time - this.#forgotAt < FORGET_EVERY_MS) return
    this.#forgotAt = time
    for (const [name, { queues, inFlight, bucket, pace }] of this.#hosts) {
      const restMs = (pace.burst / pace.perSecond) * 1000
      if (queues.size === 0 && inFlight === 0 && time - bucket.refilledAt * 1000 > restMs) this.#hosts.delete(name)
    }
  }

  /** @param name a host, or a plugin and a host */
  #find(name: string, pace: HostPace): Host {
    let host = this.#hosts.get(name)
    if (host === undefined) {
      host = { pace, bucket: new TokenBucket(pace, this.#seconds()), inFlight: 0, queues: new Map(), timer: undefined }
      this.#hosts.set(name, host)
      this.#forget()
    }
    // The time until now counts at the previous rate.
    host.bucket.refill(host.pace, this.#seconds())
    host.pace = pace
    host.bucket.refill(pace, this.#seconds())
    return host
  }

  /** Starts the requests that the rate allows, and sets a timer for the next. */
  #serve(host: Host): void {
    clearTimeout(host.timer)
    host.timer = undefined
    host.bucket.refill(host.pace, this.#seconds())
    for (const [caller, queue] of host.queues) {
      if (!hasCapacity(host)) break
      host.queues.delete(caller)
      enter(host)
      queue.shift()?.go()
      if (queue.length > 0) host.queues.set(caller, queue)
    }
    // When the limit of requests in flight is reached, the end of a request starts the next.
    if (host.queues.size === 0 || host.inFlight >= host.pace.parallelMax) return
    // Timers may fire a little early.
    host.timer = setTimeout(() => this.#serve(host), Math.max(host.bucket.secondsUntil(1, host.pace) * 1000, 1))
  }
}

const hasCapacity = ({ bucket, inFlight, pace }: Host): boolean => bucket.whole >= 1 && inFlight < pace.parallelMax

function enter(host: Host): void {
  host.bucket.take()
  host.inFlight += 1
}

/** Limits the requests in flight of each plugin. */
export class CallerSemaphore {
  readonly #permits = new Semaphore(Number.POSITIVE_INFINITY, PARALLEL_MAX)

  /** Waits until the plugin has fewer requests in flight. Returns a function to call at the end of the request. @throws GuestError rate_limited */
  async enter(caller: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#permits.waitingOf(caller) >= WAITING_MAX) throw tooMany('at once')
    return await this.#permits.enter(signal, { key: caller }).catch(() => {
      throw tooMany('at once')
    })
  }
}
