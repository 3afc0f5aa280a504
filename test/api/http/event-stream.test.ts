import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { drained } from '#api/http/drained.ts'
import { eventsOf, formatEvent, type ServerEvent, sendEvents } from '#api/http/event-stream.ts'
import type { EventsReply } from '#api/http/reply.ts'
import { refuse } from '#core/foundation/errors.ts'
import { stream } from '#test/support/route.ts'
import { openTestServer } from '#test/support/server.ts'

t.setTimeout(240_000)

type Follow = Parameters<typeof eventsOf>[0]

/** Numbers as events, a few and then whenever `more` says, until nobody listens. */
function openNumbers(options: { from?: number; length?: number } = {}) {
  const state = { asked: [] as (string | null)[], given: 0, open: 0, ended: 0 }
  const follow: Follow = ({ lastEventId, signal }) => {
    state.asked.push(lastEventId)
    if (lastEventId === 'refuse') refuse('unavailable', 'Too many listen.')
    return (async function* (): AsyncGenerator<ServerEvent> {
      state.open += 1
      try {
        for (let id = Number(lastEventId ?? -1) + 1; !signal.aborted; id += 1) {
          if (id >= (options.length ?? 3)) {
            await once(signal, 'abort')
            return
          }
          state.given += 1
          yield { id: String(id), data: { number: id, text: 'two\nlines' } }
        }
      } finally {
        state.open -= 1
        state.ended += 1
      }
    })()
  }
  return { state, follow }
}

const routeOf = (follow: Follow) =>
  stream({
    path: '/events',
    summary: 'numbers',
    tag: 'test',
    allow: { who: 'public' },
    mediaTypes: ['text/event-stream'],
    run: async () => eventsOf(follow),
  })

/** Reads a stream until a text has come. */
async function listen(url: string, headers: Record<string, string>, until: RegExp) {
  const leave = new AbortController()
  const answer = await fetch(url, { headers, signal: leave.signal })
  let text = ''
  const decoder = new TextDecoder()
  if (answer.body) {
    for await (const chunk of answer.body) {
      text += decoder.decode(chunk, { stream: true })
      if (until.test(text)) break
    }
  }
  leave.abort()
  return { answer, text }
}

async function until(t: Test, holds: () => boolean, what: string) {
  for (let waited = 0; waited < 30_000; waited += 10) {
    if (holds()) return
    await sleep(10)
  }
  t.fail(`${what} within 30 s`)
}

t.test('events arrive as they are made, and go on where a client was', async (t) => {
  const { state, follow } = openNumbers()
  const { url, request } = await openTestServer(t, { admin: false, routes: [routeOf(follow)] })
  const { answer, text } = await listen(`${url}/events`, {}, /id: 2\n.*\n\n/)
  t.equal(answer.status, 200)
  t.match(Object.fromEntries(answer.headers), {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
  })
  t.equal(text, `retry: 3000\n\n${[0, 1, 2].map((id) => `id: ${id}\ndata: {"number":${id},"text":"two\\nlines"}\n\n`).join('')}`)
  await until(t, () => state.open === 0, 'the source ends when the client goes')
  t.equal((await listen(`${url}/events`, { 'last-event-id': '1' }, /id: 2/)).text.includes('id: 1'), false, 'nothing twice')
  const long = 'x'.repeat(65)
  for (const id of [long, 'a b', 'ü']) await listen(`${url}/events`, { 'last-event-id': Buffer.from(id).toString('latin1') }, /id: 2/)
  t.same(state.asked, [null, '1', null, null, null], 'what is no id of ours is none')
  t.match(await request('GET', '/events', { headers: { 'last-event-id': 'refuse' } }), { status: 503, json: { error: 'unavailable' } })
  const head = await fetch(`${url}/events`, { method: 'HEAD' })
  t.match({ status: head.status, type: head.headers.get('content-type') }, { status: 200, type: /event-stream/ })
  await until(t, () => state.open === 0, 'all have ended')
  t.equal(formatEvent({ id: '7', event: 'line', data: ['a\r\nb'] }), 'id: 7\nevent: line\ndata: ["a\\r\\nb"]\n\n')
})

t.test('whoever does not read stops the source, not the server', async (t) => {
  const { state, follow } = openNumbers({ length: 1_000_000 })
  const { port } = await openTestServer(t, { admin: false, routes: [routeOf(follow)] })
  const request = http.get({ port, path: '/events', host: '127.0.0.1' })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.pause()
  let before = -1
  for (let quiet = 0; quiet < 20; ) {
    await sleep(20)
    quiet = state.given === before ? quiet + 1 : 0
    before = state.given
  }
  // Buffers of the system on both sides take some megabytes, of 60 bytes each.
  t.ok(before > 100 && before < 500_000, `${before} events were made and no more`)
  response.resume()
  await until(t, () => state.given > before + 1_000, 'it goes on when he reads')
  response.pause()
  request.destroy()
  await until(t, () => state.ended === 1, 'and ends when he goes without having read')
})

t.test('a closing server does not wait for listeners', async (t) => {
  const { state, follow } = openNumbers()
  const { url, server } = await openTestServer(t, { admin: false, routes: [routeOf(follow)] })
  const answers = await Promise.all(Array.from({ length: 15 }, () => fetch(`${url}/events`)))
  const texts = Promise.all(answers.map((answer) => answer.text()))
  const begun = performance.now()
  await server.close({ deadlineMs: 120_000 })
  t.ok(performance.now() - begun < 30_000, 'it is closed long before the deadline')
  t.ok(
    (await texts).every((text) => text.endsWith('"two\\nlines"}\n\n')),
    'and each stream ended whole',
  )
  t.same([state.open, state.ended], [0, 15])
})

/** A server of nothing but the sender, with times that a test can wait for. */
async function openSender(t: Test, reply: EventsReply, times: Parameters<typeof sendEvents>[3]) {
  const closing = new AbortController()
  const failures: unknown[] = []
  const server = http.createServer((_, response) => {
    sendEvents(response, reply, closing.signal, times).catch((error: unknown) => {
      failures.push(error)
      response.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, closing, failures }
}

t.test('a silent stream says that it is there, and does not live for ever', async (t) => {
  const { state, follow } = openNumbers({ length: 0 })
  // It may stand still for two seconds, and lives for longer.
  const { url } = await openSender(t, eventsOf(follow), { beatMs: 20, lifeMsMax: 3_000 })
  const text = await (await fetch(url)).text()
  t.match(text, /^retry: 3000\n\n(:\n\n){3,180}$/)
  t.same([state.open, state.ended], [0, 1])
})

t.test('whoever takes nothing is dropped, and nothing waits for them in memory', async (t) => {
  const { state, follow } = openNumbers({ length: 1_000_000 })
  const { url } = await openSender(t, eventsOf(follow), { stalledMs: 300 })
  const request = http.get(url)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.pause()
  const errors: unknown[] = []
  for (const one of [request, response]) one.on('error', (error) => errors.push(error))
  await until(t, () => state.ended === 1, 'the source is told')
  const { given } = state
  t.ok(given < 500_000, `${given} events were made and no more`)
  response.resume()
  await until(t, () => errors.length > 0, 'the client is told that something is missing')
  t.equal(state.given, given)
})

t.test('the same bytes go to clients with chunks and without', async (t) => {
  const { follow } = openNumbers()
  const { url } = await openSender(t, eventsOf(follow), { lifeMsMax: 200, beatMs: 50 })
  const whole = await (await fetch(url)).text()
  const old = await new Promise<string>((resolve) => {
    let text = ''
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' })
    socket.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    socket.once('close', () => resolve(text))
    socket.write('GET / HTTP/1.0\r\n\r\n')
  })
  const eventsIn = (text: string) => text.match(/^id: .*\ndata: .*$/gm)
  t.equal(eventsIn(whole)?.length, 3)
  t.same(eventsIn(old), eventsIn(whole))
  t.notMatch(old, /chunked/)
})

t.test('a source that fails ends the stream without its end', async (t) => {
  const { url, failures, closing } = await openSender(
    t,
    eventsOf(async function* () {
      yield { id: '1', data: 1 }
      throw new Error('broken')
    }),
    {},
  )
  await t.rejects((await fetch(url)).text(), 'hanging up says that something is missing')
  t.match(failures, [{ message: 'broken' }])
  closing.abort()
  t.equal(await (await fetch(url)).text(), 'retry: 3000\n\n', 'after the beginning of the end there is nothing to be had')
})

t.test('waiting for room ends with room, with the client, and with a signal', async (t) => {
  const stop = new AbortController()
  const outcomes: string[] = []
  const server = http.createServer(async (_, response) => {
    response.write('x'.repeat(50_000_000))
    await drained(response, AbortSignal.timeout(20))
    outcomes.push('signal')
    await drained(response, stop.signal)
    outcomes.push(response.destroyed ? 'client' : 'room')
    await drained(response)
    outcomes.push('end')
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const open = async () => {
    const request = http.get({ port, host: '127.0.0.1' })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.pause()
    // The buffers between both sides are full by then.
    await sleep(100)
    return { request, response }
  }
  const first = await open()
  t.same(outcomes, ['signal'])
  first.request.destroy()
  await until(t, () => outcomes.length === 3, 'it ends with the client')
  t.same(outcomes, ['signal', 'client', 'end'], 'and does not begin where nobody is')
  outcomes.length = 0
  const second = await open()
  second.response.resume()
  await until(t, () => outcomes.length >= 2, 'it ends with room')
  t.same(outcomes.slice(0, 2), ['signal', 'room'])
  second.request.destroy()
  await until(t, () => outcomes.length === 3, 'and with the client again')
})
