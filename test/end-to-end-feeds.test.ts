import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { findOutsideCorpus } from '#test/support/corpus.ts'
import { complaintsOf, walkCatalog } from '#test/support/opds-walk.ts'
import { ADMIN, awaitScan, startServer } from '#test/support/running-server.ts'

const corpus = findOutsideCorpus()
/** Every book has an entry of its own in each version, with covers, a manifest, positions and a place, and every list its facets and pages. */
const DOCUMENTS_MAX = 20_000

t.setTimeout(1_200_000)
t.test('every feed of real books is valid', { skip: corpus === null, timeout: 1_200_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-feeds-'))
  const server = await startServer({ dataFolder: join(folder, 'data'), args: ['--library', corpus?.folder as string] })
  t.teardown(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const { data } = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
  await awaitScan(server, data[0]?.id as string, { analyzed: true, timeoutMs: 1_000_000 })
  const { total } = await server.get<{ total: number }>('/api/v1/books?pageSize=1')
  // Some have been begun, some finished.
  const books = await server.get<{ data: { id: string; pageCount: number; analyzed: boolean }[] }>('/api/v1/books?pageSize=500')
  for (const [index, { id }] of books.data
    .filter(({ analyzed, pageCount }) => analyzed && pageCount > 1)
    .slice(0, 10)
    .entries()) {
    const body = JSON.stringify({ currentPage: 1, completed: index % 2 === 0 })
    await fetch(`${server.url}/api/v1/books/${id}/progress`, {
      ...{ method: 'PUT', body, headers: { ...server.headers, 'content-type': 'application/json' } },
    })
  }
  const headers = { authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}` }
  for (const root of ['/opds/v1/catalog', '/opds/v2']) {
    const walked = await walkCatalog(server.url, root, { headers, most: DOCUMENTS_MAX, reach: 'documents' })
    t.same(complaintsOf(walked).slice(0, 20), [], `${walked.length} documents of ${root}`)
    const entries = new Set(
      walked.map(({ path }) => path).filter((path) => path.startsWith(`${root}/books/`) && /\/books\/[^/]+$/.test(path)),
    )
    t.equal(entries.size, total, 'every book has its entry')
  }
})
