// @ts-check
import ivm from 'isolated-vm'
import { CallBudgets } from './call-budgets.mjs'
import { Inspection, saysOutOfMemory } from './inspection.mjs'
import { KillPlace } from './kill-place.mjs'
import { runSources, startPrelude } from './load-program.mjs'
import { SandboxTimers } from './sandbox-timers.mjs'

/**
 * @typedef {import('./load-program.mjs').Sources} Sources
 * @typedef {import('./load-program.mjs').Limits} Limits
 * @typedef {import('./kill-place.mjs').Found} Found
 * @typedef {import('./kill-place.mjs').Share} Share
 * @typedef {import('./call-budgets.mjs').Budget} Budget
 * @typedef {Budget & { pending?: string[], unawaited?: [id: number, stack: string] }} Used by a call; `pending`: the stacks of timers that were pending at its answer, if its code is traced;
 *   `unawaited`: the oldest host call without an answer, and the stack of its caller
 *
 * @typedef {object} Listener
 * @property {(kind: 'done' | 'fail', id: number, text: string, used: Used) => void} onAnswer of calls
 * @property {(kind: 'host' | 'log' | 'progress', id: number, text: string, about?: { call: number, wanted: string }) => void} onRequest of a running call
 *   ; for `host` with the kind of the host call and its call
 * @property {(id: number, message: string, stack: string) => void} onUncaught once for a call, before its answer: the first unhandled promise
 *   rejection
 * @property {(code: string, message: string, stuck: boolean, found?: { stack: string, shares?: Share[] }) => void} onEnd when the isolate has exceeded a limit and is gone, with all its calls;
 *   stuck when it cannot be stopped and uses a core until the process is killed
 * @property {{ onOpen: (inspection: import('./inspection.mjs').Inspection) => void, onMessage: (text: string) => void }} debugging
 */

/** Ten places; the header of a frame has 64 KB. */
const UNAWAITED_LENGTH_MAX = 4_096

/** @param {Used} used @param {unknown} id @param {unknown} stack @returns {Used} */
const withUnawaited = (used, id, stack) =>
  typeof id === 'number' && typeof stack === 'string' ? { ...used, unawaited: [id, stack.slice(0, UNAWAITED_LENGTH_MAX)] } : used

/** Interval for checking the use of running calls; a budget is exceeded by about half of it. */
const CHECK_EVERY_MS = 10
/** A disposed isolate stops within 5 ms, on a busy machine within tens, unless it is inside an uninterruptible built-in function: then its runner is ended with it. */
const LET_GO_MS = 500
/** V8's minimum for isolates. */
const MEMORY_MB_MIN = 8
/** The id of loading, which counts like a call. */
const LOADING = -1

/**
 * Describes why a program failed to start.
 * @param {unknown} error @param {boolean} isDisposed
 * @returns {{ code: string, message: string, stack: string }}
 */
function loadProblem(error, isDisposed) {
  const { message, stack } = error instanceof Error ? error : { message: 'The code threw a value that is not an error.', stack: '' }
  return {
    code: isDisposed ? 'memory' : /timed out/i.test(message) ? 'timeout' : 'load',
    message: `The program could not start: ${message}`,
    stack: String(stack),
  }
}

/**
 * The limit that an entry has exceeded; null for other errors.
 * @param {unknown} error the rejection of isolated-vm, which may be undefined
 * @param {import('isolated-vm').Isolate} isolate
 */
function limitOf(error, { isDisposed }) {
  const message = error instanceof Error ? error.message : ''
  if (isDisposed || /memory limit/i.test(message)) return 'memory'
  return /timed out/i.test(message) ? 'timeout' : null
}

/** @param {unknown} error with which a promise was rejected @returns {{ message: string, stack: string }} */
function rejectionOf(error) {
  if (error instanceof Error) return { message: error.message || error.name, stack: String(error.stack) }
  const message = typeof error === 'string' && error !== '' ? error : 'A promise was rejected with a value that is not an error.'
  return { message, stack: '' }
}

/** @param {Limits} limits */
const isolateFor = ({ memoryMbMax, isPlugin, isInspected = false }) =>
  // Until a debugger is attached, an inspector costs nothing.
  new ivm.Isolate({ memoryLimit: Math.max(memoryMbMax, MEMORY_MB_MIN), inspector: isInspected || isPlugin })

/** An isolate with its program. */
export class Sandbox {
  /** Paths of the functions that a plugin has defined. @type {string[]} */
  defined = []
  #limits
  #listener
  #isInspected
  #isolate
  /** @type {KillPlace | null} */
  #place = null
  #isBeingKilled = false
  #inspection
  #budgets
  #timers
  /** Answers that wait for the end of their entry: only then all its rejections are known. @type {{ kind: 'done' | 'fail', id: number, text: string, used: Used }[]} */
  #answers = []
  /** Calls, running or with a waiting answer, of which a rejection was reported. @type {Set<number>} */
  #reported = new Set()
  /** Running entries into the isolate: one promise for each. @type {Set<Promise<unknown>>} */
  #inside = new Set()
  /** Calls by the id of the host call for whose answer they wait. @type {Map<number, number>} */
  #callOf = new Map()
  /** Runs until it finds nothing to check: a timer for each call costs more than a check. @type {NodeJS.Timeout | undefined} */
  #checking
  /** Enters the isolate with arguments for the prelude. @type {((given: unknown[]) => Promise<unknown>) | undefined} */
  #applyEntry
  #ended = false

  /** @param {Limits} limits @param {Listener} listener */
  constructor(limits, listener) {
    this.#limits = limits
    this.#listener = listener
    this.#isInspected = limits.isInspected === true
    this.#isolate = isolateFor(limits)
    this.#budgets = new CallBudgets(this.#isolate)
    this.#timers = new SandboxTimers(limits.isTraced === true, (id, call) => {
      if (!this.#ended) this.#apply(['timer', id], call)
    })
    const { onOpen, onMessage } = listener.debugging
    const debuggerOf = { onMessage, onPaused: (/** @type {string} */ report) => saysOutOfMemory(report) && this.#endForMemory() }
    this.#inspection = this.#isInspected ? new Inspection(this.#isolate, debuggerOf) : null
    if (this.#inspection !== null) onOpen(this.#inspection)
    if (limits.isPlugin && !this.#isInspected) this.#place = new KillPlace(this.#isolate, limits, (found) => this.#endForMemory(found))
  }

  /** Runs the program. Rejects when it ends first; the listener knows why. @param {readonly Sources[]} sources */
  async start(sources) {
    const { loadCpuMs: cpuMs, loadWallMs: wallMs } = this.#limits
    try {
      const isolate = this.#isolate
      const context = await isolate.createContext({ inspector: this.#isInspected || this.#place !== null })
      await this.#inspection?.begun
      this.#place?.begin(sources.at(-1)?.name ?? '')
      this.#startChecking()
      this.#budgets.begin(LOADING, { cpuMs, wallMs })
      const entry = await startPrelude(isolate, context, this.#callback(), this.#limits)
      this.#applyEntry = entry.apply.bind(entry, undefined)
      const program = { isolate, context, entry, options: this.#isInspected ? {} : { timeout: wallMs }, enter: this.#enter.bind(this) }
      this.defined = await runSources(program, sources)
      this.#finish(LOADING)
    } catch (error) {
      const wasEnded = this.#ended
      this.#stop()
      const { code, message, stack } = loadProblem(error, this.#isolate.isDisposed)
      this.#dispose()
      // The watchdog has already reported the reason.
      if (!wasEnded) this.#listener.onEnd(code, message, false, { stack })
      throw new Error('ended')
    }
  }

  /** @param {{ id: number, name: string, text: string, more?: string, budget: Budget }} call */
  call({ id, name, text, more, budget }) {
    // It has just been ended, which the server will learn.
    if (this.#ended) return
    this.#budgets.begin(id, budget)
    this.#apply(['call', id, name, text, more], id)
  }

  /** Answers a host call of the guest. @param {number} id @param {'ok' | 'error'} outcome @param {string} text */
  reply(id, outcome, text) {
    if (this.#ended) return
    const call = this.#callOf.get(id)
    this.#callOf.delete(id)
    this.#apply(['reply', id, outcome, text], call)
  }

  /** Ends it with all its calls; nothing is reported afterwards, except that it is stuck. */
  close() {
    if (this.#ended) return
    this.#stop()
    // The listener does not wait for this, but a stuck isolate would use a core.
    this.#disposeAndLeave().then((isStuck) => isStuck && this.#listener.onEnd('closed', '', true))
  }

  /** @param {string} code @param {string} message @param {Found} [found] what the code did */
  #end(code, message, found) {
    if (this.#ended) return
    this.#sendAnswers()
    this.#stop()
    // With a debugger attached: after V8's own out-of-memory its thread never returns; after our termination the debugger would continue it.
    const said = `${message}${found?.said ?? ''}`
    if ((this.#inspection ?? this.#place)?.isAttached() && code === 'memory') return this.#listener.onEnd(code, said, true, found)
    this.#disposeAndLeave().then((isStuck) => this.#listener.onEnd(code, said, isStuck, found))
  }

  /** @param {Found} [found] */
  #endForMemory(found) {
    this.#end('memory', `The code exceeded its memory limit of ${this.#limits.memoryMbMax} MB.`, found)
  }

  /** @param {unknown} error of an entry */
  #endFor(error) {
    if (this.#ended) return
    const broken = limitOf(error, this.#isolate)
    if (broken === 'memory') this.#endForMemory()
    else if (broken === 'timeout') this.#end('timeout', 'The code exceeded its time limit.')
  }

  #stop() {
    this.#ended = true
    this.#stopChecking()
    this.#timers.clearAll()
  }

  /** @returns {Promise<boolean>} whether it is disposed; false when it must not be disposed */
  async #dispose() {
    // An isolate that is disposed with an attached debugger never ends. Without one it is disposed at once, before any wait.
    const parting = (this.#inspection ?? this.#place)?.detach()
    if (parting && !(await parting)) return false
    if (!this.#isolate.isDisposed) this.#isolate.dispose()
    return true
  }

  /** @returns {Promise<boolean>} whether entries are still running after the time to stop */
  async #disposeAndLeave() {
    if (!(await this.#dispose())) return true
    const patience = new Promise((resolve) => setTimeout(resolve, LET_GO_MS, true))
    return (await Promise.race([patience, Promise.allSettled(this.#inside)])) === true
  }

  #sendAnswers() {
    for (const { kind, id, text, used } of this.#answers.splice(0)) {
      this.#reported.delete(id)
      this.#listener.onAnswer(kind, id, text, used)
    }
  }

  /**
   * Without a timeout of isolated-vm, because the periodic check ends whatever exceeds its budget: each such timeout allocates a timer, which wakes a
   * thread when it is due, even if its entry ended long before. 50,000 calls then took 10 MB, and a tenth of a core a call's time limit later.
   * @param {unknown[]} given @param {number} [call] to which it belongs
   */
  #apply(given, call) {
    // As a reaction of a promise: isolated-vm captures the stack of each call, which is a tenth of its cost unless that stack is empty.
    this.#enter(Promise.resolve(given).then(this.#applyEntry), call).catch((error) => this.#endFor(error))
  }

  /**
   * @template Result
   * @param {Promise<Result>} entry
   * @param {number} [call] to which it belongs
   */
  #enter(entry, call) {
    // Also without a running call: an answer of the server may come after the end of its call, and let code continue.
    this.#startChecking()
    this.#inside.add(entry)
    const leave = () => {
      this.#inside.delete(entry)
      this.#sendAnswers()
    }
    entry.then(leave, (error) => {
      if (call !== undefined) this.#reportUncaught(call, error)
      leave()
    })
    return entry
  }

  /** Reports the rejection of an entry, unless a limit caused it: a promise that was rejected in it. @param {number} call @param {unknown} error */
  #reportUncaught(call, error) {
    if (this.#ended || this.#reported.has(call) || limitOf(error, this.#isolate) !== null) return
    if (!this.#budgets.has(call) && !this.#answers.some(({ id }) => id === call)) return
    this.#reported.add(call)
    const { message, stack } = rejectionOf(error)
    this.#listener.onUncaught(call, message, stack)
  }

  #startChecking() {
    this.#checking ??= setInterval(() => this.#check(), CHECK_EVERY_MS)
  }

  #stopChecking() {
    clearInterval(this.#checking)
    this.#checking = undefined
  }

  #check() {
    if (this.#isolate.isDisposed) return this.#endForMemory()
    if (this.#budgets.size === 0 && this.#inside.size === 0) {
      this.#stopChecking()
      return this.#place?.rest()
    }
    // Code that continues after its answer must not delay the answer for long. Time says nothing: on a busy machine code that is about to end waits as well.
    if (this.#answers.length > 0 && this.#budgets.isPastAnswer()) this.#sendAnswers()
    if (this.#inspection?.isAttached()) return this.#budgets.noteDebugging()
    this.#place?.onCheck({ isInside: this.#inside.size > 0, isLong: this.#budgets.isLong() })
    const broken = this.#isBeingKilled ? null : this.#budgets.check()
    if (broken === null) return
    if (this.#place === null) return this.#end(broken.code, broken.message)
    this.#isBeingKilled = true
    const askWait = this.#inside.size > 0 ? null : () => this.#applyEntry?.(['wait', broken.id])
    this.#place.find(askWait).then((found) => this.#end(broken.code, broken.message, found))
  }

  /** @param {number} id @returns {Used | null} what it used; null when it is not running */
  #finish(id) {
    const used = this.#budgets.finish(id)
    if (used === null) return null
    const pending = this.#timers.pendingOf(id)
    if (this.#budgets.size === 0) this.#timers.clearAll()
    return pending.length === 0 ? used : { ...used, pending }
  }

  /** The channel of the guest, which cannot reach the callback itself: the prelude sends only these messages. */
  #callback() {
    return new ivm.Callback(
      /** @param {unknown} kind @param {unknown} id @param {unknown} text @param {unknown} [call] @param {unknown} [wanted] */
      (kind, id, text, call, wanted) => {
        if (this.#ended || typeof id !== 'number' || typeof text !== 'string') return
        if (kind === 'timer' && this.#budgets.size > 0) return this.#timers.set(id, Number(text), call, wanted)
        if (kind === 'untimer') return this.#timers.clear(id)
        if (kind === 'log' || kind === 'progress') return this.#listener.onRequest(kind, id, text)
        if (kind === 'host' && typeof call === 'number' && typeof wanted === 'string') {
          this.#callOf.set(id, call)
          return this.#listener.onRequest(kind, id, text, { call, wanted })
        }
        if (kind === 'done' || kind === 'fail') this.#onAnswer(kind, id, text, call, wanted)
      },
      { ignored: true },
    )
  }

  /** @param {'done' | 'fail'} kind @param {number} id @param {string} text @param {unknown} unawaited @param {unknown} stack */
  #onAnswer(kind, id, text, unawaited, stack) {
    const used = this.#finish(id)
    if (used === null) return
    this.#answers.push({ kind, id, text, used: withUnawaited(used, unawaited, stack) })
    if (this.#inside.size === 0) this.#sendAnswers()
  }
}

/**
 * Opens an isolate and runs a program in it.
 * @param {readonly Sources[]} sources
 * @param {Limits} limits
 * @param {Listener} listener
 * @returns {Promise<Sandbox>}
 */
export async function openSandbox(sources, limits, listener) {
  const sandbox = new Sandbox(limits, listener)
  await sandbox.start(sources)
  return sandbox
}
