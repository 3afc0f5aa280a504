// @ts-check

/**
 * @typedef {import('./sandbox.mjs').Isolate} Isolate
 * @typedef {object} Inspection
 * @property {() => boolean} isAttached
 * @property {() => void} attach
 * @property {() => void} detach
 * @property {(text: string) => void} send
 * @property {() => void} begin
 * @property {Promise<void>} begun when the program may start
 */

/** A paused isolate misses a message that comes in the very moment in which it has read the one before, and reads it with the next. */
const NUDGE_EVERY_MS = 50
const NUDGE = JSON.stringify({ id: -2_147_483_648, method: 'Runtime.nudge' })
const NUDGED = -2_147_483_648
/** As long as the arguments of a call. Snapshots of the heap come in pieces of 100 KB. */
const MESSAGE_LENGTH_MAX = 10_000_000

/**
 * The debugger of an isolate, for whoever writes what runs in it.
 * @param {Isolate} isolate that was made with its inspector
 * @param {{ onMessage: (text: string) => void, onMemory: () => void }} listener `onMemory`: the debugger has stopped the code before its memory is
 *   used up, which it would otherwise be allowed to go beyond
 * @returns {Inspection}
 */
export function openInspection(isolate, { onMessage, onMemory }) {
  /** @type {ReturnType<Isolate['createInspectorSession']> | null} */
  let session = null
  let begin = () => {}
  /** @type {Promise<void>} */
  const begun = new Promise((resolve) => {
    begin = resolve
  })
  let unanswered = 0
  /** @type {NodeJS.Timeout | undefined} */
  let nudging

  const nudge = () => {
    if (unanswered > 0 && !isolate.isDisposed) session?.dispatchProtocolMessage(NUDGE)
    else stopNudging()
  }
  const stopNudging = () => {
    clearInterval(nudging)
    nudging = undefined
  }
  /** @param {number} id @param {string} text */
  const answer = (id, text) => {
    if (id === NUDGED) return
    unanswered = Math.max(unanswered - 1, 0)
    const message = `An answer of ${text.length} characters is beyond the ${MESSAGE_LENGTH_MAX} that are passed on.`
    onMessage(text.length > MESSAGE_LENGTH_MAX ? JSON.stringify({ id, error: { code: -32_000, message } }) : text)
  }
  /** @param {string} text */
  const notify = (text) => {
    if (text.startsWith('{"method":"Debugger.paused"') && /** @type {any} */ (JSON.parse(text)).params.reason === 'OOM') onMemory()
    if (text.length <= MESSAGE_LENGTH_MAX) onMessage(text)
  }

  return {
    isAttached: () => session !== null,
    attach() {
      if (session !== null || isolate.isDisposed) return
      session = isolate.createInspectorSession()
      session.onResponse = answer
      session.onNotification = notify
    },
    detach() {
      // The thread that has let the isolate go waits for the session, and would be waited for here.
      if (session === null || isolate.isDisposed) return
      stopNudging()
      unanswered = 0
      session.dispose()
      session = null
    },
    send(text) {
      if (session === null || isolate.isDisposed) return
      unanswered += 1
      nudging ??= setInterval(nudge, NUDGE_EVERY_MS)
      session.dispatchProtocolMessage(text)
    },
    begin: () => begin(),
    begun,
  }
}
