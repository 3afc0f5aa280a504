import { randomUUID } from 'node:crypto'
import t from 'tap'
import { addCover, removeCoverRow, selectCover } from '#core/covers/chosen-cover-store.ts'
import { deleteName } from '#core/metadata/taxonomy-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('a deleted genre or tag, and each change of a cover, is a change of the book or series', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series = await addSeries(database, { library_id, title: 'One' })
  const book = await addBook(database, { library_id, series_id: series, title: 'One 1' })
  const old = new Date('2020-01-01T00:00:00Z')
  const timesAfter = async (change: () => Promise<unknown>) => {
    for (const table of ['books', 'series']) await database(table).update({ updated_at: old })
    await change()
    const changed = async (table: string) => (await database(table).first('updated_at')).updated_at > old
    return { books: await changed('books'), series: await changed('series') }
  }
  for (const taxonomy of ['genre', 'tag'] as const) {
    const [{ id }] = await database(`${taxonomy}s`).insert({ name: 'A', name_key: 'a' }, 'id')
    await database(`series_${taxonomy}s`).insert({ series_id: series, [`${taxonomy}_id`]: id })
    await database(`book_${taxonomy}s`).insert({ book_id: book, [`${taxonomy}_id`]: id })
    t.same(await timesAfter(() => deleteName(database, taxonomy, id)), { books: true, series: true })
    t.equal(await deleteName(database, taxonomy, id), false)
  }
  for (const owner of [{ kind: 'series', id: series } as const, { kind: 'book', id: book } as const]) {
    const expected = { books: owner.kind === 'book', series: owner.kind === 'series' }
    const id = randomUUID()
    const cover = { id, source: 'custom', hash: 'h', width: 1, height: 1, color: null, given_by: 'user' as const }
    t.match(await timesAfter(() => addCover(database, owner, cover)), expected, 'added')
    t.match(await timesAfter(() => selectCover(database, owner, null)), expected, 'selection cleared')
    t.match(await timesAfter(() => removeCoverRow(database, owner, { coverId: id, by: 'user' })), expected, 'deleted')
  }
})
