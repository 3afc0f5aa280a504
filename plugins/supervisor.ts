import type { Log } from '#core/log.ts'
import { GuestError, guestErrorCode } from './guest-error.ts'
import { type Death, type RunnerProcess, startRunner } from './runner-process.ts'

/** What runs in one isolate. */
export interface Program {
  /** For logs and messages. */
  name: string
  /** Programs of one place share a runner, and die with it. */
  place: string
  /** Classic scripts, in the order of their running; the last calls `register({ … })`. */
  sources: readonly { name: string; code: string }[]
  /** JavaScript heap. */
  memoryMbMax: number
  load: Budget
  /** Characters of a result as JSON. */
  resultLengthMax: number
  /** Calls that wait for their turn; more are refused. */
  queueMax: number
  /** After a call had to be ended the next one waits this long: whoever burns the processor gets a part of it and no more. */
  restMs: number
}

export interface Budget {
  cpuMs: number
  wallMs: number
}

export interface Answer {
  /** JSON, as the guest sent it: to be checked before it is believed. */
  text: string
  cpuMs: number
  wallMs: number
}

/** A program in its isolate, which is opened with the first call and again after it was ended. One call at a time. */
export interface Guest {
  /** @param text JSON of the one argument. @throws GuestError */
  call(name: string, text: string, budget: Budget): Promise<Answer>
  close(): void
}

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
const IDLE_MS = 5 * 60_000
/** Between two looks at the memory of busy runners: all bombs that were tried stayed under 302 MB with a limit of 256. */
const LOOK_EVERY_MS = 50
/** What a runner may need beyond a call's own deadline to end it by itself. */
const GRACE_MS = 250
/** A runner answers within microseconds, whatever its isolates do; one that does not within this time is stopped or worse. */
const SILENCE_MS_MAX = 2_000
/** Fits into a frame whatever letters it is made of. */
const ARGUMENT_LENGTH_MAX = 10_000_000
/** Starting takes 0.1 s; on a machine that is busy with everything at once, several. */
const START_MS_MAX = 15_000

interface Waiting {
  name: string
  text: string
  budget: Budget
  resolve: (answer: Answer) => void
  reject: (error: GuestError) => void
}

interface Running extends Waiting {
  deadline: NodeJS.Timeout
}

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

/** The side of a guest that its house speaks to. */
interface Inhabitant {
  onLoaded(): void
  onAnswer(header: { kind: 'done' | 'fail'; id: unknown; cpuMs: unknown; wallMs: unknown }, body: string): void
  onEnded(error: GuestError): void
  isBusy(): boolean
}

/**
 * Keeps runner processes and the isolates in them. This process never runs code of guests itself; whatever a guest does, at worst its runner is
 * killed and the next call is served by another, of which one is kept ready while any is in use.
 */
export function openSupervisor(options: SupervisorOptions): Supervisor {
  const { log, residentMbMax = RESIDENT_MB_MAX, idleMs = IDLE_MS } = options
  const houses = new Set<House>()
  let spare: House | null = null
  let lastId = 0
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
    const { kind, sandbox, code, message, stuck } = header as Record<string, unknown>
    const guest = typeof sandbox === 'number' ? house.guests.get(sandbox) : undefined
    if (guest === undefined) return
    if (kind === 'loaded') guest.onLoaded()
    else if (kind === 'done' || kind === 'fail') guest.onAnswer(header as Parameters<Inhabitant['onAnswer']>[0], body)
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
    const error = new GuestError(reason, DEATHS[reason])
    for (const guest of house.guests.values()) guest.onEnded(error)
    house.guests.clear()
  }

  /** The runner of a place: the one that serves it, the spare, or a new one. */
  const settle = (place: string): House => {
    let house = [...houses].find((candidate) => candidate.place === place && !candidate.doomed)
    if (house === undefined) {
      house = spare ?? startHouse()
      if (house === spare) spare = null
      house.place = place
    }
    house.lastUsed = performance.now()
    // Silence counts from now: a spare has had nothing to say.
    if (house.lastHeard !== Number.POSITIVE_INFINITY) house.lastHeard = house.lastUsed
    return house
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
      const busy = [...house.guests.values()].some((guest) => guest.isBusy())
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

  const open = (program: Program): Guest => {
    const waiting: Waiting[] = []
    let running: { id: number; call: Running } | null = null
    let home: { house: House; sandbox: number; loaded: boolean } | null = null
    let startDeadline: NodeJS.Timeout | null = null
    let gone = false
    let restUntil = 0
    const sources = JSON.stringify(program.sources)

    const inhabitant: Inhabitant = {
      isBusy: () => running !== null || (home !== null && !home.loaded),
      onLoaded() {
        if (home === null || home.loaded) return
        home.loaded = true
        if (startDeadline) clearTimeout(startDeadline)
        keepSpare()
        next()
      },
      onAnswer({ kind, id, cpuMs, wallMs }, body) {
        // An answer to what was not asked, or not any more.
        if (running === null || running.id !== id) return
        const { call } = running
        clearTimeout(call.deadline)
        running = null
        if (kind === 'done') call.resolve({ text: body, cpuMs: Number(cpuMs) || 0, wallMs: Number(wallMs) || 0 })
        else call.reject(readFailure(body))
        next()
      },
      onEnded(error) {
        const wasLoaded = home?.loaded ?? false
        home = null
        if (running) restUntil = performance.now() + program.restMs
        if (startDeadline) clearTimeout(startDeadline)
        if (running) {
          const { call } = running
          clearTimeout(call.deadline)
          running = null
          call.reject(error)
        } else if (!wasLoaded) {
          // A program that cannot be started serves nobody: all who wait hear why.
          for (const call of waiting.splice(0)) call.reject(error)
        }
        next()
      },
    }

    const move = (): void => {
      const house = settle(program.place)
      const sandbox = ++lastId
      home = { house, sandbox, loaded: false }
      house.guests.set(sandbox, inhabitant)
      startDeadline = setTimeout(() => condemn(house, 'timeout'), START_MS_MAX)
      const limits = {
        memoryMbMax: program.memoryMbMax,
        loadCpuMs: program.load.cpuMs,
        loadWallMs: program.load.wallMs,
        resultLength: program.resultLengthMax,
      }
      house.runner.send({ kind: 'load', sandbox, limits }, sources)
    }

    const next = (): void => {
      if (gone || running !== null || waiting.length === 0) return
      const restMs = restUntil - performance.now()
      if (restMs > 0) {
        setTimeout(next, restMs)
        return
      }
      if (home === null) move()
      if (home === null || !home.loaded) return
      const { house, sandbox } = home
      const call = waiting.shift() as Waiting
      const id = ++lastId
      const deadline = setTimeout(() => condemn(house, 'timeout'), call.budget.wallMs + GRACE_MS)
      running = { id, call: { ...call, deadline } }
      house.lastUsed = performance.now()
      house.runner.send({ kind: 'call', sandbox, id, name: call.name, budget: call.budget }, call.text)
    }

    return {
      call: (name, text, budget) =>
        new Promise((resolve, reject) => {
          if (gone || closed) return reject(new GuestError('closed', `${program.name} was closed.`))
          if (text.length > ARGUMENT_LENGTH_MAX)
            return reject(
              new GuestError(
                'invalid_argument',
                `An argument of ${text.length} characters is too large; ${ARGUMENT_LENGTH_MAX} are allowed.`,
              ),
            )
          if (waiting.length >= program.queueMax)
            return reject(new GuestError('busy', `${waiting.length} calls already wait for ${program.name}; try again shortly.`))
          waiting.push({ name, text, budget, resolve, reject })
          next()
        }),
      close() {
        gone = true
        if (home) {
          home.house.guests.delete(home.sandbox)
          home.house.runner.send({ kind: 'close', sandbox: home.sandbox })
        }
        inhabitant.onEnded(new GuestError('closed', `${program.name} was closed.`))
        for (const call of waiting.splice(0)) call.reject(new GuestError('closed', `${program.name} was closed.`))
      },
    }
  }

  return {
    open,
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

/** What the prelude says of a failure; it is the guest's word. */
function readFailure(body: string): GuestError {
  try {
    const { code, message, own } = JSON.parse(body) as Record<string, unknown>
    return new GuestError(guestErrorCode(code), typeof message === 'string' ? message : '', typeof own === 'string' ? own : null)
  } catch {
    return new GuestError('crash', 'The sandbox gave an answer that cannot be read.')
  }
}
