import { create, GuestError, NativeRangeError, stackOf, toText } from './built-ins.ts'
import { type Call, calls } from './call.ts'
import { limits, post } from './channel.ts'

/** Concurrent timers of one isolate: enough for deadlines and pauses. */
const TIMERS_MAX = 16

/** They run only while a call does. `caller` has the stack of the code that set it. */
interface Timer {
  run: () => void
  call: Call
  caller: Error
}

const timers: Record<number, Timer> = create(null)
let live = 0
let last = 0

/** @param isDeadline nobody can clear it, so that it may be pending at the answer */
export function setTimer(run: () => void, ms: number, isDeadline = false): number {
  const call = calls.current
  if (calls.live === 0 || call === null) throw new GuestError('Timers are available only during a call.')
  if (live >= TIMERS_MAX) throw new NativeRangeError(`At most ${TIMERS_MAX} timers may be pending at a time.`)
  const id = ++last
  const caller: Error = new GuestError()
  timers[id] = { run, call, caller }
  live += 1
  if (limits.isTraced && !isDeadline) post('timer', id, toText(ms), call.id, stackOf(caller))
  else post('timer', id, toText(ms), call.id)
  return id
}

/** The oldest timer of a call, and in further lines the stack of the code that set it. */
export function waitingTimer(callId: number): string | null {
  for (const id in timers) {
    const { call, caller } = timers[id] as Timer
    if (call.id === callId) return `a timer\n${stackOf(caller)}`
  }
  return null
}

export function clearTimer(id: number): void {
  if (timers[id] === undefined) return
  delete timers[id]
  live -= 1
  post('untimer', id, '')
}

export function runTimer(id: number): void {
  const timer = timers[id]
  if (timer === undefined) return
  const { run, call } = timer
  delete timers[id]
  live -= 1
  calls.current = call
  try {
    run()
  } catch (error) {
    // Nothing else would report the error, and code that waits for the timer would wait forever.
    call.fail(error)
  }
}

export function clearTimers(): void {
  for (const id in timers) delete timers[id]
  live = 0
}
