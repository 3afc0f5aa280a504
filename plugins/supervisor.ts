import type { Log } from '#core/log.ts'
import { type Guest, type Home, type Inhabitant, openGuest, type Program } from './guest.ts'
import { GuestError, guestErrorCode } from './guest-error.ts'
import { type Death, type RunnerProcess, startRunner } from './runner-process.ts'

export interface Supervisor {
  open(program: Program): Guest
  /** How many runners live, and their resident memory in bytes. */
  state(): { runners: number; residentBytes: number }
  close(): void
}

export interface SupervisorOptions {
  log: Log
  /** Of one runner; an isolate's own limit does not see everything. */
  residentMbMax?: number
  /** Runners that nobody calls are ended after this long. */
  idleMs?: number
}

const RESIDENT_MB_MAX = 256
/** Some 55 MB each; where more places are called, the runner that was used longest ago makes room. The spare comes on top. */
const RUNNERS_MAX = 6
const IDLE_MS = 5 * 60_000
/** Between two looks at the memory of busy runners: all bombs that were tried stayed under 302 MB with a limit of 256. */
const LOOK_EVERY_MS = 50
/** A runner answers within microseconds, whatever its isolates do; one that does not within this time is stopped or worse. */
const SILENCE_MS_MAX = 2_000

/** A runner, and who lives in it. */
interface House {
  runner: RunnerProcess
  place: string | null
  guests: Map<number, Inhabitant>
  lastUsed: number
  /** Infinity until the process is there: before that its silence means nothing. */
  lastHeard: number
  /** Being killed: nobody moves in any more. */
  doomed: boolean
}

/**
 * Keeps runner processes and the isolates in them. This process never runs code of guests itself; whatever a guest does, at worst its runner is
 * killed and the next call is served by another, of which one is kept ready while any is in use.
 */
export function openSupervisor(options: SupervisorOptions): Supervisor {
  const { log, residentMbMax = RESIDENT_MB_MAX, idleMs = IDLE_MS } = options
  const houses = new Set<House>()
  let spare: House | null = null
  let closed = false

  const startHouse = (): House => {
    const house: House = {
      runner: startRunner(log, {
        onFrame: (header, body) => hear(house, header, body),
        onDeath: (reason) => bury(house, reason),
      }),
      place: null,
      guests: new Map(),
      lastUsed: performance.now(),
      lastHeard: Number.POSITIVE_INFINITY,
      doomed: false,
    }
    house.runner.ready.then(
      () => {
        house.lastHeard = performance.now()
      },
      () => {},
    )
    houses.add(house)
    return house
  }

  const hear = (house: House, header: unknown, body: string): void => {
    house.lastHeard = performance.now()
    if (header === null || typeof header !== 'object') return
    const { kind, sandbox, id, code, message, stuck, defined } = header as Record<string, unknown>
    const guest = typeof sandbox === 'number' ? house.guests.get(sandbox) : undefined
    if (guest === undefined) return
    if (kind === 'loaded') {
      guest.onLoaded(defined)
      keepSpare()
    } else if (kind === 'done' || kind === 'fail') guest.onAnswer(header as Parameters<Inhabitant['onAnswer']>[0], body)
    else if (kind === 'host' || kind === 'log' || kind === 'progress') guest.onRequest(kind, id, body)
    else if (kind === 'ended') {
      house.guests.delete(sandbox as number)
      if (stuck === true) condemn(house, 'crash')
      guest.onEnded(new GuestError(guestErrorCode(code), typeof message === 'string' ? message : 'The sandbox was ended.'))
    }
  }

  const condemn = (house: House, reason: Death): void => {
    house.doomed = true
    house.runner.kill(reason)
  }

  const bury = (house: House, reason: Death): void => {
    houses.delete(house)
    if (spare === house) spare = null
    const guests = [...house.guests.values()]
    house.guests.clear()
    for (const guest of guests) guest.onEnded(new GuestError(reason, DEATHS[reason]))
  }

  const isBusy = (house: House): boolean => [...house.guests.values()].some((guest) => guest.isBusy())

  const makeRoom = (): void => {
    const serving = [...houses].filter((house) => house !== spare && !house.doomed)
    if (serving.length < RUNNERS_MAX) return
    const [oldest] = serving.filter((house) => !isBusy(house)).sort((a, b) => a.lastUsed - b.lastUsed)
    if (oldest) condemn(oldest, 'closed')
  }

  /** The runner of a place: the one that serves it, the spare, or a new one. */
  const settle = (place: string): House => {
    let house = [...houses].find((candidate) => candidate.place === place && !candidate.doomed)
    if (house === undefined) {
      makeRoom()
      house = spare ?? startHouse()
      if (house === spare) spare = null
      house.place = place
    }
    house.lastUsed = performance.now()
    // Silence counts from now: a spare has had nothing to say.
    if (house.lastHeard !== Number.POSITIVE_INFINITY) house.lastHeard = house.lastUsed
    return house
  }

  const moveIn = (place: string, sandbox: number, inhabitant: Inhabitant): Home => {
    const house = settle(place)
    house.guests.set(sandbox, inhabitant)
    return {
      send(header, body) {
        house.lastUsed = performance.now()
        house.runner.send(header, body)
      },
      condemn: () => condemn(house, 'timeout'),
      leave: () => house.guests.delete(sandbox),
    }
  }

  /** Once somebody lives somewhere, another runner stands ready in case that one has to be killed. */
  const keepSpare = (): void => {
    if (!closed && spare === null) spare = startHouse()
  }

  const look = (): void => {
    const now = performance.now()
    let used = false
    for (const house of houses) {
      if (house === spare) continue
      const busy = isBusy(house)
      if (busy) house.lastUsed = now
      if (busy && house.runner.residentBytes() > residentMbMax * 1024 * 1024) {
        log.warn({ pid: house.runner.pid, place: house.place, residentMbMax }, 'A plugin runner needed too much memory and was ended')
        condemn(house, 'memory')
      } else if (busy && now - house.lastHeard > SILENCE_MS_MAX) {
        log.warn({ pid: house.runner.pid, place: house.place }, 'A plugin runner does not answer and was ended')
        condemn(house, 'timeout')
      } else if (busy && now - house.lastHeard > SILENCE_MS_MAX / 4) house.runner.send({ kind: 'ping', id: 0 })
      if (!busy && now - house.lastUsed > idleMs) condemn(house, 'closed')
      else used = true
    }
    if (!used && spare) condemn(spare, 'closed')
  }
  const watch = setInterval(look, LOOK_EVERY_MS)
  watch.unref()

  return {
    open: (program) => openGuest(program, (sandbox, inhabitant) => moveIn(program.place, sandbox, inhabitant)),
    state: () => ({
      runners: houses.size,
      residentBytes: [...houses].reduce((sum, { runner }) => sum + runner.residentBytes(), 0),
    }),
    close() {
      closed = true
      clearInterval(watch)
      for (const { runner } of houses) runner.kill('closed')
    },
  }
}

const DEATHS: Record<Death, string> = {
  memory: 'The code needed more memory than its process may have.',
  timeout: 'The code did not come back in time, and its process was ended.',
  crash: 'The process of the code died.',
  closed: 'The process of the code was ended because the server is stopping or nobody used it.',
}
