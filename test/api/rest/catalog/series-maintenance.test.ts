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
