import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import t from 'tap'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import { BUDGET, openGuests } from '#test/support/guests.ts'

t.setTimeout(240_000)

/** Answers like the server, and fails on request with details that the guest must not see. */
const onRequest = async (kind: string, payload: unknown) => {
  if (JSON.stringify(payload).includes('fail')) throw new Error('connect ECONNREFUSED 10.0.0.7:5432 at /srv/carrel/secret.ts, token abc')
  if (JSON.stringify(payload).includes('refuse')) throw new GuestError('thrown', 'You may not do this.', 'permission')
  if (kind === 'fetch') return { status: 200, url: 'https://example.org/', headers: [['content-type', 'text/plain']], body: '{"a":[1]}' }
  return kind === 'library.entries' ? { entries: [{ seriesId: 'x' }], nextCursor: null } : { any: ['thing'] }
}
const CALL_LIMITS = { onRequest }
const LONG = { cpuMs: 5_000, wallMs: 20_000 }

/** Every answer of a context, and every way in which it can fail. */
const COLLECT = `async function collect(ctx) {
  const found = [ctx, ctx.signal]
  const keep = async (make) => { try { const value = await make(); found.push(value, make()) } catch (error) { found.push(error) } }
  for (const what of ['fine', 'fail', 'refuse']) {
    await keep(() => ctx.fetch('https://example.org/' + what))
    await keep(() => ctx.http.json('https://example.org/' + what))
    await keep(() => ctx.storage.get(what))
    await keep(() => ctx.storage.list(what))
    await keep(() => ctx.crypto.digest('sha256', what))
    await keep(() => ctx.library.entries({ cursor: what }))
    await keep(() => ctx.auth.status())
    await keep(() => ctx.sleep(what))
  }
  const response = await ctx.fetch('https://example.org/')
  found.push(response.headers.entries(), await response.json(), response.json(), ...response.headers)
  return found
}`

t.test('no reachable object leads out of the realm of the plugin', async (t) => {
  const { call } = openGuests(t).open(
    `scan: async (_, ctx) => {
      const own = Function
      const seen = new Set()
      const strange = []
      const queue = [...Object.getOwnPropertyNames(globalThis).map((name) => [name, globalThis[name]]), ...(await collect(ctx)).map((value, n) => ['ctx' + n, value])]
      while (queue.length > 0) {
        const [path, value] = queue.pop()
        if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value)) continue
        seen.add(value)
        if (typeof value === 'function' && value !== Function.prototype) {
          let base = value
          while (Object.getPrototypeOf(base) !== null && typeof Object.getPrototypeOf(base) === 'function' && Object.getPrototypeOf(base) !== Function.prototype) base = Object.getPrototypeOf(base)
          const kinds = [own, (async () => {}).constructor, (function* () {}).constructor, (async function* () {}).constructor]
          if (!kinds.includes(base.constructor) && !(value.prototype && own.prototype === Object.getPrototypeOf(base))) strange.push([path, 'another Function'])
          if (/^(Reference|ExternalCopy|Isolate|Context|Callback|Module|Script|NativeModule|post|entry|prelude)$/.test(value.name)) strange.push([path, value.name])
        }
        for (const key of Reflect.ownKeys(value)) {
          if (typeof key === 'string' && /^(post|entry|__)/.test(key) && !/^__(proto|defineGetter|defineSetter|lookupGetter|lookupSetter)__$/.test(key)) strange.push([path, key])
          const descriptor = Object.getOwnPropertyDescriptor(value, key)
          for (const name of ['value', 'get', 'set']) queue.push([path + '.' + String(key), descriptor[name]])
        }
        queue.push([path + '.proto', Object.getPrototypeOf(value)])
      }
      return { count: seen.size, strange }
    },
    functions: async (_, ctx) => {
      const reached = new Set()
      for (const value of await collect(ctx)) for (let at = value; at !== null && at !== undefined; at = Object.getPrototypeOf(at))
        for (const name of Object.getOwnPropertyNames(at)) { let member; try { member = at[name] } catch { continue }
          for (const one of [member, member?.constructor, at.constructor]) if (typeof one === 'function')
            for (const make of [() => one.constructor('return typeof process + typeof require + typeof post')(), () => one.constructor.constructor('return this === globalThis')()])
              try { reached.add(String(make())) } catch (error) { reached.add(error.name) } }
      return [...reached]
    }`,
    { memoryMbMax: 128 },
    COLLECT,
  )
  const { count, strange } = (await call('scan', null, LONG, CALL_LIMITS)) as { count: number; strange: unknown[] }
  t.ok(count > 500, `${count} objects were looked at`)
  t.same(strange, [])
  const reached = (await call('functions', null, LONG, CALL_LIMITS)) as string[]
  t.same(
    reached.filter((one) => !['undefinedundefinedundefined', 'true', 'TypeError', 'SyntaxError', '[object Promise]'].includes(one)),
    [],
  )
  t.ok(reached.includes('undefinedundefinedundefined'))
})

t.test('errors of the server reveal nothing', async (t) => {
  const { call } = openGuests(t).open(
    `fail: async (_, ctx) => (await collect(ctx)).filter((value) => value instanceof Error).map((error) => [error.code, error.message, error.stack, Object.keys(error), error.cause === undefined]),
    stacks: async (_, ctx) => { Error.stackTraceLimit = Infinity; const frames = []
      Error.prepareStackTrace = (error, sites) => { for (const site of sites) frames.push([site.getThis() === undefined, site.getFunction() === undefined, site.getFileName()]); return 'mine' }
      const texts = []
      for (const make of [() => ctx.fetch('fail'), () => null.x, () => ctx.log.info({ toString() { throw new Error('x') } })]) try { await make() } catch (error) { texts.push(String(error.stack)) }
      delete Error.prepareStackTrace
      return { frames, texts } }`,
    {},
    COLLECT,
  )
  const failures = (await call('fail', null, LONG, CALL_LIMITS)) as [string, string, string, string[], boolean][]
  t.ok(failures.length >= 14, `${failures.length} of them`)
  for (const [code, message, stack, keys, hasNoCause] of failures) {
    t.match(code, /^(server|permission)$/)
    t.notMatch(`${message} ${stack}`, /ECONNREFUSED|10\.0|srv|token|node_modules|runner|sandbox\.mjs/)
    t.notOk(`${message} ${stack}`.includes(process.cwd()), 'nor the path of the server')
    t.same([keys, hasNoCause], [['code'], true])
  }
  const { frames } = (await call('stacks', null, LONG, CALL_LIMITS)) as { frames: [boolean, boolean, string | null][] }
  for (const [, , file] of frames) t.match(file ?? 'test.js', /^(test|prelude|web|url)\.js$/, 'no file of this machine')
  t.ok(
    frames.every(([, isHidden, file]) => isHidden || file === 'test.js' || file === null),
    'functions of the prelude are not accessible',
  )
})

const SPOIL = `function spoil() {
  for (const name of ['reference', 'copy', 'promise', 'externalCopy', 'arguments', 'result', 'timeout', 'code', 'kind', 'id', 'call', 'payload', 'toJSON', 'then', 'get', 'set', 'status', 'headers'])
    try { Object.defineProperty(Object.prototype, name, { configurable: true, get() { return name === 'then' || name === 'toJSON' ? undefined : true }, set(value) { leaked.push([name, typeof value]) } }) } catch {}
  Object.defineProperty(Array.prototype, 0, { configurable: true, get() { return 'mine' }, set(value) { leaked.push([0, typeof value]) } })
  for (const [of, names] of [[Promise.prototype, ['then', 'catch', 'finally']], [JSON, ['stringify', 'parse']], [Reflect, ['apply', 'ownKeys', 'construct', 'defineProperty']], [String.prototype, ['slice', 'split', 'toLowerCase']],
    [Array.prototype, ['map', 'push', 'join', Symbol.iterator]], [Map.prototype, ['get', 'set']], [Object, ['freeze', 'create', 'keys', 'defineProperty']], [Function.prototype, ['call', 'apply', 'bind']], [Promise, ['resolve', Symbol.species]]])
    for (const name of names) try { Object.defineProperty(of, name, { configurable: true, get() { return (...given) => { leaked.push([String(name), given.length]); throw new Error('mine') } } }) } catch {}
  String.prototype[Symbol.toPrimitive] = () => 'mine'
  globalThis.Promise = class { constructor() { throw new Error('mine') } }
  globalThis.Error = class { constructor() { leaked.push('error') } }
}
let leaked = []`

t.test('whatever a plugin does to its own realm, its requests carry its own identity and its answers are text', async (t) => {
  const { call, guest } = openGuests(t).open(
    `spoil: (_, ctx) => { spoil(); return 'done' },
    ask: async (_, ctx) => { try { const answer = await ctx.storage.get('key'); return typeof answer } catch (error) { return 'failed' } },
    log: (_, ctx) => { ctx.log.info('said', { a: 1 }); ctx.progress(0.5, 'half'); return 'said' },
    object: () => ({ a: [1, { b: 2 }] }), throws: () => { throw { message: 'plain', code: 'mine' } }`,
    {},
    SPOIL,
  )
  t.equal(await call('spoil'), 'done')
  const asked: unknown[] = []
  const answer = await call('ask', null, BUDGET, {
    onRequest: async (kind, payload) => {
      asked.push([kind, payload])
      return { reference: 'x' }
    },
  })
  t.match(answer, /^(object|failed)$/)
  for (const one of asked) t.match(one, ['storage.get', Object])
  const said: unknown[] = []
  t.equal(await call('log', null, BUDGET, { onOutput: (kind, payload) => said.push([kind, payload]) }), 'said')
  for (const [kind, payload] of said as [string, object][]) {
    t.match(kind, /^(log|progress)$/)
    t.equal(Object.getPrototypeOf(payload), Object.prototype)
  }
  t.type((await guest.call('object', '1', BUDGET, { more: '{"callId":"x","plugin":{},"config":{},"userConfig":{}}' })).text, 'string')
  await t.rejects(call('throws'), { code: 'thrown' })
  t.equal((await call('echo', 5)) as number, 5, 'and it still works')
  t.equal((Object.prototype as { reference?: unknown }).reference, undefined, 'this process is unchanged')
})

t.test('outside, every value is text, and invalid JSON is refused', async (t) => {
  const values = [
    'new Proxy({}, { get() { throw new Error("trap") }, ownKeys() { throw new Error("trap") } })',
    '(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy })()',
    '(() => { const a = {}; a.a = a; return a })()',
    '10n',
    '{ get a() { throw new Error("getter") } }',
    '{ toJSON() { throw null } }',
  ]
  const turned: [string, unknown][] = [
    ['() => {}', null],
    ['Symbol("x")', null],
    ['new Uint8Array(2)', { 0: 0, 1: 0 }],
    ['new Date(NaN)', null],
    ['NaN', null],
    ['-Infinity', null],
    ['new Map([[1, 2]])', {}],
    ['{ then: 1 }', JSON.parse('{"then":1}')],
    ['{ then(resolve) { resolve({ then(next) { next(7) } }) } }', 7],
    [
      'JSON.parse(\'{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}\')',
      JSON.parse('{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}'),
    ],
    ['Object.assign([], { length: 3 })', [null, null, null]],
    ['new Proxy([1], {})', [1]],
  ]
  const { call, fails } = openGuests(t).open(
    [...values, ...turned.map(([value]) => value)].map((value, n) => `value${n}: () => (${value})`).join(',\n') +
      `,
      send: async (_, ctx) => { const odd = [${[...values.slice(0, 4), 'new ArrayBuffer(8)', 'ctx', 'ctx.fetch', 'globalThis'].map((value) => `() => (${value})`).join(',\n')}]
        const seen = []
        for (const make of odd) for (const give of [(x) => ctx.storage.set('k', x), (x) => ctx.fetch(x, x), (x) => ctx.crypto.digest(x, x), (x) => ctx.log.info('x', x), (x) => ctx.log.info(x), (x) => ctx.progress(x, x), (x) => ctx.sleep(x)])
          try { await give(make()); seen.push('sent') } catch (error) { seen.push(error instanceof Error) }
        return seen.every((one) => one === 'sent' || one === true) }`,
  )
  for (const [n, value] of values.entries()) t.match(await fails(`value${n}`), { code: /invalid_result|thrown/ }, value)
  for (const [n, [value, expected]] of turned.entries()) t.same(await call(`value${values.length + n}`), expected, value)
  const asked: unknown[] = []
  const isFine = await call('send', null, LONG, {
    onRequest: async (_, payload) => {
      asked.push(payload)
      return null
    },
  })
  t.equal(isFine, true)
  t.ok(asked.length > 5)
  t.same(asked, JSON.parse(JSON.stringify(asked)), 'all are plain values')
  t.equal(({} as { a?: unknown }).a, undefined)
})

t.test('anything can be thrown, and gives a short message', async (t) => {
  const thrown = [
    'null',
    'undefined',
    'Symbol("x")',
    'new Proxy({}, { get() { throw new Error("trap") } })',
    'new Proxy(new Error("x"), { get() { return new Proxy({}, {}) } })',
    '{ get name() { throw 1 }, get message() { throw 2 } }',
    '{ name: 7, message: {}, stack: [], code: Symbol() }',
    '{ message: "x".repeat(2 ** 24), stack: "y".repeat(10_000_000), code: "z".repeat(1_000) }',
    'Object.defineProperty(new Error("x"), "stack", { get() { throw null } })',
    '(() => { let times = 0; return { get message() { return ++times > 1 ? {} : "first" } } })()',
    'Promise.reject(1)',
    'class { static [Symbol.toPrimitive]() { throw 1 } }',
  ]
  const { call, fails } = openGuests(t).open(
    thrown
      .map(
        (value, n) =>
          `sync${n}: () => { throw ${value.startsWith('{') ? `(${value})` : value} }, async${n}: async () => { await null; throw ${value.startsWith('{') ? `(${value})` : value} }`,
      )
      .join(',\n') + ', floats: () => { Promise.reject(new Error("nobody looks")); return 1 }',
    { memoryMbMax: 128 },
  )
  for (const [n, value] of thrown.entries())
    for (const kind of ['sync', 'async']) {
      const error = await fails(`${kind}${n}`, null, LONG)
      t.match(error, { code: 'thrown' }, value)
      t.ok(error.message.length <= 4_096 && (error.own ?? '').length <= 64, `${error.message.length} characters`)
    }
  t.equal(await call('floats'), 1)
  t.equal(await call('echo', 1), 1, 'an unhandled rejection ends nothing')
  for (const code of [
    'throw { get message() { for (;;); } }',
    'throw { toString() { for (;;); } }',
    'export const x = { get a() { for (;;); } }; throw x',
  ]) {
    const loading = openGuests(t).open('', { load: { cpuMs: 200, wallMs: 2_000 } }, code)
    t.match(await loading.fails('echo'), { code: /cpu|timeout|load/ }, code)
  }
})

t.test('external code is not loaded, and evaluated code stays inside the sandbox', async (t) => {
  for (const from of [
    'node:fs',
    'fs',
    'file:///etc/passwd',
    'https://example.org/x.js',
    'data:text/javascript,export default 1',
    './other.js',
    'isolated-vm',
  ])
    t.match(
      await openGuests(t)
        .open('', {}, `import ${JSON.stringify(from)}`)
        .fails('echo'),
      { code: 'load', message: /cannot import/ },
      from,
    )
  const { call } = openGuests(t).open(
    `dynamic: async (from) => { try { await import(from); return 'imported' } catch (error) { return 'refused' } }, meta: () => Object.keys(import.meta),
    evaluated: () => [eval('typeof process'), new Function('return typeof require')(), (async () => {}).constructor('return typeof process') instanceof Function,
      [...(function* () {}).constructor('yield typeof process')()], (0, eval)('this === globalThis')],
    globals: () => Object.getOwnPropertyNames(globalThis).filter((name) => /^(process|require|module|Buffer|global|console|WebAssembly|Shared.*|Atomics|post|register|fetch|Worker|import.*)$/.test(name)),
    deep: () => { const names = []; for (const make of [() => new (Object.getPrototypeOf(Int8Array).prototype.constructor)(1), () => structuredClone(new ArrayBuffer(8)).resize(4), () => new (structuredClone(new ArrayBuffer(8)).constructor)(8, { maxByteLength: 16 }),
        () => Reflect.construct(ArrayBuffer, [8, { maxByteLength: 16 }], class extends ArrayBuffer {}), () => new (class extends ArrayBuffer {})(8, { maxByteLength: 16 }), () => new Uint8Array(8).buffer.transfer(16), () => new ArrayBuffer(8).slice(0, 4).resize(2),
        () => new (class extends Uint8Array { static get [Symbol.species]() { return SharedArrayBuffer } })(4).slice(), () => new TextEncoder().encode('x').buffer.resize(1)]) try { make(); names.push('made') } catch (error) { names.push(error.name) }
      return names }`,
  )
  for (const from of ['node:fs', 'data:text/javascript,1', './x.js']) t.equal(await call('dynamic', from), 'refused', from)
  t.same(await call('meta'), [])
  t.same(await call('evaluated'), ['undefined', 'undefined', true, ['undefined'], true])
  t.same(await call('globals'), ['register'])
  t.same(new Set((await call('deep')) as string[]), new Set(['TypeError', 'ReferenceError']))
})

t.test('a program is defined once, and cannot change its functions', async (t) => {
  const { call } = openGuests(t).open(
    `again: () => { try { register({ echo: () => 'another' }); return 'registered' } catch (error) { return error.message } },
    replaces: () => { plugin.echo = () => 'another'; plugin.fresh = () => 1; return 'replaced' }, fresh: undefined`,
    {
      sources: [
        {
          name: 'test.js',
          module: true,
          code: `const plugin = { echo: (x) => x,
      again: () => { try { register({ echo: () => 'another' }); return 'registered' } catch (error) { return error.message } },
      replaces: () => { plugin.echo = () => 'another'; return 'replaced' } }; export default plugin`,
        },
      ],
    },
  )
  t.match(await call('again'), /register its functions only once/)
  t.equal(await call('replaces'), 'replaced')
  t.equal(await call('echo', 1), 1)
})

t.test('the sandbox uses the tested versions of its dependencies', async (t) => {
  const versionOf = (name: string) => (createRequire(import.meta.url)(`${name}/package.json`) as { version: string }).version
  const { dependencies } = createRequire(import.meta.url)('../../../package.json') as { dependencies: Record<string, string> }
  // isolated-vm 7.0.0 and older run guest code while they copy its objects (GHSA-864f-rcv7-6rh4); handlebars 4.7.9 and older run syntax trees as code.
  for (const [name, version] of [
    ['isolated-vm', '7.0.1'],
    ['handlebars', '4.7.10'],
  ] as const) {
    t.equal(dependencies[name], version, `${name} is pinned`)
    t.equal(versionOf(name), version)
  }
  const copies = `import ivm from ${JSON.stringify(import.meta.resolve('isolated-vm'))}
    const isolate = new ivm.Isolate()
    const context = await isolate.createContext()
    const outcome = await context.eval('({ get a() { globalThis.ran = true; return 1 } })', { copy: true }).then(() => 'copied', () => 'refused')
    const text = outcome + ' ' + (await context.eval('typeof ran'))
    process.stdout.write(text, () => process.kill(process.pid, 'SIGKILL'))`
  const { stdout } = spawnSync(process.execPath, ['--no-node-snapshot', '--input-type=module', '-e', copies], {
    encoding: 'utf8',
    timeout: 60_000,
  })
  t.equal(stdout, 'refused undefined', 'no code runs while an object is copied')
  t.equal(Number(process.versions.node.split('.')[0]), 24, 'its permission model was tested with this version')
})
