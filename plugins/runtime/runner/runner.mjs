// @ts-check
/**
 * The process that runs isolates. It has no secrets, no environment, no files but its own code, and one socket to the server that started
 * it (descriptor 3). The server kills it whenever in doubt, so nothing here cleans up.
 */
import { Socket } from 'node:net'
import { createFrameReader, frameOf } from '../../../core/foundation/frames/frame.mjs'
import { openSandbox } from './sandbox.mjs'

/** The limit of the prelude. */
const MESSAGE_LENGTH_MAX = 4_096
const STACK_LENGTH_MAX = 8_192

/** @type {Map<number, Promise<import('./sandbox.mjs').Sandbox | null>>} */
const sandboxes = new Map()
/** Debuggers of isolates, where there are any.
 * @type {Map<number, import('./inspection.mjs').Inspection>}
 */
const inspections = new Map()
const server = new Socket({ fd: 3, readable: true, writable: true })

/** @param {object} header @param {string} [body] */
const send = (header, body) => {
  for (const part of frameOf(header, body)) server.write(part)
}

/** @type {Record<string, (header: any, body: string) => void>} */
const COMMANDS = {
  load({ sandbox, limits }, body) {
    const at = performance.now()
    const opening = openSandbox(JSON.parse(body), limits, {
      onAnswer: (kind, id, text, used) => send({ kind, sandbox, id, ...used }, text),
      onRequest: (kind, id, text, about) => send({ kind, sandbox, id, ...about }, text),
      onUncaught: (id, message, stack) =>
        send(
          { kind: 'uncaught', sandbox, id },
          JSON.stringify({ code: 'thrown', message: message.slice(0, MESSAGE_LENGTH_MAX), stack: stack.slice(0, STACK_LENGTH_MAX) }),
        ),
      onEnd: (code, message, stuck, { stack, shares } = { stack: '' }) => {
        sandboxes.delete(sandbox)
        inspections.delete(sandbox)
        const header = { kind: 'ended', sandbox, code, message: message.slice(0, MESSAGE_LENGTH_MAX), stuck, shares }
        send(header, stack.slice(0, STACK_LENGTH_MAX))
      },
      debugging: {
        onOpen: (inspection) => inspections.set(sandbox, inspection),
        onMessage: (text) => send({ kind: 'inspect', sandbox }, text),
      },
    })
    sandboxes.set(
      sandbox,
      opening.then(
        (opened) => {
          send({ kind: 'loaded', sandbox, wallMs: performance.now() - at, defined: opened.defined })
          return opened
        },
        () => null,
      ),
    )
  },
  async call({ sandbox, id, name, budget, moreLength }, text) {
    const opened = await sandboxes.get(sandbox)
    const more = moreLength === undefined ? undefined : text.slice(0, moreLength)
    opened?.call({ id, name, text: text.slice(moreLength ?? 0), more, budget })
  },
  async reply({ sandbox, id, outcome }, text) {
    const opened = await sandboxes.get(sandbox)
    opened?.reply(id, outcome, text)
  },
  inspect({ sandbox, act }, text) {
    const inspection = inspections.get(sandbox)
    if (act === 'attach') inspection?.attach()
    else if (act === 'detach') inspection?.detach()
    else if (act === 'begin') inspection?.begin()
    else inspection?.send(text)
  },
  async close({ sandbox }) {
    const opening = sandboxes.get(sandbox)
    sandboxes.delete(sandbox)
    const inspection = inspections.get(sandbox)
    inspections.delete(sandbox)
    // An isolate that waits for its debugger would never finish loading, and so could never be closed.
    inspection?.detach()
    inspection?.begin()
    const opened = await opening
    opened?.close()
  },
  ping({ id }) {
    send({ kind: 'pong', id })
  },
}

server.on(
  'data',
  createFrameReader((header, body) => {
    const { kind } = /** @type {{ kind: string }} */ (header)
    COMMANDS[kind]?.(header, body.toString())
  }),
)
// The server has ended, so there is nothing to do.
server.on('close', () => {
  process.kill(process.pid, 'SIGKILL')
  // The first process of a PID namespace ignores its own signals; abort ends it all the same.
  process.abort()
})
server.on('error', () => {})
send({ kind: 'ready' })

/** Sessions that wait for this process are opened first. */
const WARM_AFTER_MS = 30
const LIMITS = {
  isPlugin: true,
  memoryMbMax: 16,
  loadCpuMs: 1_000,
  loadWallMs: 5_000,
  methods: [],
  requestLengths: {},
  resultLength: 0,
  hostCalls: 0,
  inFlight: 0,
  logLines: 0,
  logLength: 0,
}
/** The first isolate of a process takes three times as long as later ones. A spare runner opens an unused one, so that the first session is fast. */
setTimeout(() => {
  if (sandboxes.size > 0) return
  const ignore = () => {}
  const listener = {
    onAnswer: ignore,
    onRequest: ignore,
    onUncaught: ignore,
    onEnd: ignore,
    debugging: { onOpen: ignore, onMessage: ignore },
  }
  openSandbox([{ name: 'ignore.js', code: 'export default {}', module: true }], LIMITS, listener).then((sandbox) => sandbox.close(), ignore)
}, WARM_AFTER_MS)
