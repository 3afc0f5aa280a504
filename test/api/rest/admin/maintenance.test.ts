import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { chosenCoverPath, coverPath, coversFolder } from '#core/covers/cover.ts'
import { openLibraryServer } from '#test/support/library-server.ts'
import { numberedPages } from '#test/support/pictures.ts'
import { GIF } from '#test/support/shelves.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const OLD = new Date(Date.now() - 2 * 3_600_000)

t.setTimeout(240_000)
t.test('what lies in the data folder and belongs to nothing', { timeout: 240_000 }, async (t) => {
  const server = await openLibraryServer(t, { 'Saga/1.cbz': buildZip(await numberedPages(2)) })
  const { ask, ended, folder, url, adminToken } = server
  const { id: bookId } = (await server.books()).get('Saga/1.cbz') as { id: string }
  const write = (path: string, at: Date | null = OLD): string => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, GIF)
    if (at) utimesSync(path, at, at)
    return path
  }
  const form = new FormData()
  form.set('file', new Blob([Uint8Array.from(GIF)]), 'x.gif')
  const uploaded = await fetch(`${url}/api/v1/books/${bookId}/cover`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}` },
    body: form,
  })
  const { id: coverId } = (await uploaded.json()) as { id: string }
  const own = [coverPath(folder, bookId), chosenCoverPath(folder, { kind: 'book', id: bookId }, { id: coverId, size: 'large' })]
  for (const path of own) utimesSync(path, OLD, OLD)
  const orphan = { kind: 'series' as const, id: randomUUID() }
  const make = () => [
    write(coverPath(folder, randomUUID())),
    write(`${coverPath(folder, randomUUID())}.tmp`),
    write(chosenCoverPath(folder, orphan, { id: randomUUID(), size: 'small' })),
    // Of a book that is there, and a cover that is not.
    write(chosenCoverPath(folder, { kind: 'book', id: bookId }, { id: randomUUID(), size: 'small' })),
  ]
  const left = [write(coverPath(folder, randomUUID()), null), write(join(dirname(coverPath(folder, bookId)), 'notes.txt'))]

  const orphans = make()
  const stats = async (query = '') =>
    (await ask<{ files?: { path: string; entityId: string }[] }>('GET', `admin/cleanup-orphans/stats${query}`)).json
  const counted = { orphanedThumbnails: 2, orphanedCovers: 2, totalSizeBytes: 4 * GIF.length }
  t.same(await stats(), counted)
  const { files = [] } = await stats('?includeFiles=true')
  t.same(files.map(({ path }) => join(folder, path)).toSorted(), orphans.toSorted())
  t.match(
    files.find(({ entityId }) => entityId === orphan.id),
    { fileType: 'cover', sizeBytes: GIF.length },
  )

  t.same((await ask('DELETE', 'admin/cleanup-orphans')).json, {
    ...{ thumbnailsDeleted: 2, coversDeleted: 2, bytesFreed: 4 * GIF.length, failures: 0, errors: [] },
  })
  t.notOk(orphans.some((path) => existsSync(path)))
  t.notOk(existsSync(coversFolder(folder, orphan)), 'nor is its folder there')
  t.ok(
    [...own, ...left].every((path) => existsSync(path)),
    'what is known, young, or called otherwise stays',
  )

  make()
  const { status, json } = await ask<{ taskId: string }>('POST', 'admin/cleanup-orphans')
  t.equal(status, 202)
  t.match(await ended(json.taskId), {
    taskType: 'cleanup_orphaned_files',
    status: 'completed',
    result: { thumbnails: 2, covers: 2, failures: 0 },
  })
  t.match(await stats(), { orphanedThumbnails: 0, orphanedCovers: 0 })
})

t.test('the cache of pages', { timeout: 240_000 }, async (t) => {
  const server = await openLibraryServer(t, { 'Saga/1.cbz': buildZip(await numberedPages(3)) })
  const { ask, ended, folder } = server
  const { id: bookId } = (await server.books()).get('Saga/1.cbz') as { id: string }
  const stats = async () => (await ask('GET', 'admin/pdf-cache/stats')).json
  t.same(await stats(), {
    ...{ totalFiles: 0, totalSizeBytes: 0, totalSizeHuman: '0 B', bookCount: 0, oldestFileAgeDays: null },
    ...{ cacheDir: 'page-cache', cacheEnabled: true },
  })
  const read = async () => {
    for (const page of [1, 2, 3]) t.equal((await ask('GET', `books/${bookId}/pages/${page}?format=webp`)).status, 200)
  }
  await read()
  const full = await stats()
  t.match(full, { totalFiles: 3, bookCount: 1, oldestFileAgeDays: 0, totalSizeHuman: /B$/ })
  const { status, json } = await ask<{ taskId: string }>('POST', 'admin/pdf-cache/cleanup')
  t.match([status, json], [202, { maxAgeDays: 30 }])
  t.match(await ended(json.taskId), { taskType: 'cleanup_pdf_cache', status: 'completed', result: { files: 0, bytes: 0 } })
  t.match((await ask('DELETE', 'admin/pdf-cache')).json, { filesDeleted: 3, bytesReclaimed: full['totalSizeBytes'] })
  t.match(await stats(), { totalFiles: 0, totalSizeBytes: 0 })
  t.same(readdirSync(join(folder, 'page-cache')), ['temporary'], 'and nothing lies there any more')
  await read()
  t.match(await stats(), { totalFiles: 3 })
})
