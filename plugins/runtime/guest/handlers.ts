import { sendFailure, sendProblem, sendResult } from './answers.ts'
import { apply, create, defineProperty, freeze, GuestError, ownKeys, parse, settle, split } from './built-ins.ts'
import { type Call, calls } from './call.ts'
import { limits } from './channel.ts'
import { makeContext } from './context.ts'
import { closedProblem, endAfterRequests } from './host-calls.ts'
import { clearTimers } from './timers.ts'

type Handler = (...given: unknown[]) => unknown

/** The functions of the program, by name. */
let handlers: Readonly<Record<string, Handler>> | null = null

/** Lets a program of the server register its functions. */
export function installRegister(): void {
  defineProperty(globalThis, 'register', {
    configurable: true,
    value: function register(given: Record<string, Handler>) {
      if (handlers !== null) throw new Error('A program can register its functions only once.')
      const known: Record<string, Handler> = create(null)
      for (const name of ownKeys(given))
        if (typeof name === 'string' && typeof given[name] === 'function') known[name] = given[name] as Handler
      handlers = freeze(known)
    },
  })
}

/** Registers the functions of a plugin, by their paths in its export. @returns their paths, a line each */
export function definePlugin(plugin: unknown): string {
  if (handlers !== null) throw new GuestError('A plugin can be defined only once.')
  const known: Record<string, Handler> = create(null)
  for (let index = 0; index < limits.methods.length; index++) {
    const path = limits.methods[index] as string
    const names = split(path, '.')
    let holder: unknown
    let at = plugin as Record<string, unknown> | undefined | null
    for (let step = 0; step < names.length && at !== undefined && at !== null; step++) {
      holder = at
      at = at[names[step] as string] as typeof at
    }
    if (typeof at === 'function') {
      const own = holder
      const handler = at as Handler
      known[path] = (given, context) =>
        apply(handler, own, path === 'setup' ? [context] : path === 'migrate' ? [context, given] : [given, context])
    }
  }
  handlers = freeze(known)
  // Without calling functions of the guest: its arrays may have a toJSON.
  let names = ''
  for (const path in known) names += `${path}\n`
  return names
}

/** Calls a function by its name. @param contextText the data of the context of a plugin, as JSON */
export function runCall(id: number, name: string, text: string, contextText: unknown) {
  const handler = handlers?.[name]
  if (handler === undefined) return sendProblem(id, { code: 'not_implemented', message: `The program has no function "${name}".` })
  const call = beginCall(id)
  const succeed = (value: unknown) => endAfterRequests(call, () => endCall(call, () => sendResult(id, value)))
  let result: unknown
  let then: unknown
  try {
    const given = parse(text)
    result = apply(handler, undefined, typeof contextText === 'string' ? [given, makeContext(call, parse(contextText))] : [given])
    if (result !== null && typeof result === 'object') then = (result as { then?: unknown }).then
  } catch (error) {
    return call.fail(error)
  }
  if (typeof then !== 'function') return succeed(result)
  settle(result, succeed, call.fail)
}

function beginCall(id: number): Call {
  const counts = { requests: 0, running: 0, first: null, last: null, lines: 0, letters: 0 }
  const fail = (error: unknown) => endCall(call, () => sendFailure(id, error, 'thrown'))
  const call: Call = { id, ended: false, ...counts, signal: null, end: null, fail }
  calls.live += 1
  calls.current = call
  return call
}

function endCall(call: Call, answer: () => void): void {
  if (call.ended) return
  call.ended = true
  answer()
  calls.live -= 1
  if (calls.live === 0) clearTimers()
  call.signal?.giveUp(closedProblem())
}
