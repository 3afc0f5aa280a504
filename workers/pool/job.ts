import { MessageChannel, type MessagePort, parentPort } from 'node:worker_threads'
import type { DrawingOutcome, DrawingRequest } from '../drawing.ts'

/** A function for threads: what a module exports under a name. */
export interface ThreadWork<Run> {
  /** URL of the module. */
  module: string
  name: string
  /** Its type, for the compiler alone. */
  run?: Run
}

/** Names functions of a module, whose types are checked here and whose code only the threads load. */
export const exportsOf =
  <Module>(module: URL) =>
  <Name extends keyof Module & string>(name: Name): ThreadWork<Module[Name]> => ({ module: module.href, name })

/** The message to a thread: what to run, and shared memory for the times that the thread writes. */
export interface Job {
  /** Identifies the job in requests of the thread to the server. */
  id: number
  /** Null for none: whether a thread can start. */
  work: ThreadWork<unknown> | null
  request: unknown
  times: Float64Array
}

/** Indices in `Job.times`, as `monotonicMs()`; 0 until then. Shared memory, because a busy thread would deliver a message only at its end. */
export const BEGUN = 0
export const ENDED = 1

/** Milliseconds of the machine's monotonic clock, the same in every thread. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** A page that a thread needs drawn for its job; the outcome goes to `port`. */
export interface DrawingMessage {
  drawingFor: number
  request: DrawingRequest
  port: MessagePort
}

/** In a thread: lets a child of the server draw a page. */
export function drawElsewhere(jobId: number, request: DrawingRequest): Promise<DrawingOutcome> {
  const { port1, port2 } = new MessageChannel()
  return new Promise((resolve) => {
    port1.once('message', (outcome: DrawingOutcome) => {
      port1.close()
      resolve(outcome)
    })
    parentPort?.postMessage({ drawingFor: jobId, request, port: port2 } satisfies DrawingMessage, [port2])
  })
}
