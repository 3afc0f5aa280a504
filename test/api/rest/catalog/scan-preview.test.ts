import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { scanPreviewRoutes } from '#api/rest/catalog/scan-preview.ts'
import { addLibrary } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

t.test('what a scan would find', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-preview-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const path of ['a/Saga', 'b']) mkdirSync(join(folder, path), { recursive: true })
  for (let index = 1; index <= 7; index++) writeFileSync(join(folder, 'a/Saga', `Saga ${index}.cbz`), '')
  writeFileSync(join(folder, 'a', 'Alone.pdf'), '')
  writeFileSync(join(folder, 'a', 'notes.txt'), '')
  const server = await openTestServer(t, { routes: scanPreviewRoutes })
  const ask = async (path: string) =>
    await server.request<{ detectedSeries: { sampleBooks: string[] }[] }>('POST', '/api/v1/libraries/preview-scan', {
      token: server.adminToken,
      body: { path },
    })
  const { status, json } = await ask(join(folder, 'a'))
  t.equal(status, 200)
  t.match(json, {
    totalFiles: 8,
    truncated: false,
    detectedSeries: [
      { name: 'Alone', path: 'Alone.pdf', bookCount: 1, sampleBooks: ['Alone.pdf'] },
      { name: 'Saga', path: 'Saga', bookCount: 7 },
    ],
  })
  t.equal(json.detectedSeries[1]?.sampleBooks.length, 5)
  t.match(json, {
    detectedSeries: [
      { rule: 'root', why: /series of one/, books: [{ title: 'Alone', number: null }] },
      { rule: 'folder', why: 'Its folder is the series.', books: [{ title: 'Saga 1', number: 1, volume: null }] },
    ],
    leftOut: [{ reason: 'format', count: 1, examples: ['notes.txt'] }],
    suggestedStrategy: 'auto',
  })
  t.match(
    (json as unknown as { alternatives: { strategy: string }[] }).alternatives.find(({ strategy }) => strategy === 'series_volume'),
    { series: 2, single: 1, mixed: 0 },
  )
  const filtered = await server.request('POST', '/api/v1/libraries/preview-scan', {
    token: server.adminToken,
    body: { path: join(folder, 'a'), excludedPatterns: '*2.cbz', allowedFormats: ['CBZ'], seriesStrategy: 'publisher_hierarchy' },
  })
  t.match(filtered.json, {
    totalFiles: 6,
    detectedSeries: [{ name: 'Unsorted', rule: 'unsorted', bookCount: 6 }],
    leftOut: [
      { reason: 'excluded', count: 1, examples: ['Saga/Saga 2.cbz'] },
      { reason: 'format', count: 2 },
    ],
  })
  t.match(await ask(join(folder, 'b')), { status: 200, json: { totalFiles: 0, detectedSeries: [] } })
  t.match(await ask(join(folder, 'c')), { status: 422, json: { message: /does not exist/ } })
  t.match(await ask('relative'), { status: 422 })
  await addLibrary(server.database, { path: join(folder, 'a') })
  t.match(await ask(join(folder, 'a')), { status: 409 }, 'of a library only those hear who may see its books')
  t.match(await ask(folder), { status: 409 })
  const reader = await server.signUp({ username: 'rita' })
  t.match(await server.request('POST', '/api/v1/libraries/preview-scan', { token: reader.token, body: { path: folder } }), { status: 403 })
})
