import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openComposedServer } from '#test/support/composed-server.ts'
import { enableKomga } from '#test/support/komga-switch.ts'
import { until } from '#test/support/library-fixture.ts'
import { noisePicture } from '#test/support/paged-books.ts'
import { addRead } from '#test/support/readable-books.ts'
import { ADMIN } from '#test/support/server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(240_000)

const UNKNOWN = '00000000-0000-4000-8000-000000000000'

async function openShelf(t: Test) {
  const composed = await openComposedServer(t)
  const { database, folder, services, url, adminToken } = composed
  await enableKomga(database)
  const root = join(folder, 'library')
  mkdirSync(root)
  const picture = await noisePicture({ width: 60, height: 90 })
  const path = join(root, 'Comic.cbz')
  writeFileSync(path, buildZip(['1.jpg', '2.jpg', '3.jpg'].map((name) => ({ name, data: picture }))))
  const { id, readerHash } = await addRead(database, path)
  const { key } = await services.accounts.createApiKey({ name: 'All' }, (await services.accounts.callers.ofToken(adminToken, 'token'))!)
  const ask = async (method: string, path: string, body?: unknown) => {
    const credentials: Record<string, string> = path.startsWith('/koreader')
      ? { 'x-auth-user': key, 'x-auth-key': 'x' }
      : {
          authorization: path.startsWith('/api/')
            ? `Bearer ${adminToken}`
            : `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}`,
        }
    const answer = await fetch(url + path, {
      method,
      headers: { ...credentials, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, type: answer.headers.get('content-type') ?? '', text }
  }
  return { ...composed, ask, id, path, readerHash }
}

const progression = (modified: string) => ({
  ...{ modified, device: { id: '1', name: 'x' } },
  locator: { href: 'pages/2', type: 'image/jpeg', locations: { position: 2 } },
})

/** Every request that is about a place in a book, with the status of each: of a book whose file has gone, and of one that nobody knows. */
const requests = (id: string, hash: string): [method: string, path: string, body: unknown, gone: number, unknown: number][] => [
  ['GET', `/api/v1/books/${id}/progress`, undefined, 200, 404],
  ['PUT', `/api/v1/books/${id}/progress`, { currentPage: 2 }, 200, 404],
  ['GET', `/api/v1/books/${id}/progression`, undefined, 200, 404],
  ['PUT', `/api/v1/books/${id}/progression`, progression('2026-01-02T10:00:00Z'), 204, 404],
  ['POST', `/api/v1/books/${id}/read`, undefined, 200, 404],
  ['POST', `/api/v1/books/${id}/unread`, undefined, 204, 404],
  ['POST', '/api/v1/books/bulk/read', { bookIds: [id] }, 200, 404],
  ['POST', '/api/v1/books/bulk/unread', { bookIds: [id] }, 200, 404],
  ['DELETE', `/api/v1/books/${id}/progress`, undefined, 204, 404],
  ['GET', '/api/v1/progress', undefined, 200, 200],
  ['GET', `/opds/v2/books/${id}/progression`, undefined, 204, 404],
  ['PUT', `/opds/v2/books/${id}/progression`, progression('2026-01-02T10:00:01Z'), 204, 404],
  ['GET', `/opds/v2/books/${id}`, undefined, 200, 404],
  ['GET', `/opds/v1/catalog/books/${id}`, undefined, 200, 404],
  ['GET', `/opds/v2/books/${id}/resource/x`, undefined, 422, 404],
  ['GET', `/opds/v2/books/${id}/pages/1`, undefined, 404, 404],
  ['GET', `/opds/books/${id}/pages/0`, undefined, 404, 404],
  ['GET', `/opds/books/${id}/file`, undefined, 404, 404],
  ['PATCH', `/komga/api/v1/books/${id}/read-progress`, { page: 2 }, 204, 404],
  ['DELETE', `/komga/api/v1/books/${id}/read-progress`, undefined, 204, 404],
  ['GET', `/koreader/syncs/progress/${hash}`, undefined, 404, 404],
  ['PUT', '/koreader/syncs/progress', { document: hash, progress: '2', percentage: 0.5, device: 'x', device_id: 'y' }, 404, 404],
]

t.test('places in a book whose file has gone are kept, and what needs the file says that it is not there', async (t) => {
  const { ask, id, path, readerHash, database } = await openShelf(t)
  t.equal((await ask('PUT', `/api/v1/books/${id}/progress`, { currentPage: 2 })).status, 200)
  rmSync(path)
  await database('books').where({ id }).update({ deleted_at: new Date() })
  for (const [method, asked, body, gone] of requests(id, readerHash)) {
    const { status, text, type } = await ask(method, asked, body)
    t.equal(status, gone, `${method} ${asked} ${text.slice(0, 200)}`)
    if (status >= 400) t.match([type, JSON.parse(text)], [/^application\/json/, { message: String }], asked)
  }
  const feed = await ask('GET', '/opds/v2/in-progress')
  t.equal(feed.status, 200)
  t.notMatch(feed.text, id, 'no list shows it')
})

t.test('books that were purged, or never were, are refused', async (t) => {
  const { ask, id, readerHash, database } = await openShelf(t)
  await ask('PUT', `/api/v1/books/${id}/progress`, { currentPage: 2 })
  await database('books').where({ id }).delete()
  for (const [bookId, hash] of [
    [id, readerHash],
    [UNKNOWN, '0'.repeat(32)],
  ] as const) {
    for (const [method, asked, body, , unknown] of requests(bookId, hash)) {
      const { status, text, type } = await ask(method, asked, body)
      t.equal(status, unknown, `${method} ${asked} ${text.slice(0, 200)}`)
      if (status >= 400) t.match([type, JSON.parse(text)], [/^application\/json/, { message: String }], asked)
    }
  }
})

t.test('a book that is purged while a place in it is written is a refusal, not a fault', async (t) => {
  const writes = (id: string, hash: string) =>
    requests(id, hash).filter(([method, path]) => ['PUT', 'PATCH'].includes(method) || /\/books\/(bulk\/|[^/]+\/)read$/.test(path))
  for (let index = 0; index < writes('', '').length; index++) {
    const { ask, id, readerHash, database } = await openShelf(t)
    const [method, path, body] = writes(id, readerHash)[index] as ReturnType<typeof requests>[number]
    const waiting: { answer?: ReturnType<typeof ask> } = {}
    await database.transaction(async (trx) => {
      await trx('books').where({ id }).delete()
      waiting.answer = ask(method, path, body)
      await until(async () => {
        const { rows } = await database.raw(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return rows.length > 0
      })
    })
    const { status, text } = (await waiting.answer) as Awaited<ReturnType<typeof ask>>
    // Clients of Komga get 400 for a conflict.
    t.ok([200, 404, path.startsWith('/komga/') ? 400 : 409].includes(status), `${method} ${path}: ${status} ${text.slice(0, 200)}`)
    if (status >= 400) t.match(JSON.parse(text), { message: String })
  }
})
