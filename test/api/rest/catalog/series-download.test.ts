import { mkdtempSync, readFileSync, rmSync, truncateSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { DOWNLOAD_LIMITS, SeriesDownloads } from '#core/reading/download-series.ts'
import { addWalker } from '#test/support/composed-server.ts'
import { comic, until } from '#test/support/library-fixture.ts'
import { addCaller, shareSeries } from '#test/support/library-rows.ts'
import { openLibraryServer } from '#test/support/library-server.ts'
import { ZipArchive } from '#workers/formats/zip/zip.ts'

/** Larger than what the connection and its buffers hold: Linux lets a receiving socket grow to 32 MiB, and a sending one to 4. */
const LARGE_BYTES = 96 * 1_048_576

t.setTimeout(240_000)
t.test('a series as one zip', { timeout: 240_000 }, async (t) => {
  const first = comic('first')
  const second = comic('second', 3)
  const large = Buffer.concat([comic('large'), Buffer.alloc(LARGE_BYTES)])
  const server = await openLibraryServer(t, {
    '進撃の巨人/v1 é.cbz': first,
    '進撃の巨人/v2.cbz': second,
    'Large/v1.cbz': large,
    'Large/v2.cbz': comic('other'),
  })
  const { url, adminToken, services, database } = server
  const books = await server.books()
  const seriesId = books.get('進撃の巨人/v1 é.cbz')?.series_id as string
  const largeId = books.get('Large/v1.cbz')?.series_id as string
  const path = (id: string) => `/api/v1/series/${id}/download`
  const headers = { authorization: `Bearer ${adminToken}` }

  const answer = await fetch(url + path(seriesId), { headers })
  const zip = Buffer.from(await answer.arrayBuffer())
  t.match(Object.fromEntries(answer.headers), {
    'content-type': 'application/zip',
    'content-length': String(zip.length),
    'content-disposition': `filename*=UTF-8''${encodeURIComponent('進撃の巨人.zip')}`,
  })
  const folder = mkdtempSync(join(tmpdir(), 'carrel-download-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'series.zip')
  writeFileSync(file, zip)
  const { openSync, closeSync } = await import('node:fs')
  const fd = openSync(file, 'r')
  const archive = new ZipArchive({ path: file, fd, bytes: zip.length })
  t.same(
    archive.entries.map(({ name }) => name),
    ['v1 é.cbz', 'v2.cbz'],
  )
  t.ok(Buffer.from(archive.read(archive.entries[0]!, 1_000_000)).equals(first))
  t.ok(Buffer.from(archive.read(archive.entries[1]!, 1_000_000)).equals(second))
  closeSync(fd)

  const head = await fetch(url + path(seriesId), { method: 'HEAD', headers })
  t.equal(head.headers.get('content-length'), String(zip.length))
  t.equal((await fetch(url + path(seriesId))).status, 401)
  t.equal((await fetch(url + path(seriesId), { headers: { cookie: `auth_token=${adminToken}` } })).status, 200, 'a link in a page')

  const [tag] = await database('sharing_tags').insert({ name: 'kept' }, 'id')
  const reader = await addWalker({ database, services }, { role: 'reader', mode: 'deny', tagId: tag.id })
  await t.test('who may not see it finds nothing', async (t) => {
    await database('series_sharing_tags').insert({ series_id: seriesId, sharing_tag_id: tag.id })
    t.equal((await server.ask('GET', `series/${seriesId}/download`, undefined, reader.accessToken)).status, 404)
  })

  await t.test('a client that stops gives its place free, and no more than two are sent to one person', async (t) => {
    const slow = await Promise.all([begin(url + path(largeId), headers), begin(url + path(largeId), headers)])
    t.match(await server.ask('GET', `series/${seriesId}/download`), { status: 503, json: { message: /Try again when one is done/ } })
    for (const { request } of slow) request.destroy()
    await until(async () => (await server.ask('GET', `series/${seriesId}/download`)).status === 200)
  })

  await t.test('a file that changes or goes midway breaks the connection off', async (t) => {
    const { response, request } = await begin(url + path(largeId), headers)
    unlinkSync(join(server.root, 'Large/v2.cbz'))
    await t.rejects(readAll(response), /aborted|hang up|reset/i)
    request.destroy()
    t.match(await server.ask('GET', `series/${largeId}/download`), { status: 409, json: { message: /"v2.cbz" is no longer where it was/ } })
    writeFileSync(join(server.root, 'Large/v2.cbz'), 'back')
    t.match(await server.ask('GET', `series/${largeId}/download`), {
      status: 409,
      json: { message: /"v2.cbz" has changed since it was scanned/ },
    })
    await server.scan()
    const cut = await begin(url + path(largeId), headers)
    truncateSync(join(server.root, 'Large/v1.cbz'), 1_000_000)
    await t.rejects(readAll(cut.response), /aborted|hang up|reset/i)
    t.equal(readFileSync(join(server.root, 'Large/v2.cbz'), 'utf8'), 'back')
  })

  await t.test('so does one that is written to at the same length, and a right that is taken away', async (t) => {
    server.put('Large/v1.cbz', large)
    await server.scan()
    const written = await begin(url + path(largeId), headers)
    utimesSync(join(server.root, 'Large/v2.cbz'), 1, 1)
    await t.rejects(readAll(written.response), /aborted|hang up|reset/i)
    await server.scan()
    const taken = await begin(url + path(largeId), { authorization: `Bearer ${reader.accessToken}` })
    t.equal(taken.response.statusCode, 200)
    await database('series_sharing_tags').insert({ series_id: largeId, sharing_tag_id: tag.id })
    await t.rejects(readAll(taken.response), /aborted|hang up|reset/i)
  })
})

t.test('a series that is too large is not sent as one zip', async (t) => {
  const server = await openLibraryServer(t, { 'Saga/1.cbz': comic('1'), 'Saga/2.cbz': comic('2') })
  const seriesId = (await server.books()).get('Saga/1.cbz')?.series_id as string
  const caller = await addCaller(server.database)
  const open = (limits: Partial<typeof DOWNLOAD_LIMITS>) =>
    new SeriesDownloads({ database: server.database, limits: { ...DOWNLOAD_LIMITS, ...limits } }).open(caller, seriesId)
  t.equal((await open({})).files.length, 2)
  await t.rejects(open({ booksMax: 1 }), { code: 'invalid_value', message: /more than 1 books/ })
  await t.rejects(open({ bytesMax: 10 }), { code: 'invalid_value', message: /one by one/ })
  await t.rejects(open({ inAll: 0 }), { code: 'unavailable' })
  await shareSeries(server.database, { seriesId, caller, mode: 'deny' })
  await t.rejects(open({}), { code: 'not_found' })
})

/** Begins a download and reads nothing of it but its head. */
function begin(url: string, headers: Record<string, string>): Promise<{ request: http.ClientRequest; response: http.IncomingMessage }> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers, agent: false }, (response) => resolve({ request, response }))
    request.once('error', reject)
  })
}

async function readAll(response: http.IncomingMessage): Promise<void> {
  for await (const _ of response);
}
