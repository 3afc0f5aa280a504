import t from 'tap'
import { findAdjacentInReadList } from '#core/shelves/shelf-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.test('the neighbors of a book in a read list follow its order, without what is hidden or gone', async (t) => {
  const { database } = await openTestDatabase(t)
  const [caller, kept] = [await addCaller(database), await addCaller(database)]
  const library_id = await addLibrary(database)
  const add = async (title: string, year: number) => {
    const series_id = await addSeries(database, { library_id, title })
    const id = await addBook(database, { library_id, series_id, title })
    await database('book_metadata').insert({ book_id: id, year })
    return { id, series_id }
  }
  const [a, b, c, d] = [await add('A', 2004), await add('B', 2003), await add('C', 2002), await add('D', 2001)]
  const lists: Record<string, string> = {}
  for (const ordered of [true, false]) {
    const [list] = await database('read_lists').insert({ name: `R ${ordered}`, ordered }, 'id')
    for (const [position, { id }] of [a, b, c].entries())
      await database('read_list_books').insert({ read_list_id: list.id, book_id: id, position })
    lists[String(ordered)] = list.id
  }
  const around = async (book: { id: string }, ordered = true, viewer = caller) => {
    const { prev, next } = await findAdjacentInReadList(database, viewer, { readListId: lists[String(ordered)] as string, bookId: book.id })
    return [prev?.title ?? null, next?.title ?? null]
  }
  t.same(
    [await around(a), await around(b), await around(c)],
    [
      [null, 'B'],
      ['A', 'C'],
      ['B', null],
    ],
  )
  t.same(
    [await around(a, false), await around(b, false), await around(c, false)],
    [
      ['B', null],
      ['C', 'A'],
      [null, 'B'],
    ],
    'by date of release',
  )
  await shareSeries(database, { seriesId: b.series_id, caller: kept, mode: 'deny' })
  t.same(await around(a, true, kept), [null, 'C'])
  await t.rejects(around(b, true, kept), { code: 'not_found' })
  await t.rejects(around(d), { code: 'not_found' }, 'of another list')
  await database('books').where('id', b.id).update({ deleted_at: new Date() })
  t.same(await around(c), ['A', null])
  await t.rejects(findAdjacentInReadList(database, caller, { readListId: a.id, bookId: a.id }), { code: 'not_found' })
})
