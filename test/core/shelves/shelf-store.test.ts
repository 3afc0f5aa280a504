import { randomUUID } from 'node:crypto'
import t from 'tap'
import { findShelf, isShownShelfName, listMemberIds, listShelves } from '#core/shelves/shelf-query.ts'
import { addShelf, editMembers, editShelf, removeShelf } from '#core/shelves/shelf-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { receiveEvents } from '#test/support/received-events.ts'

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

t.test('who does not see a member learns nothing when it comes and goes', async (t) => {
  const { database } = await openTestDatabase(t)
  const [mia, ada] = [await addCaller(database, { role: 'maintainer' }), await addCaller(database)]
  const library_id = await addLibrary(database)
  const [one, two] = [await addSeries(database, { library_id, title: 'One' }), await addSeries(database, { library_id, title: 'Two' })]
  const hidden = await addSeries(database, { library_id, title: 'Hidden' })
  await shareSeries(database, { seriesId: hidden, caller: ada, mode: 'deny' })
  const bookIds = new Map<string, string>()
  for (const series_id of [one, two, hidden]) bookIds.set(series_id, await addBook(database, { library_id, series_id, title: 'Book' }))
  const [seen, all] = await receiveEvents(t, database, [ada, mia])
  if (!seen || !all) throw new Error('Two follow.')
  for (const kind of ['collection', 'read_list'] as const) {
    const member = (seriesId: string) => (kind === 'collection' ? seriesId : (bookIds.get(seriesId) as string))
    const { id } = await addShelf(database, mia, kind, { name: 'Shelf', memberIds: [member(one)] })
    const shown = async () => [await findShelf(database, ada, kind, id), await listShelves(database, ada, kind, { offset: 0, limit: 9 })]
    const before = await shown()
    const change = (how: 'append' | 'remove', seriesId: string) =>
      editMembers(database, mia, kind, { id, how, memberIds: [member(seriesId)] })
    await change('append', hidden)
    t.same(await shown(), before, 'also when it was changed')
    await change('remove', hidden)
    // As apps do, which send all that they know along.
    await editShelf(database, mia, kind, { id, edit: { name: 'Shelf' }, memberIds: [member(one), member(hidden)] })
    t.same(await shown(), before)
    await change('append', two)
    await editShelf(database, mia, kind, { id, edit: { name: 'New name' }, memberIds: [member(one), member(two)] })
    await until(() => all.length === 6)
    t.same(
      seen.splice(0).map(({ type }) => type),
      [`${kind}_created`, `${kind}_updated`, `${kind}_updated`],
      'what ada sees has changed twice',
    )
    all.length = 0
  }
})

t.test('who does not see every series sees no empty shelf, and does not learn that hidden members come to one or leave it', async (t) => {
  const { database } = await openTestDatabase(t)
  const [mia, ada] = [await addCaller(database, { role: 'maintainer' }), await addCaller(database, { role: 'maintainer' })]
  const library_id = await addLibrary(database)
  const hidden = await addSeries(database, { library_id, title: 'Hidden' })
  await shareSeries(database, { seriesId: hidden, caller: ada, mode: 'deny' })
  const bookId = await addBook(database, { library_id, series_id: hidden, title: 'Book' })
  const [seen, all] = await receiveEvents(t, database, [ada, mia])
  if (!seen || !all) throw new Error('Two follow.')
  for (const kind of ['collection', 'read_list'] as const) {
    const memberIds = [kind === 'collection' ? hidden : bookId]
    await t.rejects(addShelf(database, ada, kind, { name: 'Mine', memberIds: [] }), { code: 'forbidden', message: /name at least one/ })
    const { id } = await addShelf(database, mia, kind, { name: 'Shelf', memberIds: [] })
    const shown = async () => [
      await findShelf(database, ada, kind, id),
      (await listShelves(database, ada, kind, { offset: 0, limit: 9 })).total,
      await isShownShelfName(database, ada, kind, 'SHELF'),
    ]
    t.same(await shown(), [null, 0, false], 'empty')
    t.match(await findShelf(database, mia, kind, id), { count: 0 })
    t.equal(await isShownShelfName(database, mia, kind, 'SHELF'), true)
    await editMembers(database, mia, kind, { id, how: 'append', memberIds })
    t.same(await shown(), [null, 0, false], 'with a hidden member')
    await editMembers(database, mia, kind, { id, how: 'remove', memberIds })
    t.same(await shown(), [null, 0, false], 'without it')
    await removeShelf(database, mia, kind, id)
    await until(() => all.length === 4)
    t.same(seen, [])
    all.length = 0
  }
})
