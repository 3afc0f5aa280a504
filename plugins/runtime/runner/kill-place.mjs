// @ts-check
import { Inspection, saysOutOfMemory } from './inspection.mjs'

/** Checks of the watchdog after which the code of an author is watched on their own machine: most calls have ended by then. */
const EARLY_CHECKS = 2
/** On a server code is watched when its process has grown by this share of its memory limit. */
const GROWTH = 1 / 2
/** Code that stops neither for its place nor for the end of the debugger within this time is killed with its process: limits come first. */
const FIND_MS_MAX = { ofServer: 100, ofAuthor: 1_000 }
const PART_MS_MAX = 600
/** Code that is paused before it exceeds its memory limit neither computes nor allocates meanwhile. */
const ALLOCATIONS_MS_MAX = 1_000
/** Code loses no more time than this to samples of where it is: on a busy machine it would reach its time limit before that of the CPU. */
const SAMPLING_MS_MAX = 100
/** Between its report and the moment when paused code reads messages. */
const LISTENS_AFTER_MS = 1
/** More frames than a message shows. A report of V8 has all: thousands in deep recursion, whose place stays unknown then. */
const FRAMES_MAX = 20
const REPORT_LENGTH_MAX = 1024 * 1024
const NAME_LENGTH_MAX = 100
const FILES_MAX = 50
const FILE_LENGTH_MAX = 300
/** Positions in the bundle, of which several may be one line of the source; and those that are counted. */
const SHARES_MAX = 20
const COUNTED_MAX = 500

/**
 * @typedef {{ said: string, stack: string }} Place what the code was doing, as a sentence after a space, and a stack in V8's form; both empty when
 *   unknown
 * @typedef {[line: number, column: number, weight: number]} Share of a position in the file of the program, both from 1: samples or bytes
 * @typedef {Place & { shares?: Share[] }} Found
 * @typedef {{ callFrame: { url: string, lineNumber: number, columnNumber: number }, selfSize: number, children: AllocationNode[] }} AllocationNode
 */

/** The most that this process has had. What it has now stands in files that a runner cannot read. */
const mostResidentBytes = () => process.resourceUsage().maxRSS * 1024

/** @type {Place} */
const NOWHERE = { said: '', stack: '' }

/** @param {string} report of V8 that the code is paused @param {ReadonlyMap<string, string>} files by the ids of their scripts */
function framesOf(report, files) {
  if (report.length > REPORT_LENGTH_MAX) return []
  /** @type {{ callFrames: { functionName: string, location: { scriptId: string, lineNumber: number, columnNumber?: number } }[] }} */
  const { callFrames } = JSON.parse(report).params
  return callFrames.slice(0, FRAMES_MAX).map(({ functionName, location: { scriptId, lineNumber, columnNumber = 0 } }) => ({
    name: functionName.slice(0, NAME_LENGTH_MAX),
    url: files.get(scriptId) ?? '',
    line: lineNumber + 1,
    column: columnNumber + 1,
  }))
}

/** @param {ReturnType<typeof framesOf>} frames @returns {Place} */
const placeOf = (frames) => ({
  said: frames[0]?.name ? ` It was running ${frames[0].name}.` : '',
  stack: frames.map(({ name, url, line, column }) => `    at ${name || '<anonymous>'} (${url}:${line}:${column})`).join('\n'),
})

/** @param {Promise<unknown> | undefined} work @returns {Promise<unknown>} its result, undefined if it fails or is late */
function within(work) {
  const late = new Promise((resolve) => setTimeout(resolve, FIND_MS_MAX.ofServer))
  return Promise.race([late, work?.catch(() => undefined)])
}

/** @param {unknown} text of the prelude: what the call waits for, and in further lines the stack of the code that began it @returns {Place} */
function waitOf(text) {
  if (typeof text !== 'string') return NOWHERE
  const [what = '', ...stack] = text.split('\n')
  if (what === '') return { said: ' It waited for neither a request nor a timer: one of its promises never ends.', stack: '' }
  return { said: ` It was waiting for ${what.slice(0, NAME_LENGTH_MAX)}.`, stack: stack.join('\n') }
}

/** Weights by position. */
class Weights {
  /** @type {Map<string, Share>} */
  #shares = new Map()

  /** @param {number} line @param {number} column @param {number} weight */
  add(line, column, weight) {
    const key = `${line}:${column}`
    const share = this.#shares.get(key)
    if (share !== undefined) share[2] += weight
    else if (this.#shares.size < COUNTED_MAX) this.#shares.set(key, [line, column, weight])
  }

  /** The largest. @returns {Share[]} */
  top() {
    return [...this.#shares.values()].sort((one, other) => other[2] - one[2]).slice(0, SHARES_MAX)
  }
}

/** @param {AllocationNode} head @param {string} file @returns {Share[]} bytes by the innermost function of the program */
function allocationsOf(head, file) {
  const weights = new Weights()
  const rest = [{ node: head, line: 0, column: 0 }]
  for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
    const { callFrame, selfSize, children } = one.node
    const { line, column } = callFrame.url === file ? { line: callFrame.lineNumber + 1, column: callFrame.columnNumber + 1 } : one
    if (line > 0 && column > 0 && selfSize > 0) weights.add(line, column, selfSize)
    for (const node of children) rest.push({ node, line, column })
  }
  return weights.top()
}

/**
 * Finds where the code of an isolate is when it exceeds a limit, with the debugger of V8. The debugger is attached only to code that has used much
 * of a limit, so that other calls are as fast as without. Limits never wait for it longer than FIND_MS_MAX.
 */
export class KillPlace {
  #inspection
  #onMemory
  #isEarly
  #file = ''
  #residentAtStart = 0
  #growthMax
  #checks = 0
  #isWatching = false
  #isPausing = false
  #pausedAt = 0
  #pausedMs = 0
  #sent = 0
  /** By the ids of their scripts. @type {Map<string, string>} */
  #files = new Map()
  /** The id of the message that asks for allocations. */
  #asked = 0
  /** @type {Place | null} */
  #last = null
  #samples = new Weights()
  /** @type {((place: Place) => void) | null} */
  #onPlace = null
  /** @type {((shares: Share[]) => void) | null} */
  #onAllocations = null

  /**
   * @param {import('isolated-vm').Isolate} isolate created with its inspector
   * @param {import('./load-program.mjs').Limits} limits
   * @param {(found: Found) => void} onMemory called before it exceeds its memory limit
   */
  constructor(isolate, { isTraced = false, memoryMbMax }, onMemory) {
    this.#onMemory = onMemory
    this.#isEarly = isTraced
    this.#growthMax = memoryMbMax * 1024 * 1024 * GROWTH
    this.#inspection = new Inspection(isolate, {
      onMessage: (text) => this.#onMessage(text),
      onPaused: (text) => this.#onPaused(text),
    })
  }

  /** @param {string} file of the program */
  begin(file) {
    this.#file = file
    this.#residentAtStart = mostResidentBytes()
  }

  isAttached() {
    return this.#inspection.isAttached()
  }

  /** For every check of the watchdog while a call runs. @param {{ isInside: boolean, isLong: boolean }} state whether code runs, and has used much of its limit */
  onCheck({ isInside, isLong }) {
    this.#checks += 1
    if (!isLong) this.#forget()
    if (!this.#isWatching) {
      if (this.#isEarly ? this.#checks < EARLY_CHECKS : !isLong && !this.#hasGrown()) return
      this.#watch()
    }
    if (isInside && isLong && this.#pausedMs < SAMPLING_MS_MAX) this.#pause()
  }

  /** When no call runs. */
  rest() {
    this.#checks = 0
    this.#forget()
    if (!this.#isWatching) return
    this.#isWatching = false
    this.#isPausing = false
    this.#send('Debugger.disable')
    this.#send('HeapProfiler.disable')
  }

  /**
   * What the code does that has exceeded a limit.
   * @param {(() => Promise<unknown> | undefined) | null} askWait asks code that waits what for; null when code runs
   * @returns {Promise<Found>}
   */
  async find(askWait) {
    if (askWait !== null) return waitOf(await within(askWait()))
    const place = this.#last ?? (await this.#findNow())
    return { ...place, shares: this.#samples.top() }
  }

  detach() {
    return this.#inspection.detach(PART_MS_MAX)
  }

  /** @returns {Promise<Place>} */
  #findNow() {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, FIND_MS_MAX[this.#isEarly ? 'ofAuthor' : 'ofServer'], NOWHERE)
      this.#onPlace = (place) => {
        clearTimeout(timer)
        resolve(place)
      }
      if (!this.#isWatching) this.#watch()
      this.#pause()
    })
  }

  #forget() {
    if (this.#last === null) return
    this.#last = null
    this.#pausedMs = 0
    this.#samples = new Weights()
  }

  #hasGrown() {
    return mostResidentBytes() - this.#residentAtStart > this.#growthMax
  }

  #watch() {
    this.#isWatching = true
    this.#inspection.attach()
    this.#send('Debugger.enable')
    // A `debugger` statement does nothing then.
    this.#send('Debugger.setBreakpointsActive', { active: false })
    this.#send('HeapProfiler.startSampling')
  }

  /** Code that is paused does not run until it is resumed. */
  #pause() {
    if (this.#isPausing) return
    this.#isPausing = true
    this.#pausedAt = performance.now()
    this.#send('Debugger.pause')
  }

  /** @param {string} method @param {object} [params] @returns {number} its id */
  #send(method, params) {
    this.#sent += 1
    this.#inspection.send(JSON.stringify({ id: this.#sent, method, params }))
    return this.#sent
  }

  /** @param {string} report */
  #onPaused(report) {
    const frames = framesOf(report, this.#files)
    const place = placeOf(frames)
    if (saysOutOfMemory(report)) return void this.#onOutOfMemory(place)
    this.#isPausing = false
    this.#pausedMs += performance.now() - this.#pausedAt + LISTENS_AFTER_MS
    this.#last = place
    const own = frames.find(({ url }) => url === this.#file)
    if (own !== undefined) this.#samples.add(own.line, own.column, 1)
    // It is ended, and runs no more.
    if (this.#onPlace !== null) return this.#onPlace(place)
    // Before it listens, it would miss the message until the next nudge.
    setTimeout(() => this.#send('Debugger.resume'), LISTENS_AFTER_MS)
  }

  /** @param {Place} place */
  async #onOutOfMemory(place) {
    /** @type {Share[]} */
    const shares = await new Promise((resolve) => {
      const timer = setTimeout(resolve, ALLOCATIONS_MS_MAX, [])
      this.#onAllocations = (found) => {
        clearTimeout(timer)
        resolve(found)
      }
      this.#asked = this.#send('HeapProfiler.getSamplingProfile')
    })
    this.#onMemory({ ...place, shares })
  }

  /** @param {string} text */
  #onMessage(text) {
    if (text.startsWith('{"method":"Debugger.scriptParsed"')) {
      const { scriptId, url } = JSON.parse(text).params
      // A program is one file; code that makes scripts without end keeps no more names here.
      if (this.#files.size < FILES_MAX) this.#files.set(scriptId, String(url).slice(0, FILE_LENGTH_MAX))
      return
    }
    if (this.#onAllocations === null || !text.startsWith(`{"id":${this.#asked},`)) return
    const { result } = JSON.parse(text)
    this.#onAllocations(result?.profile ? allocationsOf(result.profile.head, this.#file) : [])
  }
}
