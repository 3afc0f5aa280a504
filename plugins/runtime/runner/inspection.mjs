// @ts-check

/** @typedef {import('isolated-vm').Isolate} Isolate */

/** A paused isolate misses a message that arrives just after it has read the previous one, and reads it with the next. */
const NUDGE_EVERY_MS = 50
const NUDGED = -2_147_483_648
const NUDGE = JSON.stringify({ id: NUDGED, method: 'Runtime.nudge' })
/** The same as for arguments of calls. Heap snapshots come in chunks of 100 KB. */
const MESSAGE_LENGTH_MAX = 10_000_000
/** After these a session sends nothing by itself, and paused code continues. The response to the last one means that all are done. */
const PARTING = ['Profiler.disable', 'HeapProfiler.disable', 'Debugger.disable', 'Runtime.disable']
const PARTED = NUDGED + PARTING.length
/** An isolate reads its messages within milliseconds, unless it is inside an uninterruptible built-in function. */
const SILENT_MS_MAX = 2_000
const LEAVING_MS = 5
/** A computing isolate may not run our probe in time; a session that received the order to end has ended by then. */
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

/** Whether V8 has paused the code before it exceeds its memory limit. Quotes inside of texts are escaped there. @param {string} report */
export const saysOutOfMemory = (report) => report.includes('"reason":"OOM"')

/** One session with the debugger of an isolate. */
class InspectorSession {
  #isolate
  #session
  #onMessage
  #onPaused
  #isCurrent = true
  #unanswered = 0
  /** @type {NodeJS.Timeout | undefined} */
  #nudging
  #nudges = 0
  #isParted = false
  #onSilent = () => {}

  /** @param {Isolate} isolate @param {{ onMessage: (text: string) => void, onPaused: (text: string) => void }} listener */
  constructor(isolate, { onMessage, onPaused }) {
    this.#isolate = isolate
    this.#onMessage = onMessage
    this.#onPaused = onPaused
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
   * The process crashes when a session is disposed while the isolate's thread still uses it, or when the isolate is disposed before that thread has
   * left the session. So the session is first silenced, then disposed, and a probe of the isolate shows that its thread has left.
   * @param {number} silentMsMax how long the isolate may take to read messages
   * @returns {Promise<boolean>} whether the isolate may be disposed
   */
  async part(silentMsMax) {
    this.#isCurrent = false
    /** @type {Promise<void>} */
    const silent = new Promise((resolve) => {
      this.#onSilent = resolve
    })
    for (const [at, method] of PARTING.entries()) this.send(JSON.stringify({ id: NUDGED + 1 + at, method }))
    const isSilent = await within(silent, silentMsMax)
    this.#stopNudging()
    // Its last response may arrive before its thread has left the session.
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
    const message = `A response of ${text.length} characters exceeds the limit of ${MESSAGE_LENGTH_MAX}.`
    this.#onMessage(text.length > MESSAGE_LENGTH_MAX ? JSON.stringify({ id, error: { code: -32_000, message } }) : text)
  }

  /** @param {string} text */
  #onNotification(text) {
    if (!this.#isCurrent) return
    if (text.startsWith('{"method":"Debugger.paused"')) this.#onPaused(text)
    if (text.length <= MESSAGE_LENGTH_MAX) this.#onMessage(text)
  }
}

/** The debugger of an isolate, for the author of its program. */
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
   * @param {Isolate} isolate created with its inspector
   * @param {{ onMessage: (text: string) => void, onPaused: (text: string) => void }} listener `onPaused`: the debugger has paused the code, perhaps
   *   before it exceeds its memory limit, which V8 would otherwise let it do; its report may be longer than a message
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
   * Disconnects the debugger.
   * @param {number} [silentMsMax] how long the isolate may take to read messages
   * @returns {Promise<boolean> | null} whether the isolate may be disposed; when false, its process must be killed. Null when it may be disposed
   *   at once
   */
  detach(silentMsMax = SILENT_MS_MAX) {
    if (this.#current === null || this.#isolate.isDisposed) return this.#parting
    const left = this.#current.part(silentMsMax)
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
