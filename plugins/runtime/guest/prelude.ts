import { freeze } from './built-ins.ts'
import { openChannel, type Post } from './channel.ts'
import { definePlugin, installRegister, runCall } from './handlers.ts'
import { receiveReply, waitingRequest } from './host-calls.ts'
import { restrictRealm } from './realm.ts'
import { clearTimer, runTimer, setTimer, waitingTimer } from './timers.ts'
import { type InstallWeb, useWeb } from './web-globals.ts'

/**
 * The first code in every isolate, run before any code of a guest.
 * @param limits as JSON
 * @param installWeb defines the globals of plugins; the server's own programs have none
 * @returns what the runner calls: `call` runs a function by its name with one argument, and for plugins with the data of its context; `reply` answers
 *   a host call; `define` takes the default export of a plugin's module, once; `timer` tells that a timer has expired;
 *   `wait` returns what a call waits for, and in further lines the stack of the code that began it
 */
export function start(post: Post, limits: string, installWeb?: InstallWeb) {
  openChannel(post, limits)
  restrictRealm()
  useWeb(installWeb === undefined ? null : installWeb(freeze({ __proto__: null, set: setTimer, clear: clearTimer })))
  installRegister()
  return function entry(kind: string, id: number, name: string, text: string, more?: unknown): unknown {
    if (kind === 'call') return runCall(id, name, text, more)
    if (kind === 'reply') return receiveReply(id, name, text)
    if (kind === 'timer') return runTimer(id)
    if (kind === 'wait') return waitingRequest(id) ?? waitingTimer(id) ?? ''
    return kind === 'define' ? definePlugin(name) : undefined
  }
}
