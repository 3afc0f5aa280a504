import type { Context } from '../../plugin-sdk/index.ts'

/** The replacement in plugins, if there is one. */
export const INSTEAD: Readonly<Record<string, string>> = {
  fetch: 'ctx.fetch',
  XMLHttpRequest: 'ctx.fetch',
  console: 'ctx.log',
  setTimeout: 'ctx.sleep',
  setInterval: 'ctx.sleep',
  localStorage: 'ctx.storage',
  sessionStorage: 'ctx.storage',
  indexedDB: 'ctx.storage',
  crypto: 'ctx.crypto',
  DOMParser: '@carrel/plugin-sdk/html or /xml',
  process: 'ctx.config for settings of the administrator',
  Buffer: 'Uint8Array, and strings',
  require: 'import, which the bundler resolves',
}

type Parts = Omit<Context, 'callId' | 'plugin' | 'config' | 'userConfig' | 'signal'>
/** The functions of `ctx`, and those of its members. */
const FUNCTIONS: { readonly [Name in keyof Parts]: readonly (keyof Parts[Name])[] | null } = {
  fetch: null,
  http: ['json'],
  storage: ['get', 'set', 'delete', 'list'],
  log: ['debug', 'info', 'warn', 'error'],
  crypto: ['digest', 'hmac', 'randomUUID'],
  auth: ['status'],
  library: ['entries'],
  sleep: null,
  progress: null,
}

/** What `ctx` has in place of a function that it does not have; null for another message. */
function functionsInstead(message: string): string | null {
  const [, name = ''] = /^ctx\.(\w+)(?:\.\w+)? is not a function$/.exec(message) ?? []
  if (name === '') return null
  const known = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name as keyof typeof FUNCTIONS] : undefined
  return known ? `ctx.${name} has ${known.join(', ')}` : `ctx has ${Object.keys(FUNCTIONS).join(', ')}`
}

/** The message of an error of a call; of a global that only Node and browsers have, with what plugins use. */
export function withInstead(message: string): string {
  // Of V8, for a dynamic import.
  if (message === 'Not supported')
    return 'import() is not available: a plugin is a single file. Import the module at the beginning of the file.'
  // Of axios.
  if (message.startsWith('There is no suitable adapter to dispatch the request'))
    return `${message.replace(/\.$/, '')}: axios needs XMLHttpRequest or modules of Node, which the sandbox does not have. Use ctx.http.json or ctx.fetch.`
  // With a place, more follows.
  if (/^The code exceeded (its|the) memory limit[^.]*\.$/.test(message))
    return `${message} It was too fast for its place to be found. Look for a loop that adds to a list, or for a list that is copied.`
  const functions = functionsInstead(message)
  if (functions !== null) return `${message}: ${functions}.`
  const [, name = ''] = /\b([A-Za-z_$]{1,100}) is not defined\b/.exec(message) ?? []
  const instead = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined
  return instead === undefined ? message : `${message.replace(/\.$/, '')}. The sandbox does not have ${name}. Use ${instead}.`
}
