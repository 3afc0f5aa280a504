import t from 'tap'
import { listDuplicateIds } from '#core/catalog/duplicates.ts'
import { addWalker } from '#test/support/composed-server.ts'
import { comic } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { openLibraryServer } from '#test/support/library-server.ts'
import { comicOfPages } from '#test/support/paged-comics.ts'
import { addRunningTask } from '#test/support/task-queues.ts'

interface Duplicates {
  duplicates: { id: string; fileHash: string; bookIds: string[]; duplicateCount: number }[]
  totalGroups: number
  totalDuplicateBooks: number
  samePages: { id: string; pagesHash: string; bookIds: string[]; duplicateCount: number }[]
  totalSamePages: number
}

t.setTimeout(240_000)
t.test('books that hold the same file', async (t) => {
  const server = await openLibraryServer(t, {
    'One/1.cbz': comic('same'),
    'Two/1.cbz': comic('same'),
    'Three/1.cbz': comic('same'),
    'One/2.cbz': comic('pair'),
    'Two/2.cbz': comic('pair'),
    'Two/3.cbz': comic('alone'),
  })
  const { ask, ended, database, services } = server
  const list = async (token?: string) => (await ask<Duplicates>('GET', 'duplicates', undefined, token)).json
  const scan = async () => {
    const { status, json } = await ask<{ taskId: string }>('POST', 'duplicates/scan')
    t.equal(status, 202)
    return await ended(json.taskId)
  }
  t.same(
    await list(),
    { duplicates: [], totalGroups: 0, totalDuplicateBooks: 0, samePages: [], totalSamePages: 0 },
    'nobody has looked yet',
  )
  t.match(await scan(), { status: 'completed', result: { groups: 2, books: 5 } })
  const books = await server.books()
  const found = await list()
  t.match(found, { totalGroups: 2, totalDuplicateBooks: 5, duplicates: [{ duplicateCount: 3 }, { duplicateCount: 2 }] })
  t.same(found.duplicates[1]?.bookIds.toSorted(), ['One/2.cbz', 'Two/2.cbz'].map((path) => books.get(path)?.id).toSorted())
  t.match((await ask<Duplicates>('GET', 'duplicates?limit=1&offset=1')).json, { totalGroups: 2, duplicates: [{ duplicateCount: 2 }] })

  await t.test('as books by themselves, in pages', async (t) => {
    const everybody = await addCaller(database)
    const all = found.duplicates.flatMap(({ bookIds }) => bookIds)
    t.same(await listDuplicateIds(database, everybody, { offset: 0, limit: 20 }), { ids: all, total: 5 })
    t.same(await listDuplicateIds(database, everybody, { offset: 2, limit: 2 }), { ids: all.slice(2, 4), total: 5 })
    t.same(await listDuplicateIds(database, everybody, { offset: 2_000_000, limit: 1_000 }), { ids: [], total: 5 })
  })

  await t.test('one at a time', async (t) => {
    // On a node that lives: the server runs the tasks of dead ones itself.
    const [{ node_lock }] = await database('task_workers').select(database.raw('node_lock::text AS node_lock')).limit(1)
    const [{ id }] = await addRunningTask(database, { type: 'find_duplicates' }, 'node-9', node_lock)
    t.match(await ask('POST', 'duplicates/scan'), { status: 409 })
    await database('tasks').where({ id }).update({ status: 'failed', completed_at: new Date() })
  })

  await t.test('of what is hidden nobody hears', async (t) => {
    const [tag] = await database('sharing_tags').insert({ name: 'kept' }, 'id')
    await database('series_sharing_tags').insert({ series_id: books.get('Two/1.cbz')?.series_id, sharing_tag_id: tag.id })
    const walker = await addWalker({ database, services }, { role: 'maintainer', mode: 'deny', tagId: tag.id })
    const seen = await list(walker.accessToken)
    t.match(seen, { totalGroups: 1, totalDuplicateBooks: 2, duplicates: [{ duplicateCount: 2 }] })
    t.notOk(seen.duplicates[0]?.bookIds.includes(books.get('Two/1.cbz')?.id as string))
    const pair = found.duplicates[1]?.id
    t.equal((await ask('DELETE', `duplicates/${pair}`, undefined, walker.accessToken)).status, 404)
    t.equal((await ask('DELETE', `duplicates/${seen.duplicates[0]?.id}`, undefined, walker.accessToken)).status, 204)
    t.same((await list(walker.accessToken)).totalGroups, 0)
    t.equal((await list()).totalGroups, 2, 'who sees a third book still sees the group')
  })

  await t.test('a dismissed group comes back with a new book, and goes with its books', async (t) => {
    const pair = found.duplicates[1]?.id
    t.equal((await ask('DELETE', `duplicates/${pair}`)).status, 204)
    t.equal((await ask('DELETE', `duplicates/${pair}`)).status, 404)
    await scan()
    t.equal((await list()).totalGroups, 1, 'a scan does not bring it back')
    server.put('Three/2.cbz', comic('pair'))
    await server.scan()
    t.equal((await list()).duplicates.find(({ id }) => id === pair)?.duplicateCount, 3)
    await database('books').where('path', 'like', '%/1.cbz').update({ deleted_at: new Date() })
    t.match(await list(), { totalGroups: 1, totalDuplicateBooks: 3 })
    t.match(await scan(), { result: { groups: 1, books: 3 } })
  })
})

t.test('different files with the same pages', async (t) => {
  const server = await openLibraryServer(t, {
    'One/1.cbz': comicOfPages('first'),
    'Two/1.cbz': comicOfPages('first+tag'),
    'Two/2.cbz': comicOfPages('second'),
    'Two/3.cbz': comicOfPages('second'),
  })
  const { ask, ended, database, services } = server
  const list = async (token?: string) => (await ask<Duplicates>('GET', 'duplicates', undefined, token)).json
  t.match(await ended((await ask<{ taskId: string }>('POST', 'duplicates/scan')).json.taskId), {
    status: 'completed',
    result: { groups: 1, books: 2, samePages: 1 },
  })
  const books = await server.books()
  const found = await list()
  t.match(found, { totalGroups: 1, totalSamePages: 1, samePages: [{ duplicateCount: 2 }] }, 'equal files are not listed twice')
  const [group] = found.samePages
  t.same(group?.bookIds.toSorted(), ['One/1.cbz', 'Two/1.cbz'].map((path) => books.get(path)?.id).toSorted())

  const [tag] = await database('sharing_tags').insert({ name: 'kept' }, 'id')
  await database('series_sharing_tags').insert({ series_id: books.get('One/1.cbz')?.series_id, sharing_tag_id: tag.id })
  const walker = await addWalker({ database, services }, { role: 'maintainer', mode: 'deny', tagId: tag.id })
  t.match(await list(walker.accessToken), { totalGroups: 1, totalSamePages: 0, samePages: [] })
  t.equal((await ask('DELETE', `duplicates/${group?.id}`, undefined, walker.accessToken)).status, 404)
  t.equal((await ask('DELETE', `duplicates/${group?.id}`)).status, 204)
  t.match(await list(), { totalGroups: 1, totalSamePages: 0 })
})
