import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { LogLine } from '#plugins/logs/lines.ts'
import { PluginLogs } from '#plugins/logs/plugin-logs.ts'

t.setTimeout(240_000)

const begun = (pluginId: string, more: object = {}) => ({
  ...{ callId: randomUUID(), pluginId, key: `org.example.${pluginId}`, version: '1.0.0', method: 'metadata.series.search', userId: null },
  ...more,
})
const ended = { code: 'ok', cpuMs: 1, wallMs: 5, queueMs: 0, inputLength: 10, resultLength: 20 }

t.test('a call is recorded from its start to its end', async (t) => {
  let clock = Date.UTC(2026, 10, 21)
  const logs = new PluginLogs({ now: () => clock })
  const call = begun('one', { userId: randomUUID() })
  const record = logs.begin(call)
  record.log('warn', 'Slow\u001b[1m today', { token: 'abc', page: 2 })
  record.hostCall('fetch')
  record.hostCall('fetch')
  record.fetch('api.example.org', 429, 0, false, { grant: 'api.example.org', waitedMs: 120 })
  record.fetch('api.example.org', 200, 900, true, { grant: 'api.example.org' })
  t.match(logs.metrics('one'), [{ running: 1, calls: 0 }])
  t.same(logs.calls('one'), [], 'a running call is not listed')
  clock += 5
  record.end({ ...ended, input: { query: 'dune', apiKey: 'k' }, result: { results: [{ title: 'Bearer s3cr3t-value' }] } })
  record.end({ ...ended, code: 'timeout' })
  t.match(logs.calls('one'), [
    {
      callId: call.callId,
      userId: call.userId,
      startedAt: new Date(clock - 5),
      code: 'ok',
      message: null,
      hostCalls: { fetch: 2 },
      fetches: [
        { host: 'api.example.org', outcome: '429', bytes: 0, cached: false },
        { outcome: '200', bytes: 900, cached: true },
      ],
      input: { query: 'dune', apiKey: '[hidden]' },
      result: { results: [{ title: 'Bearer [hidden]' }] },
      isInputCut: true,
    },
  ])
  t.match(logs.lines('one', { limit: 5 }), {
    lines: [{ level: 'warn', message: 'Slow\\x1b[1m today', data: '{"token":"[hidden]","page":2}' }],
  })
  t.match(logs.metrics(), [
    {
      ...{
        pluginId: 'one',
        key: 'org.example.one',
        running: 0,
        calls: 1,
        succeeded: 1,
        cacheHits: 1,
        rateLimitWaits: 1,
        rateLimitWaitedMs: 120,
      },
      ...{ lastSuccessAt: new Date(clock), lastFailureAt: null, linesKept: 1, linesLeftOut: 0, hostCalls: { fetch: 2 } },
    },
  ])
  const failing = logs.begin(begun('one'))
  failing.end({ ...ended, code: 'thrown', message: 'bad\npassword=hunter2' })
  t.match(logs.calls('one')[0], { code: 'thrown', message: 'bad\\npassword=[hidden]', input: null, isInputCut: false })
  t.match(logs.findCall('one', call.callId), { code: 'ok', input: { apiKey: '[hidden]' } })
  t.equal(logs.findCall('one', randomUUID()), null)
  t.match(logs.metrics('one'), [{ calls: 2, failed: 1, errors: { thrown: 1 }, lastFailureAt: new Date(clock) }])

  t.same([logs.calls('two'), logs.metrics('two'), logs.lines('two', { limit: 1 })], [[], [], { lines: [], missed: 0, lastId: null }])
  const late = logs.begin(begun('one'))
  logs.forget('one')
  logs.forget('one')
  late.log('info', 'nobody hears it')
  late.end(ended)
  t.same([logs.calls('one'), logs.metrics()], [[], []], 'a call that ends later restores nothing')
})

t.test('texts that look like secrets are hidden', async (t) => {
  const logs = new PluginLogs()
  const callOf = (input: unknown, length: number) => {
    const call = begun('one')
    logs.begin(call).end({ ...ended, input, inputLength: length })
    return logs.findCall('one', call.callId)
  }
  t.match(callOf({ password: 'hunter2', url: 'https://x.org/?token=hunter2' }, 50), {
    input: { password: '[hidden]', url: 'https://x.org/?token=[hidden]' },
    isInputCut: true,
  })
  t.match(callOf({ query: 'dune' }, 50), { input: { query: 'dune' }, isInputCut: false })
  t.match(callOf({ text: 'x'.repeat(3_000) }, 3_020), { input: { text: /^x{2000}…$/ }, isInputCut: true })
  const wrong = callOf(Array(90).fill('x'.repeat(1_000)), 5)
  t.ok(JSON.stringify(wrong?.input).length < 9_000, 'a false length')
  t.match(callOf(123_456, 6), { input: 123_456 })
})

t.test('the stored data of a plugin is bounded', async (t) => {
  const logs = new PluginLogs()
  for (let at = 0; at < 200; at += 1) {
    const record = logs.begin(begun('one', { method: `method ${at}` }))
    for (let line = 0; line < 50; line += 1) record.log('info', 'x'.repeat(3_000), { y: 'y'.repeat(3_000) })
    for (let fetch = 0; fetch < 300; fetch += 1) record.fetch(`${at}.example.org`, 200, 1, false)
    for (let kind = 0; kind < 100; kind += 1) record.hostCall(`kind ${kind}`)
    record.end({ ...ended, message: 'm'.repeat(5_000), input: { text: 'i'.repeat(100_000) }, result: Array(5_000).fill('r'.repeat(500)) })
  }
  const calls = logs.calls('one')
  t.equal(calls.length, 50)
  t.match(calls[0], { method: 'method 199' }, 'the newest first')
  t.ok(calls.every((call) => call.fetches.length === 40 && Object.keys(call.hostCalls).length === 32 && call.message?.length === 1_000))
  t.ok(calls.every((call) => JSON.stringify(call.input).length < 9_000 && JSON.stringify(call.result).length < 9_000))
  const { lines } = logs.lines('one', { limit: 5_000 })
  t.ok(lines.length <= 2_000 && lines.every(({ message, data }) => message.length + (data?.length ?? 0) <= 2_048))
  t.ok((logs.metrics('one')[0]?.methods.length ?? 99) <= 32)
})

t.test('many plugins share the memory limit', async (t) => {
  let clock = 0
  const logs = new PluginLogs({ now: () => clock })
  const quiet = logs.begin(begun('quiet'))
  quiet.log('info', 'the only line of a quiet plugin')
  quiet.end(ended)
  const names = Array.from({ length: 12 }, (_, at) => `loud ${at}`)
  for (const name of names) {
    for (let call = 0; call < 20; call += 1) {
      const record = logs.begin(begun(name))
      clock += 2_000
      for (let line = 0; line < 200; line += 1) record.log('info', 'x'.repeat(2_048))
      record.end({ ...ended, input: 'i'.repeat(2_000) })
    }
  }
  const kept = names.map((name) => logs.lines(name, { limit: 5_000 }).lines.length)
  const length = kept.reduce((sum, lines) => sum + lines, 0) * 2_048
  t.ok(length < 16 * 1024 * 1024, `${length} characters`)
  t.ok(length > 14 * 1024 * 1024, 'but most of the limit is used')
  t.ok(Math.max(...kept) - Math.min(...kept) <= 30, `all loud plugins lose the same share: ${kept.join()}`)
  t.equal(logs.lines('quiet', { limit: 5 }).lines.length, 1, 'a quiet plugin loses nothing')

  const running = logs.begin(begun('running'))
  for (let at = 0; at < 300; at += 1) logs.begin(begun(`short ${at}`)).end(ended)
  t.equal(logs.metrics().length, 128)
  t.equal(logs.metrics('quiet').length, 0, 'idle for longest')
  t.equal(logs.metrics('running').length, 1, 'a plugin with a running call stays')
  running.end(ended)
  for (let at = 0; at < 300; at += 1) logs.begin(begun(`never ends ${at}`))
  t.equal(logs.metrics().length, 128, 'or is evicted when all have running calls')
})

t.test('followers are told each line once', async (t) => {
  const logs = new PluginLogs()
  const record = logs.begin(begun('one'))
  record.log('info', 'before')
  const stop = new AbortController()
  const seen: LogLine[] = []
  const reading = (async () => {
    for await (const line of logs.follow('one', { signal: stop.signal })) seen.push(line)
  })()
  await sleep(5)
  for (let at = 0; at < 250; at += 1) record.log('info', `line ${at}`)
  await sleep(20)
  record.log('info', 'last')
  for (let tries = 0; seen.length < 251 && tries < 1_000; tries++) await sleep(20)
  await sleep(20)
  t.same(
    seen.map(({ message }) => message),
    [...Array.from({ length: 250 }, (_, at) => `line ${at}`), 'last'],
    'all later lines, in order, once',
  )
  stop.abort()
  await reading
  const missedOf = async (after: number | null, count: number) => {
    const lines: string[] = []
    for await (const line of logs.follow('one', { after, signal: AbortSignal.timeout(2_000) })) {
      lines.push(line.message)
      if (lines.length === count) break
    }
    return lines
  }
  t.same(await missedOf(seen[248]!.id, 2), ['line 249', 'last'], 'from the last line of a client')
  t.same(await missedOf(Number.MAX_SAFE_INTEGER, 2), ['before', 'line 0'], 'an id of an unknown server')
  logs.forget('one')
})

t.test('a slow client misses lines and is notified; nothing is buffered for it', async (t) => {
  let clock = 0
  const logs = new PluginLogs({ now: () => clock })
  const record = logs.begin(begun('one'))
  const stop = new AbortController()
  const lines = logs.follow('one', { after: -1, signal: stop.signal })[Symbol.asyncIterator]()
  record.log('info', 'line 0')
  t.match(await lines.next(), { value: { message: 'line 0' } })
  for (let at = 1; at <= 5_000; at += 1) {
    clock += 20
    record.log('info', `line ${at}`)
  }
  const told = await lines.next()
  t.match(told, { value: { level: 'warn', message: /^3000 lines are missing here/ } })
  const next = await lines.next()
  t.match(next, { value: { message: 'line 3001' } })
  t.equal(next.value.id, told.value.id + 1, 'a client that reconnects gets no line twice')
  logs.forget('one')
  let rest = 0
  for (let one = await lines.next(); !one.done; one = await lines.next()) rest += 1
  t.ok(rest >= 99 && rest <= 1_999, 'the stream ends when the plugin is evicted')
})

t.test('the number of followers is limited', async (t) => {
  const logs = new PluginLogs()
  const stop = new AbortController()
  const { signal } = stop
  logs.follow('never begun', { signal })
  const reading = Array.from({ length: 32 }, async (_, at) => {
    for await (const line of logs.follow(`${at % 4}`, { signal })) t.fail(`nothing is written: ${line.message}`)
  })
  await sleep(5)
  t.throws(() => logs.follow('one', { signal }), { code: 'unavailable' })
  t.same(logs.metrics(), [], 'viewing is not activity')
  stop.abort()
  await Promise.all(reading)
  t.ok(logs.follow('one', { signal }), 'room again')
})
