import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { ToolProblem } from './command.ts'
import { PLACE } from './plugin-session.ts'

/** Globals of Node and browsers that authors may expect. The tool queries the sandbox for those that it has. */
const FAMILIAR = [
  'process',
  'Buffer',
  'require',
  'module',
  'exports',
  '__dirname',
  '__filename',
  'global',
  'setImmediate',
  'clearImmediate',
  'Deno',
  'Bun',
  'window',
  'document',
  'self',
  'navigator',
  'location',
  'localStorage',
  'sessionStorage',
  'indexedDB',
  'alert',
  'postMessage',
  'importScripts',
  'fetch',
  'XMLHttpRequest',
  'WebSocket',
  'EventSource',
  'Request',
  'Response',
  'Headers',
  'FormData',
  'Blob',
  'File',
  'FileReader',
  'DOMParser',
  'Worker',
  'MessageChannel',
  'BroadcastChannel',
  'Event',
  'EventTarget',
  'AbortController',
  'AbortSignal',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'queueMicrotask',
  'requestAnimationFrame',
  'performance',
  'console',
  'URL',
  'URLSearchParams',
  'TextEncoder',
  'TextDecoder',
  'structuredClone',
  'atob',
  'btoa',
  'crypto',
  'Intl',
  'WebAssembly',
  'SharedArrayBuffer',
  'Atomics',
  'ReadableStream',
  'WritableStream',
  'TransformStream',
  'CompressionStream',
] as const

const CHECK = `export default { setup: ({ config }) => config.names.filter((name) => typeof globalThis[name] === 'undefined') }`

/** The globals from the list that the sandbox lacks. */
export async function listMissingGlobals(supervisor: Supervisor): Promise<string[]> {
  const guest = supervisor.open({
    name: 'the check of the globals',
    place: PLACE,
    // As a plugin, because other programs get fewer globals.
    sources: [{ name: 'check.js', code: CHECK, module: true }],
    plugin: { methods: ['setup'], hostCalls: 0, inFlight: 0, logLines: 0, logLength: 0 },
    memoryMbMax: 16,
    load: { cpuMs: 500, wallMs: 5_000 },
    resultLengthMax: 10_000,
    concurrency: 1,
    queueMax: 1,
    restMs: 0,
  })
  try {
    const { text } = await guest.call(
      'setup',
      'null',
      { cpuMs: 500, wallMs: 5_000 },
      { more: JSON.stringify({ config: { names: FAMILIAR } }) },
    )
    return JSON.parse(text) as string[]
  } catch (error) {
    if (!(error instanceof GuestError)) throw error
    throw new ToolProblem(`The sandbox does not work on this machine: ${error.message}`, { cause: error })
  } finally {
    guest.close()
  }
}
