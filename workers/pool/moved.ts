import { Piscina, transferableSymbol, valueSymbol } from 'piscina'

/** Wraps the answer of a thread so that the memory of `bytes` is transferred instead of copied. */
export function moved<Result extends object>(result: Result, bytes: Uint8Array): Result {
  const movable = { [transferableSymbol]: bytes.buffer, [valueSymbol]: result }
  // The pool unwraps it in transit; the caller gets a Result.
  return Piscina.move(movable as never) as unknown as Result
}
