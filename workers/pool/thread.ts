/**
 * The program of a pool thread: runs the function that a job names. A module is loaded when a job first names it: a thread that reads comics
 * never loads the PDF library.
 */

import { Piscina, transferableSymbol, valueSymbol } from 'piscina'
import { Register } from '#core/foundation/register.ts'
import type { DrawPdfPage } from '../drawing.ts'
import { BEGUN, drawElsewhere, ENDED, type Job, monotonicMs } from './job.ts'

// pdf.js leaves promises behind that reject after nobody awaits them. Awaited promises report their own failure; the others must
// not end the thread and lose what the current file has yielded so far.
process.on('unhandledRejection', () => {})

type Run = (request: unknown, draw: DrawPdfPage) => unknown

/** Records when the work began and ended: a job without an end died with its thread. Loading a module is a part of the start of the thread. */
export default async function runJob({ id, work, request, times }: Job): Promise<unknown> {
  const run = work && (await load(work))
  times[BEGUN] = monotonicMs()
  try {
    return movable(await run?.(request, (drawing) => drawElsewhere(id, drawing)))
  } finally {
    times[ENDED] = monotonicMs()
  }
}

const loaded = new Register<Run>()

async function load({ module, name }: NonNullable<Job['work']>): Promise<Run> {
  const known = loaded.get(`${module} ${name}`)
  if (known) return known
  const { [name]: run } = (await import(module)) as Record<string, Run>
  if (run === undefined) throw new Error(`${module} exports no ${name}.`)
  loaded.set(`${module} ${name}`, run)
  return run
}

/** A page of a megabyte is transferred, not copied. Only bytes that fill their buffer are: others may share it. */
function movable(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('bytes' in result) || !(result.bytes instanceof Uint8Array)) return result
  const { buffer, byteLength } = result.bytes
  if (buffer.byteLength !== byteLength) return result
  // The pool unwraps it in transit; its types know only what is transferred whole.
  return Piscina.move({ [transferableSymbol]: buffer, [valueSymbol]: result } as never)
}
