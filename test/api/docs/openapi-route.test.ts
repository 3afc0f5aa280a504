import { readFileSync } from 'node:fs'
import t from 'tap'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { openTestServer } from '#test/support/server.ts'

t.test('the first request for the document does not make it: that would block all other requests', onlyCost, async (t) => {
  const server = await openTestServer(t, { admin: false })
  await server.request('GET', '/health')
  const before = threadCpuMs()
  const { status } = await server.request('GET', '/api/openapi.json')
  const tookMs = threadCpuMs() - before
  t.equal(status, 200)
  // Describing all routes takes 500 ms; this includes the client, which parses the document.
  t.ok(tookMs < 150, `took ${Math.round(tookMs)} ms of this thread`)
})

t.test('the file is sent as it is, so that nothing has to parse it', async (t) => {
  const server = await openTestServer(t, { admin: false })
  const { text } = await server.request('GET', '/api/openapi.json')
  t.ok(text === readFileSync(new URL('../../../api/docs/openapi.json', import.meta.url), 'utf8'))
})
