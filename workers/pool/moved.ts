import { Piscina, transferableSymbol, valueSymbol } from 'piscina'

/** Wraps a thread's answer so that the memory under `bytes` is handed over instead of copied. */
export function moved<Result extends object>(result: Result, bytes: Uint8Array): Result {
  const movable = { [transferableSymbol]: bytes.buffer, [valueSymbol]: result }
  // The pool unwraps it on its way; the caller gets a Result.
  return Piscina.move(movable as never) as unknown as Result
}
