import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { BODY_RATE_MIN, readBytesBody, readJsonBody } from '#api/http/body.ts'
import { calmestTurns } from '#test/support/cpu-time.ts'
import { jsonRequest } from '#test/support/json-request.ts'
import { onlyCost } from '#test/support/lane-size.ts'

const read = (json: string) => readJsonBody(jsonRequest(json), { bytesMax: 10_000_000, deadlineMs: 30_000 })

t.test('runs of marks are bounded in every text, however they are written', async (t) => {
  const marks = '\u0315\u0300'.repeat(100)
  const short = '\u0315\u0300'.repeat(15)
  t.same(await read(JSON.stringify({ a: `x${marks}`, b: [{ c: `y${marks}z` }, 1, null] })), {
    a: `x${short}`,
    b: [{ c: `y${short}z` }, 1, null],
  })
  t.same(await read(`{"a":"x${'\\u0315\\u0300'.repeat(100)}"}`), { a: `x${short}` })
  t.same(await read(`"x${marks}"`), `x${short}`)
  t.same(await read('{"a":"cafe\u0301","b":"हिन्दी","__proto__":"x"}'), JSON.parse('{"a":"cafe\u0301","b":"हिन्दी","__proto__":"x"}'))
})

t.test('a body has a depth and a number of values', async (t) => {
  await t.rejects(read('['.repeat(65) + ']'.repeat(65)), { code: 'invalid_request', message: /deeper/ })
  t.same(await read('['.repeat(60) + ']'.repeat(60)), JSON.parse('['.repeat(60) + ']'.repeat(60)))
  await t.rejects(read(`[${'1,'.repeat(100_000)}1]`), { code: 'invalid_request', message: /more than 100000 values/ })
  t.equal(((await read(`[${'1,'.repeat(90_000)}1]`)) as unknown[]).length, 90_001)
  t.equal(await read(JSON.stringify('[{,'.repeat(90_000))), '[{,'.repeat(90_000), 'a text is one value')
})

t.test('a large body is read in turns of the event loop', onlyCost, async (t) => {
  const json = JSON.stringify(Array.from({ length: 4_000 }, (_, index) => ({ [`name ${index}`]: 'Élan vital – ß 12, '.repeat(50) })))
  const bodies: unknown[] = []
  const { longestMs, tookMs } = await calmestTurns(async () => bodies.push(await read(json)))
  t.ok(bodies.every((body) => (body as unknown[]).length === 4_000))
  t.ok(longestMs < tookMs * 0.8, `at most ${Math.round(longestMs)} of ${Math.round(tookMs)} ms at a time`)
})

t.test('a body that makes progress is read to its end; one that pauses or crawls is not', async (t) => {
  const begin = (deadlineMs: number) => {
    const stream = Object.assign(new PassThrough(), { headers: {} })
    return { stream, body: readBytesBody(stream as unknown as IncomingMessage, { bytesMax: 10_000_000, deadlineMs }) }
  }
  // Long enough for a machine that stands still for two seconds.
  const steady = begin(2_500)
  const sent = (async () => {
    for (let part = 0; part < 25; part++) {
      steady.stream.write(Buffer.alloc(BODY_RATE_MIN / 4))
      // A little less than a part may take at the lowest rate.
      await sleep(200)
    }
    steady.stream.end()
  })()
  t.equal((await steady.body).length, 25 * (BODY_RATE_MIN / 4), 'twice as long as a pause may be')
  await sent

  const paused = begin(400)
  paused.stream.write(Buffer.alloc(1_000_000))
  const began = performance.now()
  await t.rejects(paused.body, { code: 'request_timeout', message: /too slowly: 1000000 bytes/ })
  t.ok(performance.now() - began < 10_000, 'a beginning that was fast buys no pause')

  const crawling = begin(400)
  const timer = setInterval(() => crawling.stream.write('x'), 50)
  await t.rejects(crawling.body, { code: 'request_timeout' }).finally(() => clearInterval(timer))
})
