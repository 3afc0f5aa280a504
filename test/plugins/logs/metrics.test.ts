import t from 'tap'
import { Metrics } from '#plugins/logs/metrics.ts'

const counted = { code: 'ok', cpuMs: 1, wallMs: 10, queueMs: 2, inputLength: 30, resultLength: 40 }

t.test('calls and requests are counted', async (t) => {
  const metrics = new Metrics()
  t.match(metrics.read(), { running: 0, calls: 0, meanWallMs: 0, methods: [], hosts: [] })
  for (const code of ['ok', 'ok', 'timeout', 'timeout', 'rate_limited']) {
    metrics.began()
    metrics.ended('metadata.series.search', { ...counted, code })
  }
  metrics.began()
  metrics.ended('metadata.series.get', { ...counted, wallMs: 70, cpuMs: Number.NaN, inputLength: Number.POSITIVE_INFINITY })
  metrics.began()
  metrics.ended('metadata.series.match', { ...counted, code: 'timeout', cpuMs: 0, queueMs: 0 })
  metrics.began()
  t.equal(metrics.isRunning(), true)
  metrics.hostCall('storage.get')
  metrics.hostCall('storage.get')
  metrics.fetched({ host: 'api.example.org', outcome: '200', bytes: 100, cached: false, waitedMs: 0 })
  metrics.fetched({ host: 'api.example.org', outcome: '200', bytes: 100, cached: true, waitedMs: 0 })
  metrics.fetched({ host: 'api.example.org', outcome: 'upstream', bytes: Number.NaN, cached: false, waitedMs: 250 })
  const { methods, ...all } = metrics.read()
  t.same(all, {
    running: 1,
    calls: 7,
    succeeded: 3,
    failed: 4,
    errors: { timeout: 3, rate_limited: 1 },
    meanWallMs: 130 / 7,
    hostCalls: { 'storage.get': 2 },
    hosts: [{ host: 'api.example.org', outcomes: { 200: 2, upstream: 1 }, bytes: 200, cacheHits: 1, waits: 1, waitedMs: 250 }],
    cacheHits: 1,
    rateLimitWaits: 1,
    rateLimitWaitedMs: 250,
  })
  t.match(methods, [
    {
      method: 'metadata.series.search',
      calls: 5,
      succeeded: 2,
      failed: 3,
      wallMs: { p50: 10, p99: 10 },
      queueMs: { p95: 2 },
      inputLength: 150,
    },
    { method: 'metadata.series.get', calls: 1, succeeded: 1, errors: {}, meanWallMs: 70, cpuMs: null, inputLength: 0 },
    { method: 'metadata.series.match', wallMs: { p50: 10 }, cpuMs: null, queueMs: null },
  ])
})

t.test('unexpected names do not fill the memory', async (t) => {
  const metrics = new Metrics()
  for (let at = 0; at < 1_000; at += 1) {
    metrics.began()
    metrics.ended(`method ${at}`, { ...counted, code: `code ${at}` })
    metrics.fetched({ host: `${at}.example.org`, outcome: String(at), bytes: 1, cached: false, waitedMs: 0 })
    metrics.hostCall(`kind ${at}`)
  }
  const { methods, hosts, errors, hostCalls, calls } = metrics.read()
  t.same([methods.length, hosts.length, Object.keys(errors).length, Object.keys(hostCalls).length], [32, 32, 32, 32])
  t.equal(calls, 1_000)
  t.match(methods.at(-1), { method: 'other', calls: 969 })
  t.match(hosts.at(-1), { host: 'other', bytes: 969 })
})
