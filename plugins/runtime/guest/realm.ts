import { construct, defineProperty, deleteProperty, GuestError, NativeBuffer, NativeTypeError, ownKeys } from './built-ins.ts'

/** How many calls a stack has. V8's default of ten ends inside of a package whose functions call each other, before the author's line. */
const STACK_CALLS = 50

/** Removes what takes memory outside the limit of an isolate, threads, and a console that writes to the process. */
export function restrictRealm(): void {
  GuestError.stackTraceLimit = STACK_CALLS
  for (const name of ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'console']) deleteProperty(globalThis, name)
  // Resizable buffers are outside the limit too.
  for (const name of ['resize', 'transfer', 'transferToFixedLength', 'resizable', 'maxByteLength'])
    deleteProperty(NativeBuffer.prototype, name)
  for (const key of ownKeys(NativeBuffer)) {
    if (key === 'length' || key === 'name' || key === 'prototype') continue
    defineProperty(FixedBuffer, key, Object.getOwnPropertyDescriptor(NativeBuffer, key) as PropertyDescriptor)
  }
  defineProperty(FixedBuffer, 'name', { value: 'ArrayBuffer' })
  defineProperty(FixedBuffer, 'prototype', { value: NativeBuffer.prototype, writable: false })
  defineProperty(NativeBuffer.prototype, 'constructor', { value: FixedBuffer, writable: true, configurable: true })
  defineProperty(globalThis, 'ArrayBuffer', { value: FixedBuffer, writable: true, configurable: true })
}

function FixedBuffer(this: unknown, length: number, options?: { maxByteLength?: number } | null): ArrayBuffer {
  if (new.target === undefined) throw new NativeTypeError("Class constructor ArrayBuffer cannot be invoked without 'new'")
  if (options !== undefined && options !== null && options.maxByteLength !== undefined)
    throw new NativeTypeError('Resizable buffers are not available to plugins.')
  return construct(NativeBuffer, [length], new.target)
}
