import t, { type Test } from 'tap'
import { bookRoutes } from '#api/rest/catalog/books.ts'
import { progressRoutes } from '#api/rest/reading/progress.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { openReadingServer } from '#test/support/readable-books.ts'

t.setTimeout(60_000)

interface Place {
  currentPage: number
  updatedAt: string
  app: string | null
}

async function openBook(t: Test) {
  const { server, addFile, database } = await openReadingServer(t, [...progressRoutes, ...bookRoutes])
  const { id } = await addFile('Novel.epub', buildEpub({ files: { 'c1.xhtml': `<p>${'word '.repeat(20_000)}</p>` } }))
  await database('books').where({ id }).update({ page_count: 100 })
  const ask = async <T = Place>(method: string, kind: string, body?: unknown) =>
    await server.request<T>(method, `/api/v1/books/${id}/${kind}`, { token: server.adminToken, ...(body !== undefined && { body }) })
  const page = (currentPage: number, basedOn?: string | null) =>
    ask('PUT', 'progress', { currentPage, ...(basedOn !== undefined && { basedOn }) })
  const progression = (position: number, basedOn?: string | null, modified = '2026-01-02T10:00:00Z') =>
    ask('PUT', 'progression', {
      modified,
      device: { id: 'urn:x', name: 'Tablet' },
      locator: { href: 'OPS/c1.xhtml', type: 'application/xhtml+xml', locations: { position } },
      ...(basedOn !== undefined && { basedOn }),
    })
  return { ask, page, progression, database, id }
}

t.test('a page that is based on an older record than that of another device is refused with it', async (t) => {
  const { page, ask, progression } = await openBook(t)
  const first = (await page(5, null)).json
  t.match(first, { currentPage: 5 })
  const second = (await page(6, first.updatedAt)).json
  t.equal((await progression(40)).status, 204, 'the other device, whose clock is late')
  const { updatedAt } = (await ask('GET', 'progress')).json
  const refused = await page(7, second.updatedAt)
  t.match(
    [refused.status, refused.json],
    [
      409,
      {
        error: 'conflict',
        message: /Another position was recorded/,
        details: {
          progress: { currentPage: 40, updatedAt, app: 'Tablet' },
          progression: { device: { name: 'Tablet' }, locator: { locations: { position: 40 } } },
        },
      },
    ],
  )
  t.match((await ask('GET', 'progress')).json, { currentPage: 40 }, 'nothing was changed')
  t.equal((await page(7, null)).status, 409)
  t.equal((await page(40, null)).status, 200, 'the same position is no conflict')
  t.match((await page(7, (await ask('GET', 'progress')).json.updatedAt)).json, { currentPage: 7 })
  t.match((await page(8)).json, { currentPage: 8 }, 'without it the last one counts, as before')
  await ask('DELETE', 'progress')
  t.equal((await page(9, second.updatedAt)).status, 200, 'after marking as unread there is nothing to lose')
  for (const basedOn of ['yesterday', 5, '2026-02-30T00:00:00Z'])
    t.ok([400, 422].includes((await page(9, basedOn as string)).status), String(basedOn))
})

t.test('a progression with basedOn does not depend on the clock of its device', async (t) => {
  const { page, ask, progression } = await openBook(t)
  await progression(10, undefined, '2026-05-01T10:00:00Z')
  const { updatedAt } = (await ask('GET', 'progress')).json
  t.equal((await progression(11, undefined, '2025-05-01T10:00:00Z')).status, 409, 'older than the last progression')
  const own = await progression(12, updatedAt, '2025-05-01T10:00:00Z')
  t.match([own.status, own.json], [200, { currentPage: 12, app: 'Tablet' }])
  t.ok(own.json.updatedAt > updatedAt, 'the time of the server')
  t.equal((await progression(13, updatedAt, '2099-05-01T10:00:00Z')).status, 409)
  t.match((await progression(13, own.json.updatedAt, '2099-05-01T10:00:00Z')).json, { currentPage: 13 })
  await page(50)
  const late = await progression(14, own.json.updatedAt)
  t.match([late.status, late.json], [409, { details: { progress: { currentPage: 50 } } }])
})

t.test('of two devices that start from the same record one is refused', async (t) => {
  const { page, ask } = await openBook(t)
  const { updatedAt } = (await page(1)).json
  const answers = await Promise.all([20, 30, 40, 50].map((number) => page(number, updatedAt)))
  t.same(answers.map(({ status }) => status).sort(), [200, 409, 409, 409])
  const winner = answers.find(({ status }) => status === 200)?.json
  t.equal((await ask('GET', 'progress')).json.currentPage, winner?.currentPage)
})
