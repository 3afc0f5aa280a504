/** Pages of many clients at the same time, who read slowly, go away, and come back: every byte is compared, and every buffer comes back. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { crc32, deflateRawSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { bookContentRoutes } from '#api/rest/reading/book-content.ts'
import { BufferPool } from '#core/foundation/buffer-pool.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openPageReader } from '#core/reading/read-page.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { addPagedBook, noisePicture } from '#test/support/paged-books.ts'
import { findPool } from '#test/support/pool.ts'
import { openTestServer } from '#test/support/server.ts'
import { OpenFiles } from '#workers/formats/open-files.ts'
import { zipPageReader } from '#workers/formats/zip/zip-page.ts'
import { CheckedEntries } from '#workers/formats/zip-read.ts'

const CLIENTS = 24
/** Small, so that buffers are freed and allocated again all the time. */
const LIMITS = { idleBytesMax: 3 * 1024 * 1024, bytesMin: 4 * 1024, bytesMax: 1024 * 1024, restMs: 500 }
const SIZES = [300, 5_000, 30_000, 70_000, 200_000, 400_000, 700_000, 1_000_000, 1_500_000]
const JPEG_START = Buffer.from([0xff, 0xd8, 0xff, 0xe0])

/** Pages of random bytes that begin like a JPEG: nothing else may be sent as a picture. Every fourth is deflated. */
function buildPages() {
  const chunks: Buffer[] = []
  let offset = 0
  const pages = Array.from({ length: 3 * SIZES.length }, (_, index) => {
    const content: Buffer = Buffer.concat([JPEG_START, randomBytes(SIZES[index % SIZES.length] as number)])
    const method = index % 4 === 3 ? 8 : 0
    const data = method === 8 ? deflateRawSync(content) : content
    const zip = { offset, compressedBytes: data.length, method, crc32: crc32(content) } as const
    offset += data.length
    chunks.push(data)
    return { content, page: { name: `${index}.jpg`, mediaType: 'image/jpeg', width: 10, height: 10, bytes: content.length, zip } }
  })
  return { pages, bytes: Buffer.concat(chunks) }
}

async function openBook(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'carrel-buffers-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const server = await openTestServer(t, { routes: bookContentRoutes, settings: { dataFolder: folder } })
  const { database } = server
  const buffers = new BufferPool(LIMITS)
  const files = new OpenFiles()
  t.teardown(() => files.close())
  const reader = await openPageReader({
    database,
    ...findPool(),
    readZipPage: zipPageReader(files, new CheckedEntries(), buffers),
    cacheFolder: join(folder, 'cache'),
    cacheBytesMax: 1e7,
    recordPageProblem: async () => {},
    log: silentLog,
  })
  t.teardown(() => reader.close())
  server.services.pageReader = reader
  const { pages, bytes } = buildPages()
  // The last page is a real picture, which can be resized, and one is damaged.
  const picture = await noisePicture({ width: 400, height: 600 })
  const zip = { offset: bytes.length, compressedBytes: picture.length, method: 0, crc32: crc32(picture) } as const
  pages.push({ content: picture, page: { name: 'last.jpg', mediaType: 'image/jpeg', width: 400, height: 600, bytes: picture.length, zip } })
  const damaged = { ...pages[6]!.page, name: 'damaged.jpg', zip: { ...pages[6]!.page.zip, crc32: 1 } }
  const { id } = await addPagedBook(database, {
    ...{ folder, fileName: 'book.cbz', bytes: Buffer.concat([bytes, picture]), format: 'cbz', pageSource: 'zip' },
    pages: [...pages.map(({ page }) => page), damaged],
  })
  return { server, buffers, pages, bookPath: `/api/v1/books/${id}/pages/` }
}

interface Answer {
  status: number
  etag: string
  body: Buffer
}

/** A client with one connection, which reads on request. */
class Client {
  readonly #port: number
  readonly #headers: string
  #socket: Socket

  constructor(port: number, headers: string) {
    this.#port = port
    this.#headers = headers
    this.#socket = this.#connect()
  }

  #connect(): Socket {
    return connect({ port: this.#port, host: '127.0.0.1', noDelay: true }).on('error', () => {})
  }

  #send(path: string, method: string, more = ''): void {
    this.#socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\n${this.#headers}${more}\r\n`)
  }

  async get(path: string, options: { method?: string; headers?: string } = {}): Promise<Answer> {
    const { method = 'GET', headers = '' } = options
    this.#send(path, method, headers)
    return await this.#read(method)
  }

  /** Requests all pages at once and reads nothing for a while, so that most of the answers wait in the server. */
  async getSlowly(paths: readonly string[], pauseMs: number): Promise<Answer[]> {
    this.#socket.pause()
    for (const path of paths) this.#send(path, 'GET')
    await sleep(pauseMs)
    const answers: Answer[] = []
    for (const _ of paths) answers.push(await this.#read('GET'))
    return answers
  }

  /** The next answer. */
  #read(method: string): Promise<Answer> {
    const chunks: Buffer[] = []
    let missing = Number.POSITIVE_INFINITY
    return new Promise((resolve, reject) => {
      const take = (chunk: Buffer) => {
        chunks.push(chunk)
        missing -= chunk.length
        if (missing > 0 && missing < Number.POSITIVE_INFINITY) return
        const whole = Buffer.concat(chunks)
        const end = whole.indexOf('\r\n\r\n')
        if (end < 0) return
        const head = whole.toString('latin1', 0, end)
        const status = Number(head.slice(9, 12))
        const length = method === 'HEAD' || status === 304 ? 0 : Number(/content-length: (\d+)/i.exec(head)?.[1])
        missing = end + 4 + length - whole.length
        if (missing > 0) return
        this.#socket.pause()
        this.#socket.off('data', take).off('close', lost)
        if (missing < 0) this.#socket.unshift(whole.subarray(missing))
        resolve({ status, etag: /etag: (\S+)/i.exec(head)?.[1] ?? '', body: whole.subarray(end + 4, end + 4 + length) })
      }
      const lost = () => reject(new Error(`${method}: the connection was closed`))
      this.#socket.on('data', take).once('close', lost).resume()
    })
  }

  /** Requests several pages at once, reads some of the first answer at most, and goes away. */
  async leave(paths: readonly string[], afterMs: number): Promise<void> {
    if (afterMs % 2 === 0) this.#socket.pause()
    for (const path of paths) this.#send(path, 'GET')
    await sleep(afterMs)
    this.close()
    this.#socket = this.#connect()
  }

  close(): void {
    this.#socket.destroy()
  }
}

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

t.test('no client ever gets bytes of another page, and every buffer is given back', async (t) => {
  const { server, buffers, pages, bookPath } = await openBook(t)
  const port = Number(new URL(server.url).port)
  const headers = `Authorization: Bearer ${server.adminToken}\r\n`
  const expected = pages.map(({ content }) => digest(content))
  const last = pages.length
  const wrong: string[] = []
  const counts = { whole: 0, slow: 0, left: 0, unmodified: 0, heads: 0, resized: 0, damaged: 0 }
  const check = (what: string, isRight: boolean) => {
    if (!isRight) wrong.push(what)
  }
  const turns = sizeOf('requests of each client', { main: 6, full: 400 })

  async function read(seed: number): Promise<void> {
    const client = new Client(port, headers)
    let state = seed + 1
    const random = (below: number) => {
      state = (state * 48_271) % 2_147_483_647
      return state % below
    }
    const path = (index: number) => `${bookPath}${index + 1}`
    for (let turn = 0; turn < turns; turn++) {
      const index = random(pages.length)
      const kind = random(20)
      if (kind < 9) {
        const answer = await client.get(path(index))
        check(`page ${index}: ${answer.status}`, answer.status === 200 && digest(answer.body) === expected[index])
        counts.whole++
      } else if (kind < 11) {
        const several = Array.from({ length: 6 }, () => random(pages.length))
        const answers = await client.getSlowly(several.map(path), 10 + random(30))
        for (const [at, { status, body }] of answers.entries())
          check(`slow page ${several[at]}: ${status}`, status === 200 && digest(body) === expected[several[at] as number])
        counts.slow++
      } else if (kind < 15) {
        await client.leave(
          Array.from({ length: 1 + random(4) }, () => path(random(pages.length))),
          random(12),
        )
        counts.left++
      } else if (kind < 17) {
        const { etag, status, body } = await client.get(path(index), { method: 'HEAD' })
        check(`HEAD ${index}: ${status}`, status === 200 && body.length === 0)
        const again = await client.get(path(index), { headers: `If-None-Match: ${etag}\r\n` })
        check(`304 ${index}: ${again.status}`, again.status === 304 && again.body.length === 0)
        counts.heads++
        counts.unmodified++
      } else if (kind === 17) {
        const answer = await client.get(`${path(last - 1)}?width=320`)
        check(`resized: ${answer.status}`, answer.status === 200 && answer.body.subarray(0, 3).equals(JPEG_START.subarray(0, 3)))
        counts.resized++
      } else {
        const { status } = await client.get(path(last))
        check(`damaged: ${status}`, status === 422)
        counts.damaged++
      }
      if (buffers.idleBytes > LIMITS.idleBytesMax) wrong.push(`${buffers.idleBytes} bytes are kept`)
    }
    client.close()
  }

  await Promise.all(Array.from({ length: CLIENTS }, (_, seed) => read(seed)))
  t.same(wrong, [])
  for (const [kind, count] of Object.entries(counts)) t.ok(count > 0, `${kind}: ${count}`)
  for (let waited = 0; buffers.lent > 0 && waited < 500; waited++) await sleep(10)
  t.equal(buffers.lent, 0, 'all buffers are back, those of clients who went away too')
  for (let waited = 0; buffers.idleBytes > 0 && waited < 500; waited++) await sleep(10)
  t.equal(buffers.idleBytes, 0, 'and freed after a rest')
})
