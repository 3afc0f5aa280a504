/**
 * The first code in every isolate, run before anything of a guest: a script whose value is one function. It alone holds the way out (`post`),
 * and lets nothing through but strings of a known length. What guests may change later (prototypes, globals) it has taken hold of before.
 *
 * post(kind, id, text): one way, to the runner
 * limits, as JSON: { resultLength }
 * returns entry(kind, id, name, text), which the runner holds
 */
;(function prelude(post, limits) {
  // biome-ignore lint/suspicious/noRedundantUseStrict: it runs as a classic script
  'use strict'
  const { resultLength } = JSON.parse(limits)

  const { parse, stringify } = JSON
  const { apply, construct, deleteProperty, defineProperty, ownKeys } = Reflect
  const { freeze, create } = Object
  const GuestPromise = Promise
  const promiseThen = Promise.prototype.then
  const promiseResolve = Promise.resolve
  const slice = String.prototype.slice
  const NativeBuffer = ArrayBuffer
  const NativeTypeError = TypeError

  const MESSAGE_LENGTH_MAX = 4_096
  const STACK_LENGTH_MAX = 8_192

  // Memory that the limit of an isolate does not see, threads, and a console that leads out.
  for (const name of ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'console']) deleteProperty(globalThis, name)

  // Buffers that grow are outside of the limit too.
  for (const name of ['resize', 'transfer', 'transferToFixedLength', 'resizable', 'maxByteLength'])
    deleteProperty(NativeBuffer.prototype, name)
  function FixedBuffer(length, options) {
    if (new.target === undefined) throw new NativeTypeError("Class constructor ArrayBuffer cannot be invoked without 'new'")
    if (options !== undefined && options !== null && options.maxByteLength !== undefined)
      throw new NativeTypeError('Buffers that grow are not available to plugins.')
    return construct(NativeBuffer, [length], new.target)
  }
  for (const key of ownKeys(NativeBuffer)) {
    if (key === 'length' || key === 'name' || key === 'prototype') continue
    defineProperty(FixedBuffer, key, Object.getOwnPropertyDescriptor(NativeBuffer, key))
  }
  defineProperty(FixedBuffer, 'name', { value: 'ArrayBuffer' })
  defineProperty(FixedBuffer, 'prototype', { value: NativeBuffer.prototype, writable: false })
  defineProperty(NativeBuffer.prototype, 'constructor', { value: FixedBuffer, writable: true, configurable: true })
  defineProperty(globalThis, 'ArrayBuffer', { value: FixedBuffer, writable: true, configurable: true })

  /** What the program answers to, by name. */
  let handlers = null

  defineProperty(globalThis, 'register', {
    configurable: true,
    value: function register(given) {
      if (handlers !== null) throw new Error('A program registers its functions once.')
      const known = create(null)
      for (const name of ownKeys(given)) if (typeof name === 'string' && typeof given[name] === 'function') known[name] = given[name]
      handlers = freeze(known)
    },
  })

  function done(id, value) {
    let text
    try {
      text = stringify(value)
    } catch (error) {
      return fail(id, error, 'invalid_result')
    }
    if (typeof text !== 'string') text = 'null'
    if (text.length > resultLength)
      return postError(id, 'invalid_result', `The result has ${text.length} characters; ${resultLength} are allowed.`, null, '')
    post('done', id, text)
  }

  /** A thrown thing may be anything, and reading it may run code of the guest, which the budget of the call covers. */
  function fail(id, error, code) {
    let name = 'Error'
    let message = ''
    let stack = ''
    let own = null
    try {
      if (error !== null && typeof error === 'object') {
        if (typeof error.name === 'string') name = error.name
        if (typeof error.message === 'string') message = error.message
        if (typeof error.stack === 'string') stack = error.stack
        if (typeof error.code === 'string') own = error.code
      } else if (typeof error === 'string') message = error
    } catch {
      message = 'An error that cannot be read was thrown.'
    }
    if (message === '') message = name === 'Error' ? 'Something that is no error was thrown.' : name
    postError(id, code, message, own, stack)
  }

  function postError(id, code, message, own, stack) {
    const text = stringify({
      // Own names, so that nothing that guests put on a prototype can speak here.
      __proto__: null,
      code,
      message: apply(slice, message, [0, MESSAGE_LENGTH_MAX]),
      own: own === null ? null : apply(slice, own, [0, 64]),
      stack: apply(slice, stack, [0, STACK_LENGTH_MAX]),
    })
    post('fail', id, text)
  }

  function call(id, name, text) {
    const handler = handlers === null ? undefined : handlers[name]
    if (handler === undefined) return postError(id, 'not_implemented', `The program has no function "${name}".`, null, '')
    let result
    try {
      result = apply(handler, undefined, [parse(text)])
    } catch (error) {
      return fail(id, error, 'thrown')
    }
    if (result === null || typeof result !== 'object') return done(id, result)
    let then
    try {
      then = result.then
    } catch (error) {
      return fail(id, error, 'thrown')
    }
    if (typeof then !== 'function') return done(id, result)
    apply(promiseThen, apply(promiseResolve, GuestPromise, [result]), [(value) => done(id, value), (error) => fail(id, error, 'thrown')])
  }

  return function entry(kind, id, name, text) {
    if (kind === 'call') call(id, name, text)
  }
})
