import { GuestError } from './guest-error.ts'
import type { Answer, Budget, CallOptions, Program } from './program.ts'
import { type Call, type Inhabitant, openTenancy, SETUP, type Tenancy } from './tenancy.ts'

/**
 * A program in its isolate, which is opened with the first call and again after it was ended or has become old. A call of `setup` that succeeded is
 * made again in every isolate that takes the place of the first, before any other call.
 */
export interface Guest {
  /** @param text JSON of the one argument. @throws GuestError */
  call(name: string, text: string, budget: Budget, options?: CallOptions): Promise<Answer>
  /** Opens the isolate if it is not open; answers the paths of the functions that a plugin has defined. @throws GuestError */
  load(): Promise<readonly string[]>
  close(): void
}

/** After so many calls, or so long, another isolate takes over: whatever the code has gathered goes with the old one. */
const CALLS_MAX = 1_000
const AGE_MS_MAX = 60 * 60_000
/** Fits into a frame whatever letters it is made of. */
const ARGUMENT_LENGTH_MAX = 10_000_000
/** Two configurations of 32 KB and what else a context is made of. */
const MORE_LENGTH_MAX = 72 * 1024

/** @param moveIn finds a home for a tenancy, at once or later, and returns how to stop looking */
export function openGuest(
  program: Program,
  moveIn: (sandbox: number, inhabitant: Inhabitant) => () => void,
  { callsMax = CALLS_MAX, ageMsMax = AGE_MS_MAX } = {},
): Guest {
  const waiting: Call[] = []
  const loading: { resolve: (defined: readonly string[]) => void; reject: (error: GuestError) => void }[] = []
  const sources = JSON.stringify(program.sources)
  /** The call of `setup` that every further isolate begins with. */
  let setup: Pick<Call, 'text' | 'budget' | 'options'> | null = null
  let current: Tenancy | null = null
  /** What an old isolate has begun it also ends. */
  let retiring: Tenancy | null = null
  let restUntil = 0
  let gone = false

  const open = (): Tenancy => {
    const tenancy: Tenancy = openTenancy(program, sources, moveIn, {
      onLoaded() {
        for (const one of loading.splice(0)) one.resolve(tenancy.defined ?? [])
        next()
      },
      onAnswer() {
        if (retiring !== null && retiring.running === 0) retire(retiring)
        next()
      },
      onEnded({ error, again, wasReady, wasRunning }) {
        if (retiring === tenancy) retiring = null
        if (current === tenancy) current = null
        if (wasRunning) restUntil = performance.now() + program.restMs
        // A program that cannot be started serves nobody: all who wait hear why.
        if (!wasReady && !again) for (const one of [...waiting.splice(0), ...loading.splice(0)]) one.reject(error)
        next()
      },
      onRepeat: (calls) => waiting.unshift(...calls),
      beginWith: () => setup,
    })
    return tenancy
  }

  const retire = (tenancy: Tenancy): void => {
    if (retiring === tenancy) retiring = null
    tenancy.close()
  }

  const renewIfOld = (): void => {
    if (current === null || !current.isReady || retiring !== null) return
    if (current.calls < callsMax && performance.now() - current.since < ageMsMax && !current.isUnwanted) return
    const old = current
    current = null
    if (old.running === 0) old.close()
    else retiring = old
  }

  const next = (): void => {
    if (gone || (waiting.length === 0 && loading.length === 0)) return
    const restMs = restUntil - performance.now()
    if (restMs > 0) {
      setTimeout(next, restMs)
      return
    }
    renewIfOld()
    if (current === null) {
      const opened = open()
      current = opened
      // It may find a home at once, and one that is refused at once is no more.
      opened.seek()
    }
    while (current?.isReady && waiting.length > 0 && current.running < program.concurrency) {
      current.begin(waiting.shift() as Call)
      renewIfOld()
      if (current === null) next()
    }
  }

  const closed = () => new GuestError('closed', `${program.name} was closed.`)
  return {
    call: (name, text, budget, options = {}) =>
      new Promise((resolve, reject) => {
        if (gone) return reject(closed())
        if (text.length > ARGUMENT_LENGTH_MAX)
          return reject(
            new GuestError(
              'invalid_argument',
              `An argument of ${text.length} characters is too large; ${ARGUMENT_LENGTH_MAX} are allowed.`,
            ),
          )
        if ((options.more?.length ?? 0) > MORE_LENGTH_MAX)
          return reject(
            new GuestError(
              'invalid_argument',
              `The configuration that the call brings along is too large; ${MORE_LENGTH_MAX} are allowed.`,
            ),
          )
        if (waiting.length >= program.queueMax)
          return reject(new GuestError('busy', `${waiting.length} calls already wait for ${program.name}; try again shortly.`))
        const succeed = (answer: Answer) => {
          if (name === SETUP && program.plugin) setup = { text, budget, options }
          resolve(answer)
        }
        waiting.push({ name, text, budget, options, resolve: succeed, reject, isRepeated: false })
        next()
      }),
    load: () =>
      new Promise((resolve, reject) => {
        if (gone) return reject(closed())
        if (current?.isReady) return resolve(current.defined ?? [])
        loading.push({ resolve, reject })
        next()
      }),
    close() {
      if (gone) return
      gone = true
      for (const tenancy of [current, retiring]) tenancy?.close(closed())
      for (const one of [...waiting.splice(0), ...loading.splice(0)]) one.reject(closed())
    },
  }
}
