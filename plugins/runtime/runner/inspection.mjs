// @ts-check

/**
 * @typedef {import('isolated-vm').Isolate} Isolate
 * @typedef {object} Inspection
 * @property {() => boolean} isAttached
 * @property {() => void} attach
 * @property {() => Promise<boolean> | null} detach lets the debugger go; tells when the isolate may be disposed, and false where it never may be: its
 *   process has to go. Null where it may be at once
 * @property {(text: string) => void} send
 * @property {() => void} begin
 * @property {Promise<void>} begun when the program may start
 */

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

/**
 * The debugger of an isolate, for whoever writes what runs in it.
 * @param {Isolate} isolate that was made with its inspector
 * @param {{ onMessage: (text: string) => void, onMemory: () => void }} listener `onMemory`: the debugger has stopped the code before its memory is
 *   used up, which it would otherwise be allowed to go beyond
 * @returns {Inspection}
 */
export function openInspection(isolate, { onMessage, onMemory }) {
  /** @type {ReturnType<typeof openSession> | null} */
  let current = null
  /** @type {Promise<boolean> | null} */
  let parting = null
  let begin = () => {}
  /** @type {Promise<void>} */
  const begun = new Promise((resolve) => {
    begin = resolve
  })

  const openSession = () => {
    const session = isolate.createInspectorSession()
    let isCurrent = true
    let unanswered = 0
    /** @type {NodeJS.Timeout | undefined} */
    let nudging
    let nudges = 0
    let isParted = false
    let onSilent = () => {}

    const stopNudging = () => {
      clearInterval(nudging)
      nudging = undefined
    }
    const nudge = () => {
      if (unanswered === 0 || isolate.isDisposed) return stopNudging()
      nudges += 1
      session.dispatchProtocolMessage(NUDGE)
    }
    /** @param {string} text */
    const send = (text) => {
      unanswered += 1
      nudging ??= setInterval(nudge, NUDGE_EVERY_MS)
      session.dispatchProtocolMessage(text)
    }
    session.onResponse = (/** @type {number} */ id, /** @type {string} */ text) => {
      if (id === NUDGED) nudges -= 1
      else unanswered = Math.max(unanswered - 1, 0)
      if (id === PARTED) {
        isParted = true
        stopNudging()
      }
      if (isParted && nudges === 0) onSilent()
      if (id === NUDGED || !isCurrent) return
      const message = `An answer of ${text.length} characters is beyond the ${MESSAGE_LENGTH_MAX} that are passed on.`
      onMessage(text.length > MESSAGE_LENGTH_MAX ? JSON.stringify({ id, error: { code: -32_000, message } }) : text)
    }
    session.onNotification = (/** @type {string} */ text) => {
      if (!isCurrent) return
      if (text.startsWith('{"method":"Debugger.paused"') && /** @type {any} */ (JSON.parse(text)).params.reason === 'OOM') onMemory()
      if (text.length <= MESSAGE_LENGTH_MAX) onMessage(text)
    }

    return {
      send,
      /**
       * A session that is disposed while the thread of the isolate still speaks through it, or whose isolate is disposed before that thread has let
       * it go, takes the process along: first it falls silent, then it is let go, and a visit of the isolate shows that it has been.
       */
      async part() {
        isCurrent = false
        /** @type {Promise<void>} */
        const silent = new Promise((resolve) => {
          onSilent = resolve
        })
        for (const [at, method] of PARTING.entries()) send(JSON.stringify({ id: NUDGED + 1 + at, method }))
        const isSilent = await within(silent, SILENT_MS_MAX)
        stopNudging()
        // Its last answer is here before the thread that sent it has left the session.
        await new Promise((resolve) => setTimeout(resolve, LEAVING_MS))
        if (isolate.isDisposed) return true
        if (!isSilent) return false
        session.dispose()
        await within(
          isolate.compileScript('0').then((script) => script.release()),
          VISIT_MS_MAX,
        )
        return true
      },
    }
  }

  return {
    isAttached: () => current !== null,
    attach() {
      if (current === null && !isolate.isDisposed) current = openSession()
    },
    detach() {
      if (current === null || isolate.isDisposed) return parting
      const left = current.part()
      current = null
      const before = parting ?? Promise.resolve(true)
      const both = Promise.all([before, left]).then(([first, second]) => {
        if (parting === both && first && second) parting = null
        return first && second
      })
      parting = both
      return parting
    },
    send(text) {
      if (!isolate.isDisposed) current?.send(text)
    },
    begin: () => begin(),
    begun,
  }
}
