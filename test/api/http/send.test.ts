import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdir, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import http from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import Type from 'typebox'
import { readByteRange } from '#api/http/conditional.ts'
import { takesGzip } from '#api/http/response.ts'
import { attachment } from '#api/http/send.ts'
import { refuse } from '#core/foundation/errors.ts'
import { endpoint, stream } from '#test/support/route.ts'
import { get, openTestServer } from '#test/support/server.ts'

const folder = t.testdir()
const small = path.join(folder, 'small')
const large = path.join(folder, 'large')
const smallBytes = randomBytes(1000)
const largeBytes = randomBytes(9_000_001)
const modified = new Date('2024-05-06T07:08:09.500Z')
const GONE = 'gone'
let made = 0

t.before(async () => {
  await writeFile(small, smallBytes)
  await writeFile(large, largeBytes)
  await writeFile(path.join(folder, 'empty'), '')
  await mkdir(path.join(folder, 'folder'))
  await utimes(small, modified, modified)
})

const file = (name: string) =>
  stream({
    path: `/${name}`,
    summary: 'a file',
    tag: 'test',
    allow: { who: 'public' },
    mediaTypes: ['application/octet-stream'],
    run: async () => ({
      kind: 'file',
      path: path.join(folder, name),
      mediaType: 'application/zip',
      etag: 'tag1',
      cacheControl: 'private, max-age=60',
      attachmentName: 'Tome 1 – "Été".cbz',
    }),
  })

const routes = [
  ...['small', 'large', 'empty', 'folder', GONE].map(file),
  stream({
    path: '/page',
    summary: 'bytes',
    tag: 'test',
    allow: { who: 'public' },
    mediaTypes: ['image/png'],
    run: async () => ({
      kind: 'bytes',
      bytes: smallBytes,
      mediaType: 'image/png',
      etag: 'page1',
      lastModified: modified,
      cacheControl: 'private, max-age=31536000, immutable',
      headers: { 'X-Page': '1' },
    }),
  }),
  endpoint({
    method: 'GET',
    path: '/long',
    summary: 'much JSON',
    tag: 'test',
    allow: { who: 'public' },
    reply: Type.Array(Type.Integer()),
    run: async () => Array.from({ length: 1000 }, (_, index) => index),
  }),
  endpoint({
    method: 'GET',
    path: '/short',
    summary: 'little JSON',
    tag: 'test',
    allow: { who: 'public' },
    reply: Type.Integer(),
    run: async () => 7,
  }),
  stream({
    path: '/made',
    summary: 'bytes that cost something',
    tag: 'test',
    allow: { who: 'public' },
    mediaTypes: ['image/png'],
    run: async () => ({
      kind: 'made',
      make: async () => {
        made++
        return { bytes: smallBytes, mediaType: 'image/png' }
      },
      etag: 'made1',
      cacheControl: 'no-store',
    }),
  }),
  stream({
    path: '/mine',
    summary: 'not for everybody',
    tag: 'test',
    allow: { who: 'user', cookie: true },
    mediaTypes: ['image/png'],
    run: async () => ({ kind: 'bytes', bytes: smallBytes, mediaType: 'image/png', etag: 'mine1', cacheControl: 'private, max-age=600' }),
  }),
  endpoint({
    method: 'GET',
    path: '/changed',
    summary: 'fails after it has said which part it sends',
    tag: 'test',
    allow: { who: 'public' },
    run: async ({ setHeader }) => {
      setHeader('Content-Range', 'bytes 0-9/100')
      return refuse('unavailable')
    },
  }),
]

t.test('files: ranges and conditions as RFC 9110 says', async (t) => {
  const { url } = await openTestServer(t, { routes, admin: false })
  const last = modified.toUTCString()
  const size = smallBytes.length
  const table: [name: string, headers: Record<string, string>, status: number, start?: number, end?: number][] = [
    ['whole', {}, 200, 0, size],
    ['first bytes', { range: 'bytes=0-9' }, 206, 0, 10],
    ['middle', { range: 'bytes=10-19' }, 206, 10, 20],
    ['open end', { range: 'bytes=990-' }, 206, 990, size],
    ['suffix', { range: 'bytes=-5' }, 206, size - 5, size],
    ['suffix longer than all', { range: 'bytes=-5000' }, 206, 0, size],
    ['end beyond', { range: 'bytes=900-9999' }, 206, 900, size],
    ['one byte', { range: 'bytes=0-0' }, 206, 0, 1],
    ['beyond', { range: 'bytes=1000-' }, 416],
    ['empty suffix', { range: 'bytes=-0' }, 416],
    ['several', { range: 'bytes=0-1,5-6' }, 200, 0, size],
    ['backwards', { range: 'bytes=9-1' }, 200, 0, size],
    ['another unit', { range: 'pages=1-2' }, 200, 0, size],
    ['if-range, same tag', { range: 'bytes=0-9', 'if-range': '"tag1"' }, 206, 0, 10],
    ['if-range, other tag', { range: 'bytes=0-9', 'if-range': '"tag2"' }, 200, 0, size],
    ['if-range, weak tag', { range: 'bytes=0-9', 'if-range': 'W/"tag1"' }, 200, 0, size],
    ['if-range, same date', { range: 'bytes=0-9', 'if-range': last }, 206, 0, 10],
    ['if-range, other date', { range: 'bytes=0-9', 'if-range': new Date(0).toUTCString() }, 200, 0, size],
    ['same tag', { 'if-none-match': '"other", W/"tag1"' }, 304],
    ['any tag', { 'if-none-match': '*' }, 304],
    ['other tag wins over date', { 'if-none-match': '"other"', 'if-modified-since': last }, 200, 0, size],
    ['not modified since', { 'if-modified-since': last }, 304],
    ['modified since', { 'if-modified-since': new Date(0).toUTCString() }, 200, 0, size],
    ['nonsense date', { 'if-modified-since': 'yesterday' }, 200, 0, size],
    ['if-match, same tag', { 'if-match': '"other", "tag1"' }, 200, 0, size],
    ['if-match, any', { 'if-match': '*' }, 200, 0, size],
    ['if-match, other tag', { 'if-match': '"other"' }, 412],
    ['if-match, weak tag', { 'if-match': 'W/"tag1"' }, 412],
    ['if-match wins over the date', { 'if-match': '"tag1"', 'if-unmodified-since': new Date(0).toUTCString() }, 200, 0, size],
    ['if-match stands before if-none-match', { 'if-match': '"other"', 'if-none-match': '"tag1"' }, 412],
    ['if-match holds, so if-none-match decides', { 'if-match': '"tag1"', 'if-none-match': '"tag1"' }, 304],
    ['if-match, and a range', { 'if-match': '"tag1"', range: 'bytes=0-9' }, 206, 0, 10],
    ['if-match fails before the range', { 'if-match': '"other"', range: 'bytes=1000-' }, 412],
    ['unmodified since', { 'if-unmodified-since': last }, 200, 0, size],
    ['but modified since', { 'if-unmodified-since': new Date(0).toUTCString() }, 412],
    ['unmodified since nonsense', { 'if-unmodified-since': 'yesterday' }, 200, 0, size],
  ]
  for (const [name, headers, status, start = 0, end = 0] of table) {
    const answer = await get(`${url}/small`, { headers })
    t.equal(answer.status, status, name)
    if (status === 200 || status === 206) {
      t.ok(answer.bytes.equals(smallBytes.subarray(start, end)), `${name}: the right bytes`)
      t.equal(answer.headers['content-length'], String(end - start))
      t.equal(answer.headers['content-range'], status === 206 ? `bytes ${start}-${end - 1}/${size}` : undefined)
      t.equal(answer.headers['accept-ranges'], 'bytes')
      t.equal(answer.headers['content-type'], 'application/zip')
    } else if (status === 416) {
      t.equal(answer.headers['content-range'], `bytes */${size}`)
      t.match(JSON.parse(answer.bytes.toString()), { error: 'range_not_satisfiable', requestId: String })
      t.equal(answer.headers['content-disposition'], undefined)
    } else if (status === 412) {
      t.match(JSON.parse(answer.bytes.toString()), { error: 'precondition_failed', requestId: String }, name)
      t.match([answer.headers.etag, answer.headers['cache-control']], [undefined, 'no-store'], name)
    } else {
      t.match([answer.bytes.length, answer.headers.etag, answer.headers['last-modified']], [0, '"tag1"', last], name)
      t.equal(answer.headers['cache-control'], 'private, max-age=60')
    }
  }
  const head = await get(`${url}/small`, { method: 'HEAD', headers: { range: 'bytes=0-9' } })
  t.match([head.status, head.headers['content-length'], head.bytes.length], [200, '1000', 0])
  t.equal(
    head.headers['content-disposition'],
    `attachment; filename="Tome 1 _ __t__.cbz"; filename*=UTF-8''Tome%201%20%E2%80%93%20%22%C3%89t%C3%A9%22.cbz`,
  )

  const whole = await get(`${url}/large`)
  t.equal(hash(whole.bytes), hash(largeBytes), 'a large file in chunks')
  const part = await get(`${url}/large`, { headers: { range: 'bytes=100-8999999' } })
  t.equal(hash(part.bytes), hash(largeBytes.subarray(100, 9_000_000)))
  t.match([(await get(`${url}/empty`)).status, (await get(`${url}/empty`, { headers: { range: 'bytes=0-' } })).status], [200, 416])
  t.equal((await get(`${url}/folder`)).status, 404)
  const gone = await get(`${url}/${GONE}`)
  t.match([gone.status, JSON.parse(gone.bytes.toString()).error, gone.headers.etag], [404, 'not_found', undefined])
})

t.test('bytes: conditions, HEAD, no cache shared', async (t) => {
  const { url } = await openTestServer(t, { routes, admin: false })
  const whole = await get(`${url}/page`, { headers: { 'accept-encoding': 'gzip' } })
  t.ok(whole.bytes.equals(smallBytes))
  t.match(whole.headers, { etag: '"page1"', 'cache-control': /^private/, 'content-type': 'image/png' })
  t.equal(whole.headers['content-encoding'], undefined)
  t.match(whole.headers['content-security-policy'], /sandbox/)
  const same = await get(`${url}/page`, { headers: { 'if-none-match': '"page1"' } })
  t.match([same.status, same.bytes.length], [304, 0])
  const head = await get(`${url}/page`, { method: 'HEAD' })
  t.match([head.status, head.bytes.length, head.headers['content-length']], [200, 0, '1000'])
  t.equal((await get(`${url}/page`, { headers: { 'if-match': '"other"' } })).status, 412)
  t.equal((await get(`${url}/page`, { headers: { 'if-match': '"page1"' } })).status, 200)
  made = 0
  t.equal((await get(`${url}/made`, { headers: { 'if-match': '"other"' } })).status, 412)
  t.equal(made, 0, 'nothing is made for a refusal')
  t.equal((await get(`${url}/made`, { headers: { 'if-match': '"made1"' } })).status, 200)
  t.equal(made, 1)
  t.equal(whole.headers.vary, undefined, 'what anybody may see is the same for all')
})

t.test('text that is made for one answer is compressed where it is worth it and wanted; and what is elsewhere is told', async (t) => {
  const text = (path: string, bytes: Buffer) =>
    stream({
      ...{ path, summary: 'a text', tag: 'test', allow: { who: 'public' }, mediaTypes: ['text/plain'] },
      run: async () => ({ kind: 'bytes', bytes, compress: true, mediaType: 'text/plain', etag: 'tag', cacheControl: 'private, no-cache' }),
    })
  const elsewhere = stream({
    ...{ path: '/old', summary: 'moved', tag: 'test', allow: { who: 'public' }, mediaTypes: [] },
    run: async () => ({ kind: 'redirect', location: '/long' }),
  })
  const long = Buffer.from('a word '.repeat(1_000))
  const { url } = await openTestServer(t, { admin: false, routes: [text('/long', long), text('/short', Buffer.from('a word')), elsewhere] })
  const ask = (path: string, encoding: string, more: Record<string, string> = {}) =>
    get(url + path, { headers: { 'accept-encoding': encoding, ...more } })
  const packed = await ask('/long', 'gzip')
  t.match(packed.headers, { 'content-encoding': 'gzip', vary: 'Accept-Encoding', etag: '"tag-gzip"' })
  t.ok(gunzipSync(packed.bytes).equals(long))
  const plain = await ask('/long', 'identity')
  t.match([plain.headers['content-encoding'], plain.headers.etag], [undefined, '"tag"'])
  t.ok(plain.bytes.equals(long))
  t.equal((await ask('/short', 'gzip')).headers['content-encoding'], undefined)
  t.equal((await ask('/long', 'gzip', { 'if-none-match': '"tag-gzip"' })).status, 304)
  const redirect = await ask('/old', 'gzip')
  t.match([redirect.status, redirect.headers.location, redirect.bytes.length], [302, '/long', 0])
})

t.test('what one caller may see is not shown to the next at the same browser', async (t) => {
  const { url, adminToken } = await openTestServer(t, { routes })
  const cookie = { cookie: `auth_token=${adminToken}` }
  const table: [headers: Record<string, string>, status: number][] = [
    [cookie, 200],
    [{ authorization: `Bearer ${adminToken}` }, 200],
    [{ ...cookie, 'if-none-match': '"mine1"' }, 304],
  ]
  for (const [headers, status] of table) {
    const answer = await get(`${url}/mine`, { headers })
    t.match([answer.status, answer.headers.vary], [status, 'Authorization, Cookie, X-API-Key'])
  }
})

t.test('a failure does not carry the range of what it replaces', async (t) => {
  const { url } = await openTestServer(t, { routes, admin: false })
  const answer = await get(`${url}/changed`)
  t.match([answer.status, answer.headers['content-range']], [503, undefined])
})

t.test('JSON is compressed where it is worth it and wanted', async (t) => {
  const { url } = await openTestServer(t, { routes, admin: false })
  const zipped = await get(`${url}/long`, { headers: { 'accept-encoding': 'br, gzip;q=0.5' } })
  t.equal(zipped.headers['content-encoding'], 'gzip')
  t.equal(zipped.headers['vary'], 'Accept-Encoding')
  t.equal(JSON.parse(gunzipSync(zipped.bytes).toString()).length, 1000)
  const plain = await get(`${url}/long`, { headers: { 'accept-encoding': 'gzip;q=0' } })
  t.match(
    [plain.headers['content-encoding'], plain.headers['vary'], JSON.parse(plain.bytes.toString()).length],
    [undefined, 'Accept-Encoding', 1000],
  )
  t.equal((await get(`${url}/short`, { headers: { 'accept-encoding': 'gzip' } })).headers['content-encoding'], undefined)
  const head = await get(`${url}/long`, { method: 'HEAD' })
  t.match([head.status, head.bytes.length, head.headers['content-length']], [200, 0, plain.headers['content-length']])
  for (const [header, takes] of [
    ['*', true],
    ['identity', false],
    ['*;q=0', false],
    ['gzip;q=0, *', false],
    ['x-gzip', true],
  ] as const) {
    t.equal(takesGzip(header), takes, header)
  }
})

t.test('downloads that are broken off leave nothing open', async (t) => {
  const server = await openTestServer(t, { routes, admin: false })
  const openFiles = () => readdirSync('/proc/self/fd').length
  await server.request('GET', '/short')
  const before = openFiles()
  const agent = new http.Agent({ keepAlive: false, maxSockets: 20 })
  await Promise.all(
    Array.from(
      { length: 100 },
      (_, index) =>
        new Promise<void>((resolve) => {
          const request = http.get(`${server.url}/large`, { agent }, (response) => {
            if (index % 3 === 0) response.destroy()
            else response.once('data', () => response.destroy())
          })
          if (index % 5 === 0) setTimeout(() => request.destroy(), index)
          request.on('error', () => {})
          request.on('close', () => resolve())
        }),
    ),
  )
  agent.destroy()
  for (let tries = 0; tries < 1_500 && openFiles() > before; tries++) await sleep(20)
  t.ok(openFiles() <= before, 'no file is left open')
  t.equal((await server.request('GET', '/short')).text, '7')
})

t.test('a file that shrinks while it is sent hangs up instead of pretending', async (t) => {
  const { url } = await openTestServer(t, { routes, admin: false })
  const outcome = await new Promise<string>((resolve) => {
    const request = http.get(`${url}/large`, (response) => {
      response.once('data', async () => {
        response.pause()
        await truncate(large, 3_000_000)
        response.resume()
      })
      response.on('end', () => resolve(response.complete ? 'complete' : 'incomplete'))
      response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
    })
    request.on('error', () => {})
  })
  t.equal(outcome, 'ECONNRESET')
  await rm(large)
  t.equal((await get(`${url}/large`)).status, 404)
})

t.test('names of downloads cannot break out of the header', async (t) => {
  t.equal(attachment('a"b\\c\r\nd/e%f.cbz'), `attachment; filename="a_b_c__d_e_f.cbz"; filename*=UTF-8''a%22b_c__d_e%25f.cbz`)
  t.equal(attachment("l'été (1)*.cbz"), `attachment; filename="l'_t_ (1)*.cbz"; filename*=UTF-8''l%27%C3%A9t%C3%A9%20%281%29%2A.cbz`)
  t.match(attachment('\ud800.cbz'), /%EF%BF%BD\.cbz$/)
  t.same(readByteRange('bytes= 5 - 6 ', 10), { start: 5, end: 6 })
})

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
