import { randomUUID } from 'node:crypto'
import { existsSync, rmSync, statSync, utimesSync } from 'node:fs'
import t from 'tap'
import { coverPath } from '#core/covers/cover.ts'
import { comic } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'

t.setTimeout(60_000)
t.test('thumbnails are drawn by tasks', async (t) => {
  const server = await openLibraryServer(t, {
    'One/1.cbz': comic('1'),
    'One/2.cbz': comic('2'),
    'Two/1.cbz': comic('3'),
    'Two/2.cbz': Buffer.from('no comic'),
  })
  const { ask, ended, folder, database, libraryId } = server
  const books = await server.books()
  const idOf = (path: string) => books.get(path)?.id as string
  const fileOf = (path: string) => coverPath(folder, idOf(path))
  const seriesId = books.get('Two/1.cbz')?.series_id as string
  const run = async (path: string, body?: unknown) => {
    const { status, json } = await ask<{ taskId: string }>('POST', path, body)
    t.equal(status, 202, path)
    return await ended(json.taskId)
  }
  const all = ['One/1.cbz', 'One/2.cbz', 'Two/1.cbz']
  t.ok(
    all.every((path) => existsSync(fileOf(path))),
    'analysis has drawn them',
  )

  t.match(await run('books/thumbnails/generate'), {
    taskType: 'generate_thumbnails',
    result: { processed: 3, made: 0, kept: 3, failed: 0 },
  })
  rmSync(fileOf('One/1.cbz'))
  await database('books').where('id', idOf('One/2.cbz')).update({ cover_hash: null })
  await database('book_errors').insert({ book_id: idOf('One/2.cbz'), error_type: 'thumbnail', message: 'was bad', fatal: false })
  t.match(await run(`libraries/${libraryId}/books/thumbnails/generate`), { result: { processed: 3, made: 2, kept: 1, failed: 0 } })
  t.ok(existsSync(fileOf('One/1.cbz')))
  const row = await database('books').where('id', idOf('One/2.cbz')).first('cover_hash')
  t.match(row.cover_hash, /^[0-9a-f]{64}$/)
  t.equal((await database('book_errors').where({ book_id: idOf('One/2.cbz'), error_type: 'thumbnail' })).length, 0, 'the error is gone')

  const old = new Date('2020-01-01')
  utimesSync(fileOf('One/1.cbz'), old, old)
  t.match(await run(`books/${idOf('One/1.cbz')}/thumbnail/generate`), { taskType: 'generate_thumbnail', result: { kept: 1 } })
  t.match(await run(`books/${idOf('One/1.cbz')}/thumbnail/generate`, { force: true }), { result: { made: 1 } })
  t.ok(statSync(fileOf('One/1.cbz')).mtime > old)

  rmSync(fileOf('Two/1.cbz'))
  t.match(await run(`series/${seriesId}/thumbnail/generate`), { taskType: 'generate_series_thumbnail', result: { made: 1 } })
  t.match(await run('series/bulk/thumbnails/generate', { seriesIds: [seriesId] }), { result: { kept: 1 } })
  t.match(await run('series/bulk/thumbnails/books/generate', { seriesIds: [seriesId], force: true }), { result: { made: 1 } })
  t.match(await run('books/bulk/thumbnails/generate', { bookIds: [idOf('One/1.cbz'), idOf('One/2.cbz')] }), { result: { kept: 2 } })
  t.match(await run('series/thumbnails/generate', { libraryId }), { result: { processed: 2 } })
  t.match(await run(`libraries/${libraryId}/series/thumbnails/generate`, { force: true }), { result: { made: 2 } })
  t.match(await run('books/thumbnails/generate', { seriesId, force: true }), { result: { made: 1 } })

  await database('book_metadata')
    .insert({ book_id: idOf('One/1.cbz'), locks: ['cover'] })
    .onConflict('book_id')
    .merge()
  server.put('One/2.cbz', comic('changed', 2))
  t.match(
    await run('books/bulk/thumbnails/generate', { bookIds: [idOf('One/1.cbz'), idOf('One/2.cbz')], force: true }),
    { result: { made: 0, kept: 1, failed: 1 } },
    'a lock holds, and a file that no scan has seen is left',
  )

  t.match(await ask('POST', 'books/bulk/thumbnails/generate', { bookIds: [idOf('One/1.cbz'), randomUUID()] }), { status: 404 })
  t.match(await ask('POST', 'books/bulk/thumbnails/generate', { bookIds: Array.from({ length: 501 }, () => randomUUID()) }), {
    status: 422,
  })
  t.match(await ask('POST', 'series/bulk/thumbnails/generate', { seriesIds: Array.from({ length: 101 }, () => randomUUID()) }), {
    status: 422,
  })
  t.match(await ask('POST', `libraries/${randomUUID()}/books/thumbnails/generate`), { status: 404 })
})
