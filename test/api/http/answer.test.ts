import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { sendJson } from '#api/http/answer.ts'
import { streamedList } from '#api/http/json-chunks.ts'

const RECORD = { text: 'é'.repeat(100_000) }

/** A server that answers with what is given. */
async function serve(t: Test, make: () => unknown): Promise<string> {
  const server = createServer((_request, response) => {
    sendJson(response, 200, make()).catch((error) => fail(response, error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function fail(response: ServerResponse, error: Error): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(500).end(error.message)
}

const listOf = (count: number) => ({ data: streamedList([...Array(count).keys()], 2, async (part) => part.map(() => RECORD)) })

t.test('short answers have a length, long ones come while they are written, packed or plain', async (t) => {
  for (const encoding of ['gzip', 'identity']) {
    for (const count of [0, 1, 60]) {
      const url = await serve(t, () => listOf(count))
      const answer = await new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
        request(url, { headers: { 'accept-encoding': encoding } }, async (response) => {
          const chunks: Buffer[] = []
          for await (const chunk of response) chunks.push(chunk)
          resolve({ headers: response.headers, body: Buffer.concat(chunks) })
        })
          .on('error', reject)
          .end()
      })
      t.equal(answer.headers['content-length'] !== undefined, count < 60, `${encoding}, ${count} records`)
      const packed = answer.headers['content-encoding'] === 'gzip'
      t.equal(packed, encoding === 'gzip' && count > 0)
      t.same(JSON.parse(String(packed ? gunzipSync(answer.body) : answer.body)), { data: Array(count).fill(RECORD) })
    }
  }
})

t.test('what fails early is answered, what fails late is broken off', async (t) => {
  for (const encoding of ['gzip', 'identity']) {
    for (const failing of [0, 50]) {
      const url = await serve(t, () => ({
        data: streamedList([...Array(60).keys()], 1, async ([index]) => {
          if (index === failing) throw new Error('The database is gone')
          return [RECORD]
        }),
      }))
      const asked = fetch(url, { headers: { 'accept-encoding': encoding } }).then(async (answer) => [answer.status, await answer.text()])
      if (failing === 0) t.same(await asked, [500, 'The database is gone'], encoding)
      else await t.rejects(asked, `half an answer is no answer (${encoding})`)
    }
  }
})

t.test('what nobody takes is not read', async (t) => {
  for (const encoding of ['gzip', 'identity']) {
    let read = 0
    const url = await serve(t, () => ({
      data: streamedList([...Array(2_000).keys()], 1, async () => {
        read += 1
        // Nothing that could be packed.
        return [{ text: Array.from({ length: 20_000 }, () => Math.random()).join() }]
      }),
    }))
    const client = request(url, { headers: { 'accept-encoding': encoding } }).end()
    // Not read at all.
    await new Promise<void>((resolve) => client.once('response', () => resolve()))
    let before = -1
    while (before !== read) {
      before = read
      // A client that reads on does so within this time.
      await sleep(300)
    }
    t.ok(read < 200, `${read} records were read for a client that takes nothing (${encoding})`)
    client.on('error', () => {}).destroy()
    // As above.
    await sleep(300)
    t.ok(read < 200, 'nor when it has gone')
  }
})
