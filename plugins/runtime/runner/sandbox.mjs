// @ts-check
import { readFileSync } from 'node:fs'
import ivm from 'isolated-vm'
import { openInspection } from './inspection.mjs'

/**
 * @typedef {object} Sources
 * @property {string} name for stack traces
 * @property {string} code a classic script, or a module
 * @property {boolean} [module] its default export is what a plugin defines; it imports nothing
 *
 * @typedef {object} Limits
 * @property {number} memoryMbMax JavaScript heap
 * @property {number} loadCpuMs
 * @property {number} loadWallMs
 * @property {boolean} isPlugin it has what plugins have beside the language
 * @property {number} resultLength characters of a result as JSON
 * @property {Record<string, number>} requestLengths characters of a request to the server as JSON, by what is asked for
 * @property {string[]} methods paths of the functions that a plugin may define
 * @property {number} hostCalls requests of one call to the server
 * @property {number} inFlight of them at a time
 * @property {number} logLines of one call
 * @property {number} logLength characters of them
 * @property {boolean} [isInspected] it can be debugged, and waits until it may start
 *
 * @typedef {{ cpuMs: number, wallMs: number }} Budget
 *
 * @typedef {object} Listener
 * @property {(kind: 'done' | 'fail', id: number, text: string, used: Budget) => void} onAnswer of calls
 * @property {(kind: 'host' | 'log' | 'progress', id: number, text: string, about?: { call: number, wanted: string }) => void} onRequest of a call
 *   that runs; for `host` what is wanted, and by which call
 * @property {(id: number, message: string, stack: string) => void} onUncaught once for a call, before its answer: a promise was rejected and nothing
 *   waited for it
 * @property {(code: string, message: string, stuck: boolean, stack?: string) => void} onEnd when the isolate has broken a limit and is gone, with all its calls;
 *   stuck when it cannot be stopped and holds a core until the process is killed
 * @property {{ onOpen: (inspection: import('./inspection.mjs').Inspection) => void, onMessage: (text: string) => void }} debugging
 *
 * @typedef {object} Sandbox
 * @property {(call: { id: number, name: string, text: string, more?: string, budget: Budget }) => void} call
 * @property {(id: number, outcome: 'ok' | 'error', text: string) => void} reply to a request of the guest
 * @property {string[]} defined paths of the functions that a plugin has defined
 * @property {() => void} close ends it with all that runs in it; nothing is answered any more, but that it is stuck
 */

/** Between two looks at what running calls have used; the overshoot of a budget is about half of it. */
const LOOK_EVERY_MS = 10
/** A disposed isolate lets go within 5 ms, unless it is inside one of the built-in functions that nothing can interrupt. */
const LET_GO_MS = 100
/** What code may compute after its call was answered: to tidy up, not to go on. */
const AFTERWARDS_CPU_MS_MAX = 100
/** Of the code that goes on when an answer of the server arrives; the budget of its call ends it as a rule. */
const REPLY_MS_MAX = 60_000
/** As many as the prelude lets wait, and no sooner or later than these; a timer that is due at once would keep this process busy for nothing. */
const TIMERS = { max: 16, msMin: 4, msMax: 60_000 }
/** V8 refuses isolates with less. */
const MEMORY_MB_MIN = 8

const processCpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e3
}

const sourceOf = (/** @type {string} */ name) => ({ name, code: readFileSync(new URL(name, import.meta.url), 'utf8') })
const PRELUDE = sourceOf('prelude.js')
const URL_PARTS = sourceOf('url-parts.js')
const URLS = sourceOf('url.js')
const WEB = sourceOf('web.js')
const HEADERS = sourceOf('headers.js')
const FETCH = sourceOf('fetch.js')

/** What V8 has made of our own sources in the first isolate, so that the next need not; it is made and kept in this process alone.
 * @typedef {ivm.ExternalCopy<ArrayBuffer>} Compiled
 * @type {Map<string, Compiled>}
 */
const compiled = new Map()

/**
 * A function of ours, in the realm of a guest.
 * @param {ivm.Isolate} isolate
 * @param {ivm.Context} context
 * @param {{ name: string, code: string }} source
 */
async function functionOf(isolate, context, { name, code }) {
  const cachedData = compiled.get(name)
  const script = await isolate.compileScript(
    code,
    cachedData ? { filename: name, cachedData } : { filename: name, produceCachedData: true },
  )
  if ('cachedData' in script) compiled.set(name, /** @type {Compiled} */ (script.cachedData))
  const made = await script.run(context, { reference: true })
  script.release()
  return made
}

/**
 * Opens an isolate and runs a program in it.
 * @param {readonly Sources[]} sources
 * @param {Limits} limits
 * @param {Listener} listener
 * @returns {Promise<Sandbox>}
 */
export async function openSandbox(sources, limits, { onAnswer, onRequest, onUncaught, onEnd, debugging }) {
  const isInspected = limits.isInspected === true
  const isolate = new ivm.Isolate({ memoryLimit: Math.max(limits.memoryMbMax, MEMORY_MB_MIN), inspector: isInspected })
  /** @type {Map<number, { at: number, isolateMs: number, processMs: number, budget: Budget }>} */
  const running = new Map()
  /** Answers that wait for the end of the entry which has given them: only then it is known what was rejected in it.
   * @type {{ kind: 'done' | 'fail', id: number, text: string, used: Budget }[]}
   */
  const answers = []
  /** Calls that run or whose answer waits, of which a rejection was told. @type {Set<number>} */
  const told = new Set()
  /** What runs in the isolate at the moment: one promise for each entry into it. */
  const inside = new Set()
  let ended = false

  /** @param {string} code @param {string} message */
  const end = (code, message) => {
    if (ended) return
    sendAnswers()
    ended = true
    clearInterval(watch)
    clearTimers()
    // With a debugger in it: it has gone by itself, and its thread never comes back; or it was stopped, and would only go on.
    if (inspection?.isAttached() && code === 'memory') return onEnd(code, message, true)
    dispose()
      .then(letGo)
      .then((isStuck) => onEnd(code, message, isStuck))
  }
  const dispose = async () => {
    // An isolate that goes with its debugger in it never gets to an end. One without is disposed at once, before anybody waits for anything.
    const parting = inspection?.detach()
    if (parting && !(await parting)) return false
    if (!isolate.isDisposed) isolate.dispose()
    return true
  }
  /** Whether what was inside is there still after it had to go. @param {boolean} isDisposed */
  const letGo = async (isDisposed) => {
    if (!isDisposed) return true
    const patience = new Promise((resolve) => setTimeout(resolve, LET_GO_MS, true))
    return (await Promise.race([patience, Promise.allSettled(inside)])) === true
  }
  const sendAnswers = () => {
    for (const { kind, id, text, used } of answers.splice(0)) {
      told.delete(id)
      onAnswer(kind, id, text, used)
    }
  }
  /**
   * @template Result
   * @param {Promise<Result>} entry
   * @param {number} [call] that it is for
   */
  const enter = (entry, call) => {
    inside.add(entry)
    const leave = () => {
      inside.delete(entry)
      sendAnswers()
      rest()
    }
    entry.then(leave, (error) => {
      if (call !== undefined) tellUncaught(call, error)
      leave()
    })
    return entry
  }
  /** What an entry rejects with, where it is no limit: a promise that was rejected in it. @param {number} call @param {unknown} error */
  const tellUncaught = (call, error) => {
    if (ended || told.has(call) || endOf(error) !== null) return
    if (!running.has(call) && !answers.some(({ id }) => id === call)) return
    told.add(call)
    if (error instanceof Error) onUncaught(call, error.message || error.name, String(error.stack))
    else onUncaught(call, typeof error === 'string' && error !== '' ? error : 'Something that is no error was rejected.', '')
  }

  const isolateCpuMs = () => Number(isolate.cpuTime) / 1e6
  /**
   * What the isolate has computed since some moment. Its own clock also counts while its thread waits for a core, that of the process counts
   * other isolates too: the truth is at most the smaller of the two.
   * @param {{ isolateMs: number, processMs: number }} since
   */
  const cpuMs = (since) => Math.min(isolateCpuMs() - since.isolateMs, processCpuMs() - since.processMs)
  let watch = setInterval(() => {}, 1 << 30)
  clearInterval(watch)
  /** Nothing runs and nothing is inside: there is nothing to watch. */
  const rest = () => {
    if (running.size === 0 && inside.size === 0) clearInterval(watch)
  }
  /** When the last call was answered, for what goes on inside after that. */
  let answeredAt = { isolateMs: 0, processMs: 0 }
  const endOfMemory = () => end('memory', `The code needed more than its ${limits.memoryMbMax} MB of memory.`)
  const stamp = () => ({ at: performance.now(), isolateMs: isolateCpuMs(), processMs: processCpuMs() })
  const inspection = isInspected ? openInspection(isolate, { onMessage: debugging.onMessage, onMemory: endOfMemory }) : null
  if (inspection !== null) debugging.onOpen(inspection)
  /** When somebody was last debugging: budgets begin anew then. */
  let debuggedAt = { at: 0, isolateMs: 0, processMs: 0 }
  const look = () => {
    if (isolate.isDisposed) return endOfMemory()
    // What goes on computing after its answer keeps nobody waiting for that.
    sendAnswers()
    if (inspection?.isAttached()) {
      debuggedAt = stamp()
      answeredAt = debuggedAt
      return
    }
    const now = performance.now()
    if (running.size === 0 && cpuMs(answeredAt) > AFTERWARDS_CPU_MS_MAX)
      return end('cpu', 'The code went on computing after its call had been answered.')
    for (const call of running.values()) {
      const { budget } = call
      const since = debuggedAt.at > call.at ? debuggedAt : call
      if (cpuMs(since) > budget.cpuMs) return end('cpu', `The code computed for more than its ${budget.cpuMs} ms.`)
      if (now - since.at > budget.wallMs) return end('timeout', `The code took more than its ${budget.wallMs} ms.`)
    }
  }
  /** @param {number} id @param {Budget} budget */
  const begin = (id, budget) => {
    if (running.size === 0) {
      clearInterval(watch)
      watch = setInterval(look, LOOK_EVERY_MS)
    }
    running.set(id, { ...stamp(), budget })
  }
  /** @param {number} id @returns {Budget | null} what it used; null when it is not running */
  const finish = (id) => {
    const call = running.get(id)
    if (call === undefined) return null
    running.delete(id)
    if (running.size === 0) clearTimers()
    if (!isolate.isDisposed) answeredAt = { isolateMs: isolateCpuMs(), processMs: processCpuMs() }
    rest()
    return { cpuMs: isolate.isDisposed ? 0 : cpuMs(call), wallMs: performance.now() - call.at }
  }
  /** Which limit an entry has broken; null for anything else. @param {unknown} error what isolated-vm rejected with, which may be undefined */
  const endOf = (error) => {
    const message = error instanceof Error ? error.message : ''
    if (isolate.isDisposed || /memory limit/i.test(message)) return 'memory'
    return /timed out/i.test(message) ? 'timeout' : null
  }
  /** @param {unknown} error */
  const endWith = (error) => {
    if (ended) return
    const broken = endOf(error)
    if (broken === 'memory') endOfMemory()
    else if (broken === 'timeout') end('timeout', 'The code took more than its time.')
  }

  /** @type {Map<number, NodeJS.Timeout>} */
  const timers = new Map()
  /** @param {number} id @param {number} ms @param {number | undefined} call that has set it */
  const setTimer = (id, ms, call) => {
    if (timers.size >= TIMERS.max || running.size === 0) return
    const fire = () => {
      timers.delete(id)
      if (!ended) enter(entry.apply(undefined, ['timer', id], within(REPLY_MS_MAX)), call).catch(endWith)
    }
    timers.set(id, setTimeout(fire, Math.min(Math.max(ms || 0, TIMERS.msMin), TIMERS.msMax)))
  }
  /** @param {number} id */
  const clearTimer = (id) => {
    clearTimeout(timers.get(id))
    timers.delete(id)
  }
  const clearTimers = () => {
    for (const id of timers.keys()) clearTimer(id)
  }

  /** Calls that wait for an answer of the server, by what they have asked. @type {Map<number, number>} */
  const askedBy = new Map()

  // Guests cannot reach it, and the prelude gives it nothing but these.
  const post = new ivm.Callback(
    /** @param {unknown} kind @param {unknown} id @param {unknown} text @param {unknown} [call] @param {unknown} [wanted] */
    (kind, id, text, call, wanted) => {
      if (ended || typeof id !== 'number' || typeof text !== 'string') return
      if (kind === 'timer') return setTimer(id, Number(text), typeof call === 'number' ? call : undefined)
      if (kind === 'untimer') return clearTimer(id)
      if (kind === 'log' || kind === 'progress') return onRequest(kind, id, text)
      if (kind === 'host') {
        if (typeof call !== 'number' || typeof wanted !== 'string') return
        askedBy.set(id, call)
        return onRequest(kind, id, text, { call, wanted })
      }
      if (kind !== 'done' && kind !== 'fail') return
      const used = finish(id)
      if (used === null) return
      answers.push({ kind, id, text, used })
      if (inside.size === 0) sendAnswers()
    },
    { ignored: true },
  )

  /** V8's own deadline for one entry; while somebody debugs only the look knows whether there is any. @param {number} timeout */
  const within = (timeout) => (isInspected ? {} : { timeout })

  const LOADING = -1
  /** @type {ivm.Reference<unknown>} */
  let entry
  try {
    const context = await isolate.createContext({ inspector: isInspected })
    await inspection?.begun
    begin(LOADING, { cpuMs: limits.loadCpuMs, wallMs: limits.loadWallMs })
    const start = await functionOf(isolate, context, PRELUDE)
    /** @type {unknown[]} */
    const given = [post, JSON.stringify(limits)]
    if (limits.isPlugin) {
      const makeParts = await functionOf(isolate, context, URL_PARTS)
      const parts = await makeParts.apply(undefined, [], { result: { reference: true } })
      const makeUrl = await functionOf(isolate, context, URLS)
      const web = await makeUrl.apply(undefined, [parts.derefInto()], { result: { reference: true } })
      const install = await functionOf(isolate, context, WEB)
      const makeHeaders = await functionOf(isolate, context, HEADERS)
      const headers = await makeHeaders.apply(undefined, [], { result: { reference: true } })
      const installFetch = await functionOf(isolate, context, FETCH)
      given.push(install.derefInto(), web.derefInto(), installFetch.derefInto(), headers.derefInto())
    }
    entry = await start.apply(undefined, given, { result: { reference: true } })
    start.release()
    /** @type {string[]} */
    let defined = []
    for (const { name, code, module: isModule } of sources) {
      if (isModule) {
        const module = await isolate.compileModule(code, { filename: name })
        await module.instantiate(context, (specifier) => {
          throw new Error(`A plugin is one file: it cannot import "${specifier}".`)
        })
        await enter(module.evaluate(within(limits.loadWallMs)))
        const plugin = await module.namespace.get('default', { reference: true })
        const text = await enter(entry.apply(undefined, ['define', 0, plugin.derefInto()], within(limits.loadWallMs)))
        defined = String(text).split('\n').filter(Boolean)
        module.release()
        continue
      }
      const script = await isolate.compileScript(code, { filename: name })
      await enter(script.run(context, within(limits.loadWallMs)))
      script.release()
    }
    finish(LOADING)
    return {
      defined,
      call({ id, name, text, more, budget }) {
        begin(id, budget)
        enter(entry.apply(undefined, ['call', id, name, text, more], within(budget.wallMs)), id).catch(endWith)
      },
      reply(id, outcome, text) {
        const call = askedBy.get(id)
        askedBy.delete(id)
        enter(entry.apply(undefined, ['reply', id, outcome, text], within(REPLY_MS_MAX)), call).catch(endWith)
      },
      close() {
        if (ended) return
        ended = true
        clearInterval(watch)
        clearTimers()
        // Nobody waits for it, but it would hold a core.
        dispose()
          .then(letGo)
          .then((isStuck) => isStuck && onEnd('closed', '', true))
      },
    }
  } catch (error) {
    const first = ended
    ended = true
    clearInterval(watch)
    const disposed = isolate.isDisposed
    dispose()
    // The watchdog has told the reason already.
    if (first) throw new Error('ended')
    const message = error instanceof Error ? error.message : 'Something that is no error was thrown.'
    const stack = error instanceof Error ? String(error.stack) : ''
    onEnd(
      disposed ? 'memory' : /timed out/i.test(message) ? 'timeout' : 'load',
      `The program could not be started: ${message}`,
      false,
      stack,
    )
    throw new Error('ended')
  }
}
