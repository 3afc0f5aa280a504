// @ts-check
import { Inspection } from './inspection.mjs'

/** Checks of the watchdog after which running code is watched: most calls have ended by then, and are as fast as without. */
const WATCH_AFTER_CHECKS = 2
/** Code inside an uninterruptible built-in function does not pause in time. */
const PAUSE_MS_MAX = 500
/** More frames than a report shows. */
const FRAMES_MAX = 20
const NAME_LENGTH_MAX = 100
const FILES_MAX = 50
const FILE_LENGTH_MAX = 300

/**
 * @typedef {{ name: string, stack: string }} Place the running function, and a stack in V8's form; both empty when unknown
 * @typedef {{ functionName: string, location: { scriptId: string, lineNumber: number, columnNumber: number } }} Frame
 */

/** @param {readonly Frame[]} frames @param {ReadonlyMap<string, string>} files by the ids of their scripts @returns {Place} */
function placeOf(frames, files) {
  const lines = frames.slice(0, FRAMES_MAX).map(({ functionName, location: { scriptId, lineNumber, columnNumber } }) => {
    return `    at ${functionName.slice(0, NAME_LENGTH_MAX) || '<anonymous>'} (${files.get(scriptId)}:${lineNumber + 1}:${columnNumber + 1})`
  })
  return { name: (frames[0]?.functionName ?? '').slice(0, NAME_LENGTH_MAX), stack: lines.join('\n') }
}

const NOWHERE = { name: '', stack: '' }

/** Finds where the code of an isolate is when it exceeds a limit, with the debugger of V8: for authors, on their own machine. */
export class KillPlace {
  #inspection
  #onMemory
  #checks = 0
  #sent = 0
  /** @type {Map<string, string>} */
  #files = new Map()
  /** @type {((place: Place) => void) | null} */
  #onPlace = null

  /** @param {import('isolated-vm').Isolate} isolate created with its inspector @param {(place: Place) => void} onMemory before it exceeds its memory limit */
  constructor(isolate, onMemory) {
    this.#onMemory = onMemory
    this.#inspection = new Inspection(isolate, { onMessage: (text) => this.#onMessage(text), onMemory() {} })
  }

  isAttached() {
    return this.#inspection.isAttached()
  }

  /** For every check of the watchdog. @param {boolean} isRunning */
  onCheck(isRunning) {
    this.#checks = isRunning ? this.#checks + 1 : 0
    if (this.#checks === WATCH_AFTER_CHECKS) this.#watch()
  }

  /** Pauses the code, which then no longer runs. @returns {Promise<Place>} */
  find() {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, PAUSE_MS_MAX, NOWHERE)
      this.#onPlace = (place) => {
        clearTimeout(timer)
        resolve(place)
      }
      this.#watch()
      this.#send('Debugger.pause')
    })
  }

  detach() {
    return this.#inspection.detach()
  }

  #watch() {
    if (this.#inspection.isAttached()) return
    this.#inspection.attach()
    this.#send('Debugger.enable')
  }

  /** @param {string} method */
  #send(method) {
    this.#sent += 1
    this.#inspection.send(JSON.stringify({ id: this.#sent, method }))
  }

  /** @param {string} text */
  #onMessage(text) {
    const [, event] = /^\{"method":"Debugger\.(paused|scriptParsed)"/.exec(text) ?? []
    if (event === undefined) return
    if (event === 'scriptParsed') {
      const { scriptId, url } = JSON.parse(text).params
      // A program is one file; code that makes scripts without end keeps no more names here.
      if (this.#files.size < FILES_MAX) this.#files.set(scriptId, String(url).slice(0, FILE_LENGTH_MAX))
      return
    }
    const { reason, callFrames } = JSON.parse(text).params
    const place = placeOf(callFrames, this.#files)
    if (reason === 'OOM') this.#onMemory(place)
    else if (this.#onPlace !== null) this.#onPlace(place)
    // A `debugger` statement of the code.
    else this.#send('Debugger.resume')
  }
}
