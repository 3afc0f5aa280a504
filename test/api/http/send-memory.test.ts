import { randomBytes } from 'node:crypto'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { stream } from '#test/support/route.ts'
import { get, openTestServer } from '#test/support/server.ts'

/** More than the buffers of two sockets hold. */
const lentBytes = randomBytes(20_000_000)
/** How often each answer gave its memory back. */
const released: number[] = []
/** Lets the answers be made. */
let mayBeMade = Promise.resolve()

const lent = stream({
  path: '/lent',
  summary: 'bytes in memory that is given back',
  tag: 'test',
  allow: { who: 'public' },
  mediaTypes: ['image/png'],
  run: async () => ({
    kind: 'made',
    make: async () => {
      const answer = released.push(0) - 1
      await mayBeMade
      const release = () => {
        released[answer] = (released[answer] ?? 0) + 1
      }
      return { bytes: lentBytes, mediaType: 'image/png', release }
    },
    etag: 'lent1',
    cacheControl: 'no-store',
  }),
})

t.test('memory is given back once, when its response has closed in whatever way, and not before', async (t) => {
  const { url } = await openTestServer(t, { routes: [lent] })
  const settled = async (counts: number[]) => {
    for (let waited = 0; JSON.stringify(released) !== JSON.stringify(counts) && waited < 3_000; waited++) await sleep(10)
    t.same(released, counts)
  }
  t.equal((await get(`${url}/lent`)).status, 200)
  await settled([1])
  t.equal((await get(`${url}/lent`, { method: 'HEAD' })).status, 200)
  await settled([1, 1])
  t.equal((await get(`${url}/lent`, { headers: { 'if-none-match': '"lent1"' } })).status, 304)
  t.equal((await get(`${url}/lent`, { headers: { 'if-match': '"other"' } })).status, 412)
  await settled([1, 1])

  const client = http.get(`${url}/lent`).on('error', () => {})
  const response = await new Promise<http.IncomingMessage>((resolve) => client.on('response', resolve))
  response.pause()
  // The buffers between both sides are full by then.
  await sleep(100)
  t.same(released, [1, 1, 0], 'the client has not received it yet')
  response.on('error', () => {})
  client.destroy()
  await settled([1, 1, 1])

  const { promise, resolve } = Promise.withResolvers<void>()
  mayBeMade = promise
  const gone = http.get(`${url}/lent`).on('error', () => {})
  for (let waited = 0; released.length < 4 && waited < 3_000; waited++) await sleep(10)
  gone.destroy()
  await sleep(50)
  resolve()
  await settled([1, 1, 1, 1])
})
