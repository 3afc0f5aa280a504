import type { Log } from '#core/foundation/log.ts'
import { type Guest, openGuest } from './guest.ts'
import { GuestError } from './guest-error.ts'
import { UTF8_BYTES_MAX } from './guest-text.ts'
import { createPlacement, type Isolation, pauseMs } from './placement.ts'
import type { Program } from './program.ts'
import { type Death, type RunnerProcess, startRunner } from './runner-process.ts'
import type { Home, Inhabitant } from './tenancy.ts'

export interface Supervisor {
  open(program: Program): Guest
  /** How many runners live, their resident memory in bytes, and how many isolates wait for one of them. */
  state(): { runners: number; residentBytes: number; waiting: number }
  close(): void
}

export interface SupervisorOptions {
  log: Log
  /** `strict` unless said otherwise. */
  isolation?: Isolation
  /** Without V8's compilers: computing takes up to ten times as long, and there is less to attack. */
  hardened?: boolean
  /** Of one runner, in place of what its kind may have; an isolate's own limit does not see everything. */
  residentMbMax?: number
  /** Whether a runner stands ready while another is in use: so it is, unless said otherwise. For what ends with its first plugin it would be started in vain. */
  spare?: boolean
  /** Runners that nobody calls are ended after this long. */
  idleMs?: number
  /** Another program in place of the runner: one that was overcome, for instance. */
  runnerPath?: string
  /** What makes an isolate old; see the guest. */
  renewal?: { callsMax?: number; ageMsMax?: number }
}

const RESIDENT_MB_MAX = { own: 256, shared: 512 }
/** From this part of it on isolates that nobody calls are closed. */
const RESIDENT_SOFT = 0.75
/** Some 55 MB each; where more places are called, the runner that was used longest ago makes room, or they wait. The spare comes on top. */
const RUNNERS_MAX: Record<Isolation, number> = { strict: 6, grouped: 3 }
/** As long as the longest of what people wait for; a refresh may hold a runner for longer. */
const ROOM_WAIT_MS_MAX = 30_000
const IDLE_MS = 5 * 60_000
/** What is tried out alone is as a rule tried more than once in a row: loaded, its data migrated, set up. */
const PASSING_IDLE_MS = 2_000
/** Between two looks at the memory of busy runners: all bombs that were tried stayed under 302 MB with a limit of 256. */
const LOOK_EVERY_MS = 50
const PING_EVERY_MS = 1_000
/** A runner answers within microseconds, whatever its isolates do; one that does not within this time is stopped or worse. */
const SILENCE_MS_MAX = 2_000
/** One that nobody waits for may be what the system puts to sleep first. */
const IDLE_SILENCE_MS_MAX = 10_000
const START_MS_MAX = 15_000
/** Runners that die before they are ready, in a row: then it is not by chance, and whoever waits hears of it. */
const STILLBORN_MAX = 3
/** Messages that nobody asked for, within a second: a closed isolate leaves some hundreds behind at most. */
const STRAYS_MAX = 2_000
/** So many bytes of a body that nobody waits for count as one more, up to a quarter of what may stray: an answer that came too late is no offence. */
const STRAY = { bytes: 8 * 1024, countMax: STRAYS_MAX / 4 }

/** A runner, and who lives in it. */
interface House {
  runner: RunnerProcess
  place: string | null
  /** One of those of which there are few, and which is ended when nobody lives in it any more. */
  isCounted: boolean
  isPassing: boolean
  guests: Map<number, { inhabitant: Inhabitant; program: Program }>
  startedAt: number
  lastUsed: number
  /** Infinity until the process is there: before that its silence means nothing. */
  lastHeard: number
  strays: number
  /** The place of who is known to have had it killed. */
  culprit: string | null
  /** Being killed: nobody moves in any more. */
  doomed: boolean
}

interface Arrival {
  program: Program
  sandbox: number
  inhabitant: Inhabitant
  since: number
}

/**
 * Keeps runner processes and the isolates in them. This process never runs code of guests itself; whatever a guest does, at worst its runner is
 * killed and the next call is served by another, of which one is kept ready while any is in use.
 */
export function openSupervisor(options: SupervisorOptions): Supervisor {
  const { log, isolation = 'strict', hardened = false, idleMs = IDLE_MS, renewal, runnerPath } = options
  const placement = createPlacement(isolation)
  const houses = new Set<House>()
  const arrivals: Arrival[] = []
  /** Runners that died before they were ready, in a row. */
  let stillborn = 0
  let startsFrom = 0
  let spare: House | null = null
  let isSettling = false
  let closed = false

  const startHouse = (): House => {
    const now = performance.now()
    const house: House = {
      runner: startRunner(
        log,
        {
          isWanted: (header, bodyBytes) => isWanted(house, header, bodyBytes),
          onFrame: (header, body) => {
            if (house.doomed) return
            house.lastHeard = performance.now()
            if (hear(house, header, body)) return
            house.strays += 1
            if (house.strays > STRAYS_MAX) accuse(house, null, 'messages that nobody asked for')
          },
          onDeath: (reason) => bury(house, reason),
        },
        { hardened, path: runnerPath },
      ),
      ...{ place: null, isCounted: false, isPassing: false, guests: new Map() },
      ...{ startedAt: now, lastUsed: now, lastHeard: Number.POSITIVE_INFINITY, strays: 0, culprit: null, doomed: false },
    }
    house.runner.ready.then(
      () => {
        stillborn = 0
        house.lastHeard = performance.now()
      },
      () => {},
    )
    houses.add(house)
    return house
  }

  /** Asked before a body is read: by the header alone, whose body is never longer than what it announces. */
  const isWanted = (house: House, header: unknown, bodyBytes: number): boolean => {
    if (house.doomed || header === null || typeof header !== 'object') return false
    const said = header as Record<string, unknown>
    const guest = typeof said['sandbox'] === 'number' ? house.guests.get(said['sandbox']) : undefined
    const lengthMax = guest?.inhabitant.lengthMaxOf(said) ?? null
    // What nobody waits for is let go unread, as often as strays may come.
    if (guest === undefined || lengthMax === null) {
      house.strays += Math.min(Math.ceil(bodyBytes / STRAY.bytes), STRAY.countMax)
      return false
    }
    if (bodyBytes <= lengthMax * UTF8_BYTES_MAX) return true
    accuse(house, guest.program.place, `a message of ${bodyBytes} bytes where ${lengthMax} characters are allowed`)
    return false
  }

  /** @returns whether it was something that somebody waits for */
  const hear = (house: House, header: unknown, body: string): boolean => {
    if (header === null || typeof header !== 'object') return false
    const { kind, sandbox, id, code, message, stuck, defined } = header as Record<string, unknown>
    // One for each look at most: see the count of strays.
    if (kind === 'pong') return false
    const guest = typeof sandbox === 'number' ? house.guests.get(sandbox) : undefined
    if (guest === undefined) {
      // It was closed in the middle of what nothing can interrupt; who lives there still is not to blame.
      if (kind === 'ended' && stuck === true) {
        house.culprit ??= ''
        condemn(house, 'crash')
      }
      return false
    }
    const { inhabitant, program } = guest
    if (kind === 'loaded') {
      const isNews = inhabitant.onLoaded(defined)
      if (isNews) keepSpare()
      return isNews
    }
    if (kind === 'done' || kind === 'fail') {
      const isAnswer = inhabitant.onAnswer(header as Parameters<Inhabitant['onAnswer']>[0], body)
      // It has lived alone to show that it was another.
      if (isAnswer && placement.clear(program)) inhabitant.onUnwanted()
      return isAnswer
    }
    if (kind === 'host') return inhabitant.onRequest(header as Parameters<Inhabitant['onRequest']>[0], body)
    if (kind === 'log' || kind === 'progress' || kind === 'uncaught') return inhabitant.onSay(kind, id, body)
    if (kind === 'inspect') return inhabitant.onInspect(body)
    if (kind !== 'ended') return false
    house.guests.delete(sandbox as number)
    if (stuck === true) {
      house.culprit ??= program.place
      condemn(house, 'crash')
    }
    // Who is alone because of what it may do to its process is not let into the same one after it has broken a limit in there.
    if (program.alone && house.guests.size === 0) condemn(house, 'closed')
    inhabitant.onOver({ code, message, stack: body })
    return true
  }

  const condemn = (house: House, reason: Death): void => {
    if (house.doomed) return
    house.doomed = true
    house.runner.kill(reason)
    vacate(house, reason)
  }

  const accuse = (house: House, culprit: string | null, what: string): void => {
    if (house.doomed) return
    house.culprit ??= culprit
    log.warn({ pid: house.runner.pid, place: house.place, what }, 'A plugin runner is not in its own hands any more and was ended')
    condemn(house, 'crash')
  }

  const bury = (house: House, reason: Death): void => {
    houses.delete(house)
    if (!house.doomed) {
      house.doomed = true
      vacate(house, reason)
    }
  }

  /** Tells all who live there that it has ended, and finds out who was to blame. */
  const vacate = (house: House, reason: Death): void => {
    const now = performance.now()
    if (spare === house) spare = null
    const isStillborn = reason !== 'closed' && house.lastHeard === Number.POSITIVE_INFINITY
    if (isStillborn) {
      stillborn += 1
      startsFrom = now + pauseMs(stillborn + 1)
    }
    const guests = [...house.guests.values()]
    house.guests.clear()
    const suspects = new Set(guests.filter(({ inhabitant }) => inhabitant.isBusy()).map(({ program }) => program.place))
    const culprit = house.culprit ?? (suspects.size === 1 && !isStillborn ? ([...suspects][0] as string) : null)
    if (reason !== 'closed' && !isStillborn) placement.blame(culprit === null ? { suspects: [...suspects] } : { culprit }, now)
    if (suspects.size > 1 && culprit === null)
      log.warn({ places: [...suspects] }, 'Any of several plugins may have ended their runner; each is tried alone now')
    const isWorthAgain = !closed && (!isStillborn || stillborn < STILLBORN_MAX)
    for (const { inhabitant, program } of guests)
      inhabitant.onEnded(new GuestError(reason, DEATHS[reason]), isWorthAgain && program.place !== culprit)
    settle()
  }

  const isBusy = (house: House): boolean => {
    for (const { inhabitant } of house.guests.values()) if (inhabitant.isBusy()) return true
    return false
  }

  /** @returns whether there is room for one more runner */
  const makeRoom = (): boolean => {
    const counted = [...houses].filter((house) => house.isCounted && !house.doomed)
    if (counted.length < RUNNERS_MAX[isolation]) return true
    const [oldest] = counted.filter((house) => !isBusy(house)).sort((a, b) => a.lastUsed - b.lastUsed)
    if (oldest) condemn(oldest, 'closed')
    return oldest !== undefined
  }

  /** The runner of a place: the one that serves it, the spare, or a new one; null while there is no room. */
  const houseOf = (program: Program, now: number): House | null => {
    const place = placement.placeOf(program, now)
    let house = [...houses].find((candidate) => candidate.place === place && !candidate.doomed)
    if (house === undefined) {
      if (placement.waitsUntil(program) > now || (spare === null && startsFrom > now)) return null
      // The server's own programs neither wait nor are in anybody's way.
      const isCounted = program.plugin !== undefined
      if (isCounted && !makeRoom()) return null
      house = spare ?? startHouse()
      if (house === spare) spare = null
      house.place = place
      house.isCounted = isCounted
      house.isPassing = program.alone === true || (isolation === 'grouped' && isCounted && !placement.isShared(place))
    }
    house.lastUsed = now
    // Silence counts from now: a spare has had nothing to say.
    if (house.lastHeard !== Number.POSITIVE_INFINITY) house.lastHeard = now
    return house
  }

  /** Lets in whoever there is room for, in the order of their coming. */
  const settle = (): void => {
    // Whoever moves out to make room may want to come back at once.
    if (isSettling) return
    isSettling = true
    const now = performance.now()
    for (let moved = true; moved; ) {
      moved = false
      for (const arrival of [...arrivals]) {
        if (!arrivals.includes(arrival)) continue
        const house = houseOf(arrival.program, now)
        if (house === null && now - arrival.since <= ROOM_WAIT_MS_MAX) continue
        moved = true
        arrivals.splice(arrivals.indexOf(arrival), 1)
        if (house !== null) moveIn(house, arrival)
        else arrival.inhabitant.onEnded(new GuestError('busy', 'All processes for plugins are busy; try again shortly.'), false)
      }
    }
    isSettling = false
    // Nothing else may keep this process alive for those who wait.
    if (arrivals.length > 0) watch.ref()
    else watch.unref()
  }

  const moveIn = (house: House, { sandbox, inhabitant, program }: Arrival): void => {
    house.guests.set(sandbox, { inhabitant, program })
    const home: Home = {
      send(header, body) {
        house.lastUsed = performance.now()
        house.runner.send(header, body)
      },
      condemn: () => condemn(house, 'timeout'),
      accuse: (what) => accuse(house, program.place, what),
      leave: () => house.guests.delete(sandbox),
    }
    inhabitant.onHome(home)
  }

  const arrive = (program: Program, sandbox: number, inhabitant: Inhabitant): (() => void) => {
    if (closed) {
      inhabitant.onEnded(new GuestError('closed', DEATHS.closed), false)
      return () => {}
    }
    const arrival = { program, sandbox, inhabitant, since: performance.now() }
    arrivals.push(arrival)
    settle()
    return () => {
      const at = arrivals.indexOf(arrival)
      if (at >= 0) arrivals.splice(at, 1)
    }
  }

  /** Once somebody lives somewhere, another runner stands ready in case that one has to be killed. */
  const keepSpare = (): void => {
    if (options.spare !== false && !closed && spare === null && startsFrom <= performance.now()) spare = startHouse()
  }

  const bytesMaxOf = ({ place }: House): number =>
    (options.residentMbMax ?? RESIDENT_MB_MAX[place !== null && placement.isShared(place) ? 'shared' : 'own']) * 1024 * 1024

  /** The memory of one runner. */
  const weigh = (house: House, busy: boolean): void => {
    const bytes = house.runner.residentBytes()
    const bytesMax = bytesMaxOf(house)
    if (bytes > bytesMax * RESIDENT_SOFT)
      for (const { inhabitant } of house.guests.values()) if (!inhabitant.isBusy()) inhabitant.onUnwanted()
    if (bytes <= bytesMax) return
    log.warn({ pid: house.runner.pid, place: house.place, bytes, bytesMax }, 'A plugin runner needed too much memory and was ended')
    condemn(house, busy ? 'memory' : 'closed')
  }

  let lookedAt = performance.now()
  let pingedAt = 0
  const look = (): void => {
    const now = performance.now()
    // What came while this process was busy itself is read after this: nobody was silent for that time.
    const lateMs = Math.max(now - lookedAt - 2 * LOOK_EVERY_MS, 0)
    lookedAt = now
    const isPing = now - pingedAt > PING_EVERY_MS
    if (isPing) pingedAt = now
    let used = false
    for (const house of houses) {
      if (house.doomed) continue
      house.lastHeard += lateMs
      const busy = isBusy(house)
      if (busy) house.lastUsed = now
      const isSilent = now - house.lastHeard > (busy ? SILENCE_MS_MAX : IDLE_SILENCE_MS_MAX)
      if (isSilent || (house.lastHeard === Number.POSITIVE_INFINITY && now - house.startedAt > START_MS_MAX)) {
        log.warn({ pid: house.runner.pid, place: house.place }, 'A plugin runner does not answer and was ended')
        condemn(house, 'timeout')
      } else if (busy || isPing) weigh(house, busy)
      if (isPing) {
        house.strays = 0
        house.runner.send({ kind: 'ping', id: 0 })
      }
      if (house === spare) continue
      const hasPassed = house.isPassing && house.guests.size === 0
      if (!busy && now - house.lastUsed > (hasPassed ? Math.min(PASSING_IDLE_MS, idleMs) : idleMs)) condemn(house, 'closed')
      else used = true
    }
    if (!used && spare) condemn(spare, 'closed')
    if (isPing) placement.tidy(now)
    if (arrivals.length > 0) settle()
  }
  const watch = setInterval(look, LOOK_EVERY_MS)
  watch.unref()

  return {
    open: (program) => openGuest(program, (sandbox, inhabitant) => arrive(program, sandbox, inhabitant), renewal),
    state: () => ({
      runners: houses.size,
      residentBytes: [...houses].reduce((sum, { runner }) => sum + runner.residentBytes(), 0),
      waiting: arrivals.length,
    }),
    close() {
      closed = true
      clearInterval(watch)
      for (const { inhabitant } of arrivals.splice(0)) inhabitant.onEnded(new GuestError('closed', DEATHS.closed), false)
      for (const house of houses) condemn(house, 'closed')
    },
  }
}

const DEATHS: Record<Death, string> = {
  memory: 'The code needed more memory than its process may have.',
  timeout: 'The code did not come back in time, and its process was ended.',
  crash: 'The process of the code died.',
  closed: 'The process of the code was ended because the server is stopping or nobody used it.',
}
