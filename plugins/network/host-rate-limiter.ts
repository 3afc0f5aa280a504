import { covers } from '#plugins/network/request.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** The rate that a service allows, according to the manifest of a plugin. */
export interface HostRate {
  perMinute: number
  /** Requests at once after a pause; default: the requests of ten seconds, so that the first minute is no worse than the next. */
  burst?: number | undefined
  /** Requests in flight. */
  maxParallel?: number | undefined
}
/** By host, or by `*.` and a parent domain. */
export type HostRates = Readonly<Record<string, HostRate>>

interface Pace {
  perSecond: number
  burst: number
  parallelMax: number
}

/** Of one host, by all plugins and users together: services bar whoever asks more. How many are under way is left to those who state it. */
const PACE_MAX: Pace = { perSecond: 5, burst: 10, parallelMax: Number.POSITIVE_INFINITY }
/** For so long a plugin that asks nothing keeps hosts at its rate: it may have been taken away since. */
const STATED_MS = 3_600_000
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
function stand(line: Waiting[], signal: AbortSignal, late: GuestError, onLeave: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      const index = line.indexOf(waiting)
      if (index >= 0) line.splice(index, 1)
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
    line.push(waiting)
    signal.addEventListener('abort', stop, { once: true })
  })
}

export interface WantedTurn {
  host: string
  /** The plugin. */
  caller: string
  /** By the clock of `performance.now()`. */
  deadline: number
  signal: AbortSignal
}

export interface HostRateLimiter {
  /** Replaces the rates that a plugin states: each host gets requests at the lowest rate that any plugin states. */
  state(caller: string, rates: HostRates): void
  /**
   * Waits for the rate limit of a host. The next request is of the plugin that has waited longest, not of the one with the most requests.
   * @returns a function to call at the end of the request
   * @throws GuestError rate_limited, at once when the deadline cannot be met
   */
  take(wanted: WantedTurn): Promise<() => void>
}

interface Host {
  pace: Pace
  tokens: number
  at: number
  /** Requests under way. */
  inside: number
  /** Queues by plugin, in the order of their next requests. */
  lines: Map<string, Waiting[]>
  timer: NodeJS.Timeout | undefined
}

const slower = (pace: Pace, { perMinute, burst = Math.floor(perMinute / 6), maxParallel = pace.parallelMax }: HostRate): Pace => ({
  perSecond: Math.min(pace.perSecond, perMinute / 60),
  burst: Math.max(Math.min(pace.burst, burst), 1),
  parallelMax: Math.max(Math.min(pace.parallelMax, maxParallel), 1),
})

/** @param now milliseconds of a clock that never goes back; another one in tests */
export function openHostRateLimiter(now: () => number = () => performance.now()): HostRateLimiter {
  return new FairRateLimiter(now)
}

class FairRateLimiter implements HostRateLimiter {
  readonly #now: () => number
  readonly #hosts = new Map<string, Host>()
  readonly #stated = new Map<string, { rates: HostRates; until: number }>()
  #forgotAt = 0

  constructor(now: () => number) {
    this.#now = now
  }

  state(caller: string, rates: HostRates): void {
    if (Object.keys(rates).length === 0) this.#stated.delete(caller)
    else this.#stated.set(caller, { rates, until: this.#now() + STATED_MS })
  }

  async take({ host: name, caller, deadline, signal }: WantedTurn): Promise<() => void> {
    signal.throwIfAborted()
    const host = this.#find(name)
    if (host.lines.size === 0 && hasTurn(host)) {
      enter(host)
      return this.#leaveOnce(host)
    }
    await this.#waitInLine(host, { host: name, caller, deadline, signal })
    return this.#leaveOnce(host)
  }

  async #waitInLine(host: Host, { host: name, caller, deadline, signal }: WantedTurn): Promise<void> {
    const line = host.lines.get(caller) ?? []
    const soonestMs = ((line.length + 1 - host.tokens) / host.pace.perSecond) * 1000
    if (this.#now() + soonestMs > deadline) throw tooMany(`to ${name}`, soonestMs)
    host.lines.set(caller, line)
    const turn = stand(line, signal, tooMany(`to ${name}`), () => {
      if (line.length > 0) return
      host.lines.delete(caller)
      this.#serve(host)
    })
    if (host.timer === undefined) this.#serve(host)
    await turn
  }

  #leaveOnce(host: Host): () => void {
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      host.inside -= 1
      if (host.lines.size > 0) this.#serve(host)
    }
  }

  #paceOf(name: string): Pace {
    const time = this.#now()
    let pace = PACE_MAX
    for (const [caller, { rates, until }] of this.#stated) {
      if (until < time) this.#stated.delete(caller)
      else for (const [pattern, rate] of Object.entries(rates)) if (covers(pattern, name)) pace = slower(pace, rate)
    }
    return pace
  }

  #refill(host: Host): void {
    const time = this.#now()
    const { perSecond, burst } = host.pace
    host.tokens = Math.min(burst, host.tokens + ((time - host.at) / 1000) * perSecond)
    host.at = time
  }

  /** One that is rested and awaited by nobody is no different from one that was never asked: forgetting it gives nothing away. */
  #forget(): void {
    const time = this.#now()
    if (this.#hosts.size <= HOSTS_MAX || time - this.#forgotAt < FORGET_EVERY_MS) return
    this.#forgotAt = time
    for (const [name, { lines, inside, at, pace }] of this.#hosts) {
      const restMs = (pace.burst / pace.perSecond) * 1000
      if (lines.size === 0 && inside === 0 && time - at > restMs) this.#hosts.delete(name)
    }
  }

  #find(name: string): Host {
    const pace = this.#paceOf(name)
    let host = this.#hosts.get(name)
    if (host === undefined) {
      host = { pace, tokens: pace.burst, at: this.#now(), inside: 0, lines: new Map(), timer: undefined }
      this.#hosts.set(name, host)
      this.#forget()
    }
    // What has passed since was at the rate of then.
    this.#refill(host)
    host.pace = pace
    host.tokens = Math.min(host.tokens, pace.burst)
    return host
  }

  /** Starts the requests that the rate allows, and sets a timer for the next. */
  #serve(host: Host): void {
    clearTimeout(host.timer)
    host.timer = undefined
    this.#refill(host)
    for (const [caller, line] of host.lines) {
      if (!hasTurn(host)) break
      host.lines.delete(caller)
      enter(host)
      line.shift()?.go()
      if (line.length > 0) host.lines.set(caller, line)
    }
    // When the limit of requests in flight is reached, the end of a request starts the next.
    if (host.lines.size === 0 || host.inside >= host.pace.parallelMax) return
    // Timers may fire a little early.
    host.timer = setTimeout(() => this.#serve(host), Math.max(((1 - host.tokens) / host.pace.perSecond) * 1000, 1))
  }
}

const hasTurn = ({ tokens, inside, pace }: Host): boolean => tokens >= 1 && inside < pace.parallelMax

function enter(host: Host): void {
  host.tokens -= 1
  host.inside += 1
}

export interface CallerSemaphore {
  /** Waits until the plugin has fewer requests in flight. Returns a function to call at the end of the request. @throws GuestError rate_limited */
  enter(caller: string, signal: AbortSignal): Promise<() => void>
}

export function openCallerSemaphore(): CallerSemaphore {
  const callers = new Map<string, { inside: number; line: Waiting[] }>()

  return {
    async enter(caller, signal) {
      signal.throwIfAborted()
      const places = callers.get(caller) ?? { inside: 0, line: [] }
      callers.set(caller, places)
      if (places.inside < PARALLEL_MAX) places.inside += 1
      else if (places.line.length >= WAITING_MAX) throw tooMany('at once')
      // Who leaves hands the place on, so that nobody who comes later can take it.
      else await stand(places.line, signal, tooMany('at once'), () => {})
      return () => {
        const next = places.line.shift()
        if (next) next.go()
        else if (--places.inside === 0) callers.delete(caller)
      }
    },
  }
}
