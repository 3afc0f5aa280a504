import t, { type Test } from 'tap'
import { recordEmbedded } from '#core/analysis/record-embedded.ts'
import type { Author } from '#core/fields/field.ts'
import { removeOrphans } from '#core/maintenance/orphans.ts'
import { applyChange } from '#core/metadata/apply-change.ts'
import { lockRecords } from '#core/metadata/metadata-record-store.ts'
import { loadStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { listPeople } from '#core/metadata/people-query.ts'
import { deleteUnusedPeople, storePeople } from '#core/metadata/people-store.ts'
import { threadCpuMs, watchTurns } from '#test/support/cpu-time.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { addBook, addCaller, addLibrary, addPeople, addSeries, listOrphanedPeople, shareSeries } from '#test/support/library-rows.ts'

const writer = (name: string): Author => ({ name, role: 'writer' })

async function openShelf(t: Test) {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'One' })
  const [first, second] = await Promise.all(['1', '2'].map((title) => addBook(database, { library_id, series_id, title })))
  const change = (kind: 'book' | 'series', id: string, authors: Author[] | null) =>
    database.transaction(async (trx) => {
      const before = (await loadStates(trx, kind, [id], [])).get(id)
      if (!before) throw new Error(`There is no ${kind} ${id}`)
      const { next } = applyChange(kind, before, { values: { authors } }, 'user')
      await storeStates(trx, kind, [{ before, next }])
      return { undo: () => database.transaction((back) => storeStates(back, kind, [{ before: next, next: before }])) }
    })
  const names = () => database('people').orderBy('name_key').pluck('name')
  return { database, library_id, series_id, first: first as string, second: second as string, change, names }
}

t.test('rows match the lists, and two spellings are one person', async (t) => {
  const { database, first, second, series_id, change, names } = await openShelf(t)
  await change('book', first, [writer('Alan  Moore'), { name: 'Dave Gibbons', role: 'penciller', sortName: 'Gibbons, Dave' }])
  await change('book', second, [{ name: 'ALAN MOORE', role: 'editor' }, writer('alan moore')])
  await change('series', series_id, [writer('Dave Gibbons')])
  t.same(await listOrphanedPeople(database), [])
  t.same(await names(), ['Alan Moore', 'Dave Gibbons'], 'in its first spelling')
  t.match((await database('book_metadata').where('book_id', second).first('authors')).authors, [{ name: 'ALAN MOORE' }, {}])

  const { undo } = await change('book', first, [writer('Lynn Varley')])
  t.same(await listOrphanedPeople(database), [])
  await undo()
  t.same(await listOrphanedPeople(database), [], 'undone')
  t.same(await names(), ['Alan Moore', 'Dave Gibbons', 'Lynn Varley'])
  t.equal(await deleteUnusedPeople(database), 1)
  t.same(await names(), ['Alan Moore', 'Dave Gibbons'])

  await change('book', first, null)
  await change('book', second, null)
  t.same(await listOrphanedPeople(database), [], 'reset')
  t.equal(await deleteUnusedPeople(database), 1)
  t.same(await names(), ['Dave Gibbons'], 'a person of a series stays')
  await database('series').delete()
  const run = { signal: AbortSignal.timeout(60_000), progress: () => {} }
  t.match(await removeOrphans({ database, dataFolder: t.testdir({}) }, run), { people: 1, failures: 0 }, 'the cleanup of orphans')
  t.same(await names(), [])
})

t.test('the people of a file', async (t) => {
  const { database, first } = await openShelf(t)
  const file = { bookId: first, fileName: '1.cbz', bookStrategy: 'metadata_first', numberStrategy: 'smart' }
  const read = (authors: Author[]) =>
    database.transaction((trx) => recordEmbedded(trx, [{ ...file, embedded: authors.length > 0 ? { book: { authors } } : {} }]))
  await read([writer('One'), writer('Two')])
  t.equal((await database('book_people')).length, 2)
  t.same(await listOrphanedPeople(database), [])
  await read([writer('Two')])
  t.same(await listOrphanedPeople(database), [], 'a changed file')
  await read([])
  t.same(await database('book_people'), [], 'a file that no longer names anybody')
})

t.test('names that are too long for an index, and more of them than one statement holds', async (t) => {
  const { database, first, change } = await openShelf(t)
  // Normalizing makes three characters of each, twelve bytes in all.
  const long = Array.from({ length: 500 }, (_, index) => String.fromCodePoint(0x1d15e + (index % 7))).join('')
  await change('book', first, [
    writer(long),
    writer(`${'İ'.repeat(499)}x`),
    ...Array.from({ length: 400 }, (_, index) => writer(`P ${index}`)),
  ])
  t.equal((await database('book_people')).length, 402)
})

t.test('the people of many records are written in turns of the event loop', onlyCost, async (t) => {
  const { database, library_id, series_id } = await openShelf(t)
  const name = 'Élan vital – ß 12, '.repeat(10)
  const changed: { id: string; authors: Author[] }[] = []
  for (let book = 0; book < 20; book++) {
    const id = await addBook(database, { library_id, series_id, title: `Many ${book}` })
    changed.push({ id, authors: Array.from({ length: 500 }, (_, index) => writer(`${index} ${name} ${book}`)) })
  }
  const turns = watchTurns()
  const before = threadCpuMs()
  await database.transaction((trx) => storePeople(trx, 'book', changed))
  const tookMs = threadCpuMs() - before
  turns.close()
  t.equal((await database('book_people').count().first())?.['count'], 10_000)
  t.ok(turns.longestMs() < tookMs / 3, `at most ${Math.round(turns.longestMs())} of ${Math.round(tookMs)} ms at a time`)
})

t.test('a person that is being added is not deleted, and one that is being deleted is added again', async (t) => {
  const { database, first, second } = await openShelf(t)
  await addPeople(database, { kind: 'book', id: first }, [writer('Ada')])
  await database('book_people').delete()
  const adding = await database.transaction()
  await storePeople(adding, 'book', [{ id: second, authors: [writer('Ada')] }])
  const deleting = deleteUnusedPeople(database)
  await adding.commit()
  t.equal(await deleting, 0, 'the deletion waited')
  t.same(await database('people').pluck('name'), ['Ada'])
  await Promise.all([
    ...Array.from({ length: 20 }, () => deleteUnusedPeople(database)),
    ...Array.from({ length: 20 }, (_, index) =>
      database.transaction(async (trx) => {
        const id = index % 2 ? first : second
        await lockRecords(trx, 'book', [id])
        await storePeople(trx, 'book', [{ id, authors: [writer(`P ${index % 3}`)] }])
      }),
    ),
  ])
  t.equal((await database('book_people')).length, 2, 'no person is lost')
})

t.test('the list of people leaves out hidden ones and names each once for a role', async (t) => {
  const { database, library_id, series_id, first, second } = await openShelf(t)
  const hidden = await addSeries(database, { library_id, title: 'Hidden' })
  const inside = await addBook(database, { library_id, series_id: hidden, title: 'Inside' })
  await addPeople(database, { kind: 'book', id: first }, [writer('Person 10'), { name: 'Person 9', role: 'cover_artist' }])
  await addPeople(database, { kind: 'book', id: second }, [writer('person 10'), { name: 'Person 9', role: 'inker' }])
  await addPeople(database, { kind: 'series', id: series_id }, [{ name: '100%', role: 'editor' }])
  await addPeople(database, { kind: 'book', id: inside }, [writer('Nobody')])
  const caller = await addCaller(database)
  await shareSeries(database, { seriesId: hidden, caller, mode: 'deny' })
  const list = async (more: Partial<Parameters<typeof listPeople>[2]> = {}) => {
    const { items, total } = await listPeople(database, caller, { renamed: { cover_artist: 'cover' }, offset: 0, limit: 10, ...more })
    return { items: items.map(({ name, role }) => `${name} ${role}`), total }
  }
  const all = ['100% editor', 'Person 9 cover', 'Person 9 inker', 'Person 10 writer']
  t.same(await list(), { items: all, total: 4 }, 'in natural order, without the hidden')
  t.same(await list({ offset: 1, limit: 2 }), { items: all.slice(1, 3), total: 4 })
  t.same(await list({ role: 'COVER' }), { items: ['Person 9 cover'], total: 1 })
  t.same(await list({ search: 'SON 1' }), { items: ['Person 10 writer'], total: 1 })
  t.same(await list({ search: '%' }), { items: ['100% editor'], total: 1 })
  const other = await addSeries(database, { library_id, title: 'Other' })
  const more = await addBook(database, { library_id, series_id: other, title: 'More' })
  await addPeople(database, { kind: 'book', id: more }, [{ name: 'Person 9', role: 'inker' }, writer('Person 10')])
  await addPeople(database, { kind: 'book', id: inside }, [{ name: 'Person 9', role: 'writer' }])
  const counts = async (role?: string) => {
    const { items } = await listPeople(database, caller, { search: 'person 9', role, renamed: {}, offset: 0, limit: 10 })
    return items.map((each) => `${each.role} ${each.seriesCount}`)
  }
  t.same(await counts(), ['cover_artist 2', 'inker 2'], 'a series counts once, whatever the roles in it, and a hidden one never')
  t.same(await counts('cover_artist'), ['cover_artist 1'], 'of one role')
  await database('books').where('id', more).delete()
  t.same(await list({ seriesId: hidden }), { items: [], total: 0 })
  t.same(await list({ libraryIds: [] }), { items: [], total: 0 })
  await database('books').where('id', first).update({ deleted_at: new Date() })
  t.same((await list()).items, ['100% editor', 'Person 9 inker', 'Person 10 writer'], 'without deleted books')
})
