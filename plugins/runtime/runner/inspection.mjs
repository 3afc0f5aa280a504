// @ts-check

/** @typedef {import('isolated-vm').Isolate} Isolate */

/** A paused isolate misses a message that comes in the very moment in which it has read the one before, and reads it with the next. */
const NUDGE_EVERY_MS = 50
const NUDGED = -2_147_483_648
const NUDGE = JSON.stringify({ id: NUDGED, method: 'Runtime.nudge' })
/** As long as the arguments of a call. Snapshots of the heap come in pieces of 100 KB. */
const MESSAGE_LENGTH_MAX = 10_000_000
/** After these nothing comes from a session by itself, and what it has stopped goes on. The last one's answer says that all are done. */
const PARTING = ['Profiler.disable', 'HeapProfiler.disable', 'Debugger.disable', 'Runtime.disable']
const PARTED = NUDGED + PARTING.length
/** An isolate reads its messages within milliseconds, unless it is inside one of the built-in functions that nothing can interrupt. */
const SILENT_MS_MAX = 2_000
const LEAVING_MS = 5
/** One that computes has no time for a visit; a session that was told to go is gone by then. */
const VISIT_MS_MAX = 500

/** @param {Promise<unknown>} work @param {number} ms @returns {Promise<boolean>} whether it was done in time */
const within = (work, ms) => {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  const done = work.then(
    () => true,
    () => true,
  )
  return Promise.race([done, late]).finally(() => clearTimeout(timer))
}

/** One session of the debugger of an isolate. */
class InspectorSession {
  #isolate
  #session
  #onMessage
  #onMemory
  #isCurrent = true
  #unanswered = 0
  /** @type {NodeJS.Timeout | undefined} */
  #nudging
  #nudges = 0
  #isParted = false
  #onSilent = () => {}

  /** @param {Isolate} isolate @param {{ onMessage: (text: string) => void, onMemory: () => void }} listener */
  constructor(isolate, { onMessage, onMemory }) {
    this.#isolate = isolate
    this.#onMessage = onMessage
    this.#onMemory = onMemory
    this.#session = isolate.createInspectorSession()
    this.#session.onResponse = (/** @type {number} */ id, /** @type {string} */ text) => this.#onResponse(id, text)
    this.#session.onNotification = (/** @type {string} */ text) => this.#onNotification(text)
  }

  /** @param {string} text */
  send(text) {
    this.#unanswered += 1
    this.#nudging ??= setInterval(() => this.#nudge(), NUDGE_EVERY_MS)
    this.#session.dispatchProtocolMessage(text)
  }

  /**
   * A session that is disposed while the thread of the isolate still speaks through it, or whose isolate is disposed before that thread has let
   * it go, takes the process along: first it falls silent, then it is let go, and a visit of the isolate shows that it has been.
   * @returns {Promise<boolean>} whether the isolate may be disposed
   */
  async part() {
    this.#isCurrent = false
    /** @type {Promise<void>} */
    const silent = new Promise((resolve) => {
      this.#onSilent = resolve
    })
    for (const [at, method] of PARTING.entries()) this.send(JSON.stringify({ id: NUDGED + 1 + at, method }))
    const isSilent = await within(silent, SILENT_MS_MAX)
    this.#stopNudging()
    // Its last answer is here before the thread that sent it has left the session.
    await new Promise((resolve) => setTimeout(resolve, LEAVING_MS))
    if (this.#isolate.isDisposed) return true
    if (!isSilent) return false
    this.#session.dispose()
    await within(
      this.#isolate.compileScript('0').then((script) => script.release()),
      VISIT_MS_MAX,
    )
    return true
  }

  #nudge() {
    if (this.#unanswered === 0 || this.#isolate.isDisposed) return this.#stopNudging()
    this.#nudges += 1
    this.#session.dispatchProtocolMessage(NUDGE)
  }

  #stopNudging() {
    clearInterval(this.#nudging)
    this.#nudging = undefined
  }

  /** @param {number} id @param {string} text */
  #onResponse(id, text) {
    if (id === NUDGED) this.#nudges -= 1
    else this.#unanswered = Math.max(this.#unanswered - 1, 0)
    if (id === PARTED) {
      this.#isParted = true
      this.#stopNudging()
    }
    if (this.#isParted && this.#nudges === 0) this.#onSilent()
    if (id === NUDGED || !this.#isCurrent) return
    const message = `An answer of ${text.length} characters is beyond the ${MESSAGE_LENGTH_MAX} that are passed on.`
    this.#onMessage(text.length > MESSAGE_LENGTH_MAX ? JSON.stringify({ id, error: { code: -32_000, message } }) : text)
  }

  /** @param {string} text */
  #onNotification(text) {
    if (!this.#isCurrent) return
    if (text.startsWith('{"method":"Debugger.paused"') && /** @type {any} */ (JSON.parse(text)).params.reason === 'OOM') this.#onMemory()
    if (text.length <= MESSAGE_LENGTH_MAX) this.#onMessage(text)
  }
}

/** The debugger of an isolate, for whoever writes what runs in it. */
export class Inspection {
  /** When the program may start. @type {Promise<void>} */
  begun
  begin = () => {}
  #isolate
  #listener
  /** @type {InspectorSession | null} */
  #current = null
  /** @type {Promise<boolean> | null} */
  #parting = null

  /**
   * @param {Isolate} isolate that was made with its inspector
   * @param {{ onMessage: (text: string) => void, onMemory: () => void }} listener `onMemory`: the debugger has stopped the code before its memory is
   *   used up, which it would otherwise be allowed to go beyond
   */
  constructor(isolate, listener) {
    this.#isolate = isolate
    this.#listener = listener
    this.begun = new Promise((resolve) => {
      this.begin = resolve
    })
  }

  isAttached() {
    return this.#current !== null
  }

  attach() {
    if (this.#current === null && !this.#isolate.isDisposed) this.#current = new InspectorSession(this.#isolate, this.#listener)
  }

  /**
   * Lets the debugger go.
   * @returns {Promise<boolean> | null} when the isolate may be disposed, and false where it never may be: its process has to go. Null where it may be
   *   at once
   */
  detach() {
    if (this.#current === null || this.#isolate.isDisposed) return this.#parting
    const left = this.#current.part()
    this.#current = null
    const before = this.#parting ?? Promise.resolve(true)
    const both = Promise.all([before, left]).then(([first, second]) => {
      if (this.#parting === both && first && second) this.#parting = null
      return first && second
    })
    this.#parting = both
    return this.#parting
  }

  /** @param {string} text */
  send(text) {
    if (!this.#isolate.isDisposed) this.#current?.send(text)
  }
}
