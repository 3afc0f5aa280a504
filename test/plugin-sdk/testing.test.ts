import t from 'tap'
import type { CAPABILITY_METHODS } from '#plugins/packages/manifest.ts'
import * as kit from '../../plugin-sdk/testing.ts'
import {
  type CallTrace,
  type Methods,
  openPlugin,
  TESTING_HOST,
  type TestedPlugin,
  type TestingHost,
  test,
} from '../../plugin-sdk/testing.ts'

const trace: CallTrace = {
  cpuMs: 12,
  wallMs: 30,
  requests: [{ method: 'GET', url: 'https://api.example.org/', status: 200 }],
  log: [],
  progress: [],
  warnings: [],
}

t.test('outside of the tool it says how to run tests', async (t) => {
  for (const run of [() => test('x', () => {}), () => openPlugin()])
    t.throws(run, { message: /Run tests of plugins with `carrel-plugin test`/ })
})

t.test('tests run on the host that the tool provides', async (t) => {
  const known = globalThis as unknown as { [TESTING_HOST]?: unknown }
  t.teardown(() => {
    delete known[TESTING_HOST]
  })
  const asked: unknown[] = []
  const plugin = {} as TestedPlugin
  const host: TestingHost = {
    version: 1,
    test: (name) => void asked.push(name),
    open: async (options) => {
      asked.push(options)
      return plugin
    },
  }
  known[Symbol.for('@carrel/plugin-sdk/testing') as typeof TESTING_HOST] = host
  test('finds books', () => {})
  t.equal(await openPlugin({ fixtures: 'dune' }), plugin)
  await openPlugin()
  t.same(asked, ['finds books', { fixtures: 'dune' }, {}])
  known[TESTING_HOST] = { ...host, version: 2 }
  t.throws(() => test('x', () => {}), { message: /Update @carrel\/plugin-sdk/ })
})

t.test('every function of a manifest can be called', async (t) => {
  type Known = {
    [Name in keyof typeof CAPABILITY_METHODS]: `${Name}.${(typeof CAPABILITY_METHODS)[Name][number]}`
  }[keyof typeof CAPABILITY_METHODS]
  const same: [Known] extends [keyof Methods] ? ([keyof Methods] extends [Known] ? true : false) : false = true
  t.ok(same)
})

t.test('values are compared member by member', async (t) => {
  const { assertEqual } = kit
  assertEqual({ a: [1, { b: null }], c: 'x' }, { c: 'x', a: [1, { b: null }] })
  assertEqual(Number.NaN, Number.NaN)
  const wrong: [actual: unknown, expected: unknown, message: RegExp][] = [
    [1, '1', /The value is 1 and should be "1"/],
    [{ a: { b: [1, 2] } }, { a: { b: [1, 3] } }, /^\/a\/b\/1 is 2 and should be 3/],
    [{ a: 1 }, {}, /^\/a is 1 and should be undefined/],
    [{}, { a: undefined, b: 1 }, /^\/b/],
    [[], {}, /The value/],
    [[1], [1, 2], /^\/1/],
    [null, {}, /The value is null/],
  ]
  for (const [actual, expected, message] of wrong)
    t.throws(() => assertEqual(actual, expected), { message }, JSON.stringify([actual, expected]))
  t.ok(String(t.throws(() => assertEqual('x'.repeat(10_000), 'y'))).length < 2_000)
})

t.test('a failure is expected by its code', async (t) => {
  const { assertFails } = kit
  const failure = Object.assign(new Error('gone'), { code: 'not_found', trace })
  t.equal(await assertFails(Promise.reject(failure), 'not_found'), failure)
  await t.rejects(assertFails(Promise.reject(failure), 'auth'), { message: /failed with auth, but failed with not_found/ })
  await t.rejects(assertFails(Promise.reject(null), 'auth'), { message: /no code/ })
  await t.rejects(assertFails(Promise.resolve({ found: 1 }), 'auth'), { message: /returned \{"found":1\}/ })
})

t.test('a call stays within its budget', async (t) => {
  const { assertWithin } = kit
  assertWithin(trace, { cpuMs: 12, wallMs: 30, requests: 1 })
  assertWithin(trace, {})
  t.throws(() => assertWithin(trace, { cpuMs: 11 }), { message: /12 of cpuMs; the limit is 11/ })
  t.throws(() => assertWithin(trace, { wallMs: 1 }), { message: /wallMs/ })
  t.throws(() => assertWithin(trace, { requests: 0 }), { message: /1 of requests/ })
})
