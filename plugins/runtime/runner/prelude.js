/**
 * The first code in every isolate, run before any code of a guest: a script whose value is one function. Only it holds the channel to the server
 * (`post`), and it passes only strings of limited length. It keeps references to everything that guests could change later (prototypes, globals).
 *
 * post(kind, id, text): one way, to the runner
 * limits, as JSON: { resultLength, requestLengths, methods, hostCalls, inFlight, logLines, logLength }
 * installWeb, web, installFetch, headers: the globals of plugins, see web.js, url.js, fetch.js, headers.js; the server's own programs have none
 * returns entry(kind, id, name, text, more), which the runner holds:
 *   call    a function by its name, with one argument; for plugins, `more` is the data of its context
 *   reply   to a host call of a plugin
 *   define  the default export of a plugin's module, once
 *   timer   a timer has expired
 */
;(function prelude(post, limits, installWeb, web, installFetch, headers) {
  // biome-ignore lint/suspicious/noRedundantUseStrict: it runs as a classic script
  'use strict'
  const { resultLength, requestLengths, methods, hostCalls, inFlight, logLines, logLength } = JSON.parse(limits)

  const { parse, stringify } = JSON
  const { apply, construct, deleteProperty, defineProperty, ownKeys } = Reflect
  const { freeze, create, setPrototypeOf } = Object
  const GuestPromise = Promise
  const promiseThen = Promise.prototype.then
  const promiseResolve = Promise.resolve
  const slice = String.prototype.slice
  const indexOf = String.prototype.indexOf
  const split = String.prototype.split
  const GuestError = Error
  const toText = String
  const NativeBuffer = ArrayBuffer
  const NativeTypeError = TypeError
  const NativeRangeError = RangeError
  const { isArray } = Array
  const iterator = Symbol.iterator

  /** Concurrent timers of one isolate: enough for deadlines and pauses. */
  const TIMERS_MAX = 16
  const MESSAGE_LENGTH_MAX = 4_096
  const STACK_LENGTH_MAX = 8_192

  // Memory outside the limit of an isolate, threads, and a console that writes to the process.
  for (const name of ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'console']) deleteProperty(globalThis, name)

  // Resizable buffers are outside the limit too.
  for (const name of ['resize', 'transfer', 'transferToFixedLength', 'resizable', 'maxByteLength'])
    deleteProperty(NativeBuffer.prototype, name)
  function FixedBuffer(length, options) {
    if (new.target === undefined) throw new NativeTypeError("Class constructor ArrayBuffer cannot be invoked without 'new'")
    if (options !== undefined && options !== null && options.maxByteLength !== undefined)
      throw new NativeTypeError('Resizable buffers are not available to plugins.')
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

  // ── Timers: they run only while a call does ──

  const timers = create(null)
  let timersLive = 0
  let lastTimer = 0
  let callsLive = 0
  /** The call to which the running code belongs: that of the last entry, because jobs of an entry run before the next entry. */
  let current = null

  function setTimer(run, ms) {
    if (callsLive === 0) throw new GuestError('Timers are available only during a call.')
    if (timersLive >= TIMERS_MAX) throw new NativeRangeError(`At most ${TIMERS_MAX} timers may be pending at a time.`)
    const id = ++lastTimer
    timers[id] = { run, state: current }
    timersLive += 1
    post('timer', id, toText(ms), current.id)
    return id
  }

  function clearTimer(id) {
    if (timers[id] === undefined) return
    delete timers[id]
    timersLive -= 1
    post('untimer', id, '')
  }

  function runTimer(id) {
    const timer = timers[id]
    if (timer === undefined) return
    const { run, state } = timer
    delete timers[id]
    timersLive -= 1
    current = state
    try {
      run()
    } catch (error) {
      // Nothing else would report the error, and code that waits for the timer would wait forever.
      state.fail(error)
    }
  }

  function finishCall() {
    callsLive -= 1
    if (callsLive > 0) return
    for (const id in timers) delete timers[id]
    timersLive = 0
  }

  const installed = installWeb === undefined ? null : installWeb(freeze({ __proto__: null, set: setTimer, clear: clearTimer }), web)
  const makeSignal = installed === null ? null : installed.makeSignal
  const fetching = installed === null ? null : installFetch(installed.classes, headers)

  /** The functions of the program, by name. */
  let handlers = null

  defineProperty(globalThis, 'register', {
    configurable: true,
    value: function register(given) {
      if (handlers !== null) throw new Error('A program can register its functions only once.')
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
      return postError(id, 'invalid_result', `The result has ${text.length} characters; the limit is ${resultLength}.`, null, '')
    post('done', id, text)
  }

  const textOr = (value, other) => (typeof value === 'string' ? value : other)

  /** A thrown value may be anything, and reading it may run code of the guest, which counts for the budget of the call. */
  function fail(id, error, code) {
    let name = 'Error'
    let message = ''
    let stack = ''
    let own = null
    let wait = null
    try {
      if (error !== null && typeof error === 'object') {
        // Reads each property once: a getter may return another value the second time.
        name = textOr(error.name, name)
        message = textOr(error.message, message)
        stack = textOr(error.stack, stack)
        own = textOr(error.code, own)
        const seconds = error.retryAfterSeconds
        // JSON has no NaN or infinity.
        if (typeof seconds === 'number' && seconds > 0 && seconds < 1e9) wait = seconds
      } else message = textOr(error, message)
    } catch {
      message = 'The code threw an unreadable error.'
    }
    if (message === '') message = name === 'Error' ? 'The code threw a value that is not an error.' : name
    postError(id, code, message, own, stack, wait)
  }

  function postError(id, code, message, own, stack, wait = null) {
    const text = stringify({
      // Own properties, so that nothing that guests put on a prototype is read.
      __proto__: null,
      code,
      message: apply(slice, message, [0, MESSAGE_LENGTH_MAX]),
      own: own === null ? null : apply(slice, own, [0, 64]),
      stack: apply(slice, stack, [0, STACK_LENGTH_MAX]),
      wait,
    })
    post('fail', id, text)
  }

  function call(id, name, text, more) {
    const handler = handlers === null ? undefined : handlers[name]
    if (handler === undefined) return postError(id, 'not_implemented', `The program has no function "${name}".`, null, '')
    const state = { id, ended: false, requests: 0, running: 0, first: null, last: null, lines: 0, letters: 0, signal: null, fail: null }
    callsLive += 1
    current = state
    const succeed = (value) => {
      if (state.ended) return
      state.ended = true
      done(id, value)
      finishCall()
      state.signal?.giveUp(closedProblem())
    }
    const break_ = (error) => {
      if (state.ended) return
      state.ended = true
      fail(id, error, 'thrown')
      finishCall()
      state.signal?.giveUp(closedProblem())
    }
    state.fail = break_
    let result
    try {
      const given = parse(text)
      result = apply(handler, undefined, typeof more === 'string' ? [given, makeContext(state, parse(more))] : [given])
    } catch (error) {
      return break_(error)
    }
    if (result === null || typeof result !== 'object') return succeed(result)
    let then
    try {
      then = result.then
    } catch (error) {
      return break_(error)
    }
    if (typeof then !== 'function') return succeed(result)
    apply(promiseThen, apply(promiseResolve, GuestPromise, [result]), [succeed, break_])
  }

  /** Registers the functions of a plugin, by their paths in its export. */
  function define(plugin) {
    if (handlers !== null) throw new GuestError('A plugin can be defined only once.')
    const known = create(null)
    for (let index = 0; index < methods.length; index++) {
      const path = methods[index]
      const names = apply(split, path, ['.'])
      let holder
      let at = plugin
      for (let step = 0; step < names.length && at !== undefined && at !== null; step++) {
        holder = at
        at = at[names[step]]
      }
      if (typeof at === 'function') {
        const own = holder
        const handler = at
        known[path] = (given, context) =>
          apply(handler, own, path === 'setup' ? [context] : path === 'migrate' ? [context, given] : [given, context])
      }
    }
    handlers = freeze(known)
    // Without calling functions of the guest: its arrays may have a toJSON.
    let names = ''
    for (const path in known) names += `${path}\n`
    return names
  }

  // ── Host calls ──

  const pending = create(null)
  let lastRequestId = 0

  const problem = (code, message, retryAfterSeconds) => {
    const error = new GuestError(message)
    error.code = code
    if (typeof retryAfterSeconds === 'number') error.retryAfterSeconds = retryAfterSeconds
    return error
  }

  /** Adds the stack of the caller: the answer itself has none. */
  function withStackOf(caller, error) {
    try {
      const stack = textOr(caller.stack, '')
      const at = apply(indexOf, stack, ['\n'])
      if (at !== -1) error.stack = `Error: ${error.message}${apply(slice, stack, [at])}`
    } catch {
      // The stack is optional.
    }
    return error
  }

  const closedProblem = () => problem('closed', 'The call has ended.')

  /** Sends a host call and returns a promise of its answer. The server checks the limits too; checking them here saves it the work. */
  function ask(state, kind, payload) {
    return new GuestPromise((resolve, reject) => {
      if (state.ended) return reject(closedProblem())
      state.requests += 1
      if (state.requests > hostCalls) return reject(problem('limit', `A call may make at most ${hostCalls} requests to the server.`))
      let text
      try {
        text = stringify({ __proto__: null, payload })
      } catch {
        return reject(problem('invalid_argument', 'Values sent to the server must be plain JSON.'))
      }
      const lengthMax = requestLengths[kind]
      if (text.length > lengthMax)
        return reject(problem('invalid_argument', `The value sent to the server has ${text.length} characters; the limit is ${lengthMax}.`))
      const entry = { kind, text, state, resolve, reject, next: null, caller: new GuestError() }
      if (state.running < inFlight) return start(entry)
      if (state.last === null) state.first = entry
      else state.last.next = entry
      state.last = entry
    })
  }

  function start(entry) {
    const id = ++lastRequestId
    entry.state.running += 1
    pending[id] = entry
    post('host', id, entry.text, entry.state.id, entry.kind)
  }

  function reply(id, outcome, text) {
    const entry = pending[id]
    if (entry === undefined) return
    delete pending[id]
    const { state } = entry
    state.running -= 1
    current = state
    const next = state.first
    if (next !== null) {
      state.first = next.next
      if (state.first === null) state.last = null
      start(next)
    }
    const answer = parse(text)
    if (outcome === 'ok') entry.resolve(answer)
    else entry.reject(withStackOf(entry.caller, problem(answer.code, answer.message)))
  }

  const oneWay = (state, kind, payload) => {
    if (!state.ended) post(kind, state.id, stringify({ __proto__: null, ...payload }))
  }

  function makeContext(state, given) {
    const log = (level) => (message, data) => {
      let more
      try {
        more = data === undefined ? undefined : stringify(data)
      } catch {
        more = undefined
      }
      const line = apply(slice, typeof message === 'string' ? message : toText(message), [0, 2_048])
      state.lines += 1
      state.letters += line.length
      if (state.lines > logLines || state.letters > logLength) return
      oneWay(state, 'log', { level, message: line, data: more === undefined ? null : apply(slice, more, [0, 2_048]) })
    }
    const fetch = async (input, init) => {
      const { signal, ...request } = fetching.readArguments(input, init)
      request.headers = plainHeaders(request.headers)
      return fetching.makeResponse(await unlessGivenUp(signal, () => ask(state, 'fetch', request)))
    }
    // In a literal, `__proto__: null` makes a slower object; there are eight in every call.
    const table = (members) => freeze(setPrototypeOf(members, null))
    const context = {
      callId: given.callId,
      plugin: table({ ...given.plugin }),
      config: deepFreeze(given.config),
      userConfig: deepFreeze(given.userConfig),
      fetch,
      http: table({ json: async (url, init) => await readJson(await fetch(url, init)) }),
      storage: table({
        get: (key) => ask(state, 'storage.get', { key }),
        set: async (key, value, options) => void (await ask(state, 'storage.set', { key, value, ttlSeconds: options?.ttlSeconds })),
        delete: async (key) => void (await ask(state, 'storage.delete', { key })),
        list: (prefix) => ask(state, 'storage.list', { prefix }),
      }),
      log: table({ debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }),
      progress: (fraction, text) => {
        state.lines += 1
        if (state.lines > logLines || typeof fraction !== 'number') return
        oneWay(state, 'progress', { fraction, text: typeof text === 'string' ? apply(slice, text, [0, 200]) : null })
      },
      auth: table({ status: () => ask(state, 'auth.status', {}) }),
      library: table({ entries: (options) => ask(state, 'library.entries', { cursor: options?.cursor ?? null }) }),
      sleep: async (ms) => void (await ask(state, 'sleep', { ms })),
      crypto: table({
        digest: (algorithm, text) => ask(state, 'crypto.digest', { algorithm, text }),
        hmac: (algorithm, key, text) => ask(state, 'crypto.hmac', { algorithm, key, text }),
        randomUUID: () => ask(state, 'crypto.randomUUID', {}),
      }),
    }
    if (makeSignal !== null)
      defineProperty(context, 'signal', {
        // Property descriptors would inherit from their prototypes.
        __proto__: null,
        enumerable: true,
        get: () => {
          if (state.signal === null) {
            state.signal = makeSignal()
            if (state.ended) state.signal.giveUp(closedProblem())
          }
          return state.signal.signal
        },
      })
    return table(context)
  }

  /** Headers as an object, from an object, pairs or a map; the server validates the content. */
  function plainHeaders(given) {
    if (given === null || typeof given !== 'object') return given
    const plain = create(null)
    if (!isArray(given) && typeof given[iterator] !== 'function') {
      for (const name of ownKeys(given)) if (typeof name === 'string') plain[name] = given[name]
    } else for (const pair of given) plain[toText(pair[0])] = pair[1]
    return plain
  }

  /** The promise of `start`, rejected when the signal aborts first. */
  function unlessGivenUp(signal, start) {
    if (signal === undefined || signal === null) return start()
    if (signal.aborted) throw signal.reason
    return new GuestPromise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      apply(promiseThen, start(), [resolve, reject])
    })
  }

  function deepFreeze(value) {
    if (value === null || typeof value !== 'object') return value
    for (const key of ownKeys(value)) deepFreeze(value[key])
    return freeze(value)
  }

  async function readJson(response) {
    const { status } = response
    if (status === 404 || status === 410) throw problem('not_found', `${response.url} was not found.`)
    if (status === 401 || status === 403) throw problem('auth', `${response.url} rejected the credentials (${status}).`)
    const { retryAfterSeconds } = response
    if (status === 429 || (status === 503 && retryAfterSeconds !== null))
      throw problem('rate_limited', `${response.url} has reached its rate limit.`, retryAfterSeconds)
    if (!response.ok) throw problem('upstream', `${response.url} answered ${status}.`)
    try {
      return await response.json()
    } catch {
      throw problem('upstream', `${response.url} did not return valid JSON.`)
    }
  }

  return function entry(kind, id, name, text, more) {
    if (kind === 'call') call(id, name, text, more)
    else if (kind === 'reply') reply(id, name, text)
    else if (kind === 'timer') runTimer(id)
    else if (kind === 'define') return define(name)
  }
})
