import { GuestError } from '#plugins/guest-error.ts'

/** Requests a second and at once to one host, by all plugins and users together: services bar whoever asks more. */
const HOST_RATE = { perSecond: 5, burst: 10 }
/** After so long a host owes nothing. */
const REST_MS = (HOST_RATE.burst / HOST_RATE.perSecond) * 1000
/** Hosts that are remembered before those are forgotten that have had their rest. */
const HOSTS_MAX = 1_000
/** Requests of one plugin under way, for all its readers: each may hold an answer of megabytes, and so many may wait for one host. */
const PARALLEL_MAX = 6
/** Requests of one plugin that wait to be under way; as many as its calls can have. */
const WAITING_MAX = 64

interface Waiting {
  go: () => void
  leave: (error: Error) => void
}

const tooMany = (of: string): GuestError => new GuestError('thrown', `Too many requests ${of}; wait a little.`, 'rate_limited')

/** Waits in a line until it is let go; leaves the line when the signal says so. */
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

export interface HostTurns {
  /**
   * Waits for a turn with a host. The next turn goes to whichever plugin has waited longest for one, not to whoever asks most.
   * @param deadline by `performance.now()`
   * @throws GuestError rate_limited, at once where the turn cannot come in time
   */
  take(wanted: { host: string; caller: string; deadline: number; signal: AbortSignal }): Promise<void>
}

interface Host {
  tokens: number
  at: number
  /** Lines by plugin, in the order of their next turns. */
  lines: Map<string, Waiting[]>
  timer: NodeJS.Timeout | undefined
}

export function openHostTurns(): HostTurns {
  const hosts = new Map<string, Host>()
  let forgotAt = 0

  function refill(host: Host): void {
    const now = performance.now()
    host.tokens = Math.min(HOST_RATE.burst, host.tokens + ((now - host.at) / 1000) * HOST_RATE.perSecond)
    host.at = now
  }

  /** One that is rested and awaited by nobody is no different from one that was never asked: forgetting it gives nothing away. */
  function forget(): void {
    const now = performance.now()
    if (hosts.size <= HOSTS_MAX || now - forgotAt < REST_MS) return
    forgotAt = now
    for (const [name, host] of hosts) if (host.lines.size === 0 && now - host.at > REST_MS) hosts.delete(name)
  }

  function find(name: string): Host {
    let host = hosts.get(name)
    if (host === undefined) {
      host = { tokens: HOST_RATE.burst, at: performance.now(), lines: new Map(), timer: undefined }
      hosts.set(name, host)
      forget()
    }
    refill(host)
    return host
  }

  function schedule(host: Host): void {
    clearTimeout(host.timer)
    host.timer = undefined
    if (host.lines.size === 0) return
    // Timers may fire a little early.
    const waitMs = Math.max(((1 - host.tokens) / HOST_RATE.perSecond) * 1000, 1)
    host.timer = setTimeout(() => {
      refill(host)
      for (const [caller, line] of host.lines) {
        if (host.tokens < 1) break
        host.lines.delete(caller)
        host.tokens -= 1
        line.shift()?.go()
        if (line.length > 0) host.lines.set(caller, line)
      }
      schedule(host)
    }, waitMs)
  }

  return {
    async take({ host: name, caller, deadline, signal }) {
      signal.throwIfAborted()
      const host = find(name)
      if (host.lines.size === 0 && host.tokens >= 1) {
        host.tokens -= 1
        return
      }
      const line = host.lines.get(caller) ?? []
      const soonestMs = ((line.length + 1 - host.tokens) / HOST_RATE.perSecond) * 1000
      if (performance.now() + soonestMs > deadline) throw tooMany(`to ${name}`)
      host.lines.set(caller, line)
      const turn = stand(line, signal, tooMany(`to ${name}`), () => {
        if (line.length > 0) return
        host.lines.delete(caller)
        schedule(host)
      })
      if (host.timer === undefined) schedule(host)
      await turn
    },
  }
}

export interface CallerSlots {
  /** Waits until the plugin has fewer requests under way; to be called when the request has ended. @throws GuestError rate_limited */
  enter(caller: string, signal: AbortSignal): Promise<() => void>
}

export function openCallerSlots(): CallerSlots {
  const callers = new Map<string, { inside: number; line: Waiting[] }>()

  return {
    async enter(caller, signal) {
      signal.throwIfAborted()
      const slots = callers.get(caller) ?? { inside: 0, line: [] }
      callers.set(caller, slots)
      if (slots.inside < PARALLEL_MAX) slots.inside += 1
      else if (slots.line.length >= WAITING_MAX) throw tooMany('at once')
      // Who leaves hands the place on, so that nobody who comes later can take it.
      else await stand(slots.line, signal, tooMany('at once'), () => {})
      return () => {
        const next = slots.line.shift()
        if (next) next.go()
        else if (--slots.inside === 0) callers.delete(caller)
      }
    },
  }
}
