import { randomUUID } from 'node:crypto'
import t from 'tap'
import { listMemberIds } from '#core/shelves/shelf-query.ts'
import { addShelf, editShelf } from '#core/shelves/shelf-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('a shelf and its members change together, or not at all', async (t) => {
  const { database } = await openTestDatabase(t)
  const mia = await addCaller(database, { role: 'maintainer' })
  const library_id = await addLibrary(database)
  const [one, two] = [await addSeries(database, { library_id, title: 'One' }), await addSeries(database, { library_id, title: 'Two' })]
  const { id } = await addShelf(database, mia, 'collection', { name: 'Shelf', memberIds: [one] })
  const edit = (name: string, memberIds?: string[]) =>
    editShelf(database, mia, 'collection', { id, edit: { name }, ...(memberIds && { memberIds }) })
  await t.rejects(edit('New name', [two, randomUUID()]), { code: 'not_found' })
  const now = async () => [
    (await database('collections').where({ id }).first()).name,
    (await listMemberIds(database, mia, 'collection', [id])).get(id),
  ]
  t.same(await now(), ['Shelf', [one]], 'the name has not changed either')
  t.match(await edit('New name', [two, one]), { name: 'New name', count: 2 })
  t.same(await now(), ['New name', [two, one]])
  await addShelf(database, mia, 'collection', { name: 'Taken', memberIds: [] })
  await t.rejects(edit('taken', [one]), { code: 'conflict' })
  t.same(await now(), ['New name', [two, one]])
  await edit('Third name')
  t.same(await now(), ['Third name', [two, one]])
})
