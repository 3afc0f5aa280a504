import { randomUUID } from 'node:crypto'
import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { comic } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'

t.setTimeout(240_000)
t.test('books of a series are numbered by the names of their files, and forgotten when those are gone', { timeout: 240_000 }, async (t) => {
  const names = ['Saga 01', 'Saga 02', 'Saga 03', 'Saga 04']
  const server = await openLibraryServer(t, {
    ...Object.fromEntries(names.map((name) => [`Saga/${name}.cbz`, comic(name)])),
    'Other/Other 07.cbz': comic('other'),
  })
  const { ask, ended, database } = server
  const books = await server.books()
  const row = (name: string) => books.get(`Saga/${name}.cbz`) ?? t.fail(name)
  const idOf = (name: string) => (row(name) as { id: string }).id
  const seriesId = (row('Saga 01') as { series_id: string }).series_id
  const otherId = books.get('Other/Other 07.cbz')?.series_id as string
  const numbers = async () => {
    const rows = await database('books').where('series_id', seriesId).orderBy('file_name').select('number')
    return rows.map(({ number }) => (number === null ? null : Number(number)))
  }
  t.same(await numbers(), [1, 2, 3, 4])
  await database('books').where('id', idOf('Saga 01')).update({ number: 99 })
  await database('books').where('id', idOf('Saga 02')).update({ number: null })
  // A person says otherwise, which locks it.
  t.equal((await ask('PATCH', `books/${idOf('Saga 03')}`, { number: 30 })).status, 200)
  await database('books').where('id', idOf('Saga 04')).update({ number: 40 })
  await database('book_metadata').insert({ book_id: idOf('Saga 04'), locks: ['number'], sources: { number: 'file_name' } })

  const { status, json } = await ask<{ taskId: string }>('POST', `series/${seriesId}/renumber`)
  t.equal(status, 202)
  t.match(await ended(json.taskId), { taskType: 'renumber_series', status: 'completed', result: { processed: 4, changed: 2, skipped: 2 } })
  t.same(await numbers(), [1, 2, 30, 40])

  const bulk = await ask<{ taskId: string; message: string }>('POST', 'series/bulk/renumber', { seriesIds: [seriesId, otherId] })
  t.match(bulk, { status: 202, json: { message: /2 series/ } })
  t.match(await ended(bulk.json.taskId), { taskType: 'renumber_series_batch', result: { processed: 5, changed: 0 } })
  t.match(await ask('POST', 'series/bulk/renumber', { seriesIds: [seriesId, randomUUID()] }), { status: 404 })
  t.match(await ask('POST', `series/${randomUUID()}/renumber`), { status: 404 })

  unlinkSync(join(server.root, 'Saga/Saga 01.cbz'))
  unlinkSync(join(server.root, 'Other/Other 07.cbz'))
  await database('books')
    .whereIn('id', [idOf('Saga 01'), books.get('Other/Other 07.cbz')?.id as string])
    .update({ deleted_at: new Date() })
  t.same(await ask('DELETE', `series/${seriesId}/purge-deleted`).then(({ status, json }) => [status, json]), [200, 1])
  t.equal((await database('books').where('id', idOf('Saga 01'))).length, 0)
  t.equal((await database('books').where('series_id', otherId)).length, 1, 'other series keep theirs')
  t.equal((await ask('DELETE', `series/${otherId}/purge-deleted`)).json, 1)
  t.equal((await ask('DELETE', `series/${otherId}/purge-deleted`)).status, 404, 'an empty series is gone too')
})

t.test('missing books are listed with since when and why, filtered and sorted, and removed one by one or as a selection', async (t) => {
  const files = Object.fromEntries(['Saga 1', 'Saga 2', 'Saga 3', 'Saga 4'].map((name) => [`Saga/${name}.cbz`, comic(name)]))
  const { ask, database, books } = await openLibraryServer(t, { ...files, 'Other/Other 1.cbz': comic('other') })
  const known = await books()
  const idOf = (name: string) => known.get(name)?.id as string
  const [one, two, three] = ['Saga/Saga 1.cbz', 'Saga/Saga 2.cbz', 'Other/Other 1.cbz'].map(idOf) as [string, string, string]
  const since = new Date('2026-01-02T03:04:05Z')
  await database('books').whereIn('id', [one, two]).update({ deleted_at: new Date(), missing_since: since, missing_why: 'folder' })
  await database('books').where('id', three).update({ missing_since: since, missing_why: 'withheld' })

  interface Listed {
    total: number
    data: { id: string; deleted: boolean; missing: object | null }[]
  }
  const listed = async (method: string, path: string, body?: object) => {
    const { json } = await ask<Listed>(method, path, body)
    return json.data.map(({ id }) => id)
  }
  const all = (await ask<Listed>('GET', 'books?deleted=only&sort=title,desc')).json
  t.match(all, {
    total: 3,
    data: [
      { id: two, deleted: true, missing: { since: since.toISOString(), why: 'folder' } },
      { id: one, deleted: true },
      { id: three, deleted: false, missing: { since: since.toISOString(), why: 'withheld' } },
    ],
  })
  const { libraryId, seriesId } = (await ask<{ book: { libraryId: string; seriesId: string } }>('GET', `books/${one}`)).json.book
  t.same(await listed('GET', `books?deleted=only&sort=title,asc&seriesId=${seriesId}`), [one, two])
  t.same(await listed('GET', `libraries/${libraryId}/books?deleted=only&pageSize=1&page=2&sort=title,asc`), [one])
  const condition = { title: { operator: 'contains', value: 'saga 2' } }
  t.same(await listed('POST', 'books/list', { deleted: 'only', condition }), [two])
  t.same(await listed('POST', 'books/list', { condition: { missing: { operator: 'isTrue' } } }), [three], 'deleted ones only if asked for')
  t.equal((await ask('GET', 'books?deleted=maybe')).status, 400)
  t.match((await ask<Listed>('GET', 'books')).json, { total: 3 })

  const there = idOf('Saga/Saga 3.cbz')
  t.equal((await ask('DELETE', `books/${there}/purge-deleted`)).status, 409)
  t.equal((await ask('DELETE', `books/${three}/purge-deleted`)).status, 409)
  t.match(await ask('POST', 'books/bulk/purge-deleted', { bookIds: [one, there] }), { status: 409 })
  t.equal((await ask('POST', 'books/bulk/purge-deleted', { bookIds: [one, randomUUID()] })).status, 404)
  t.equal((await ask('DELETE', `books/${one}/purge-deleted`)).status, 204)
  t.match(await ask('POST', 'books/bulk/purge-deleted', { bookIds: [two] }), { status: 200, json: { removed: 1 } })
  t.same(await listed('GET', 'books?deleted=only'), [three])
})
