/** The thread that monitors the main one, started by watchdog.ts. */
import fs from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { type Debugger, Session } from 'node:inspector'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { describeStall, type Stall, type Watch } from '#api/cli/watchdog.ts'
import { readBeats, readWork } from '#core/foundation/current-work.ts'

/** The main thread answers at its next function call or loop iteration, or never. */
const STACK_MS = 1_000
/** A disk or a pipe that accepts no writes must not keep the process alive. */
const WRITE_MS = 2_000
/** In case the process ignores the signal. */
const KILL_MS = 1_000
const FRAMES_MAX = 20

const { register, stallMs, lookMs, file, signal } = workerData as Watch

let seen = readBeats(register)
let stoodStillMs = 0
let looked = performance.now()
while (stoodStillMs < stallMs) {
  await sleep(lookMs)
  const now = performance.now()
  const beats = readBeats(register)
  // A late check says nothing about the time between: the whole process may have been stopped.
  stoodStillMs = beats === seen ? stoodStillMs + Math.min(now - looked, lookMs) : 0
  seen = beats
  looked = now
}
// Reads the current work first: getting the call stack may require that the main thread continues for a moment.
const work = readWork(register)
const stack = await Promise.race([findStack(), sleep(STACK_MS, [])])
const stall: Stall = { at: new Date().toISOString(), pid: process.pid, stoodStillMs: Math.round(stoodStillMs), stack, ...work }
await Promise.race([Promise.allSettled([writeReport(stall), report(`${describeStall(stall)}\n`)]), sleep(WRITE_MS)])
process.kill(process.pid, signal)
await sleep(KILL_MS)
process.kill(process.pid, 'SIGKILL')

/** Writes the whole file or nothing. */
async function writeReport(report: Stall): Promise<void> {
  const draft = `${file}.${process.pid}`
  await writeFile(draft, JSON.stringify(report), { mode: 0o600 })
  await rename(draft, file)
}

/** The streams of a thread go through the main thread, which is blocked. */
function report(text: string): Promise<void> {
  return new Promise((resolve) => fs.write(2, text, () => resolve()))
}

/** The functions on the main thread's call stack, innermost first. Never settles when the main thread cannot answer. */
function findStack(): Promise<string[]> {
  return new Promise((resolve) => {
    const session = new Session()
    const urls = new Map<string, string>()
    session.connectToMainThread()
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
    session.on('Debugger.paused', ({ params }) =>
      resolve(params.callFrames.slice(0, FRAMES_MAX).map((frame) => describeFrame(frame, urls))),
    )
    session.post('Debugger.enable')
    session.post('Debugger.pause')
  })
}

function describeFrame({ functionName, location }: Debugger.CallFrame, urls: Map<string, string>): string {
  const place = (urls.get(location.scriptId) ?? '').replace(/^.*\/(?=(core|api|plugins|workers|node_modules)\/)/, '')
  return `${functionName || '(anonymous)'} ${place}:${location.lineNumber + 1}`
}
