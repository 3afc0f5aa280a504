import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { listMoved } from '#core/analysis/relink-moved.ts'
import { type LibraryFixture, openLibraryFixture } from '#test/support/library-fixture.ts'

t.setTimeout(240_000)

const idsOf = async ({ books }: LibraryFixture) => Object.fromEntries([...(await books())].map(([path, { id }]) => [path, id]))

/**
 * As if the folder had had this name until now. A drive that ignores case finds a renamed file by its former name, and lists it by the new one; every drive does
 * so with a name such as "./s".
 */
async function pretendFormerName({ database, root }: LibraryFixture, folder: string, former: string): Promise<void> {
  await database.raw('UPDATE books SET path = replace(path, ?, ?)', [`${root}/${folder}/`, `${root}/${former}/`])
  await database('series').where('path', folder).update({ path: former })
  await database('scanned_folders').delete()
}

t.test('a folder that was renamed on a drive which finds it by its former name too keeps its books and its series', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['s/1.cbz', 's/2.cbz', 's/3.cbz', 't/1.cbz'] })
  await fixture.scan()
  const before = await idsOf(fixture)
  const series = async () => Object.fromEntries((await fixture.database('series').select('path', 'id')).map(({ path, id }) => [path, id]))
  const seriesBefore = await series()
  await pretendFormerName(fixture, 's', './s')
  await fixture.scan()
  t.same(await idsOf(fixture), before)
  t.same(await series(), seriesBefore)
  t.same(await fixture.database('books').whereNotNull('deleted_at'), [])
  await fixture.scan()
  t.same(await idsOf(fixture), before, 'a later scan changes nothing')
})

t.test('a second link to the file of a book is a book of its own, also if the names differ only in case', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['s/a.cbz', 's/b.cbz'] })
  const { root } = fixture
  await fixture.scan()
  const before = await idsOf(fixture)
  mkdirSync(join(root, 'u'))
  linkSync(join(root, 's/a.cbz'), join(root, 'u/a.cbz'))
  linkSync(join(root, 's/b.cbz'), join(root, 's/B.cbz'))
  await fixture.scan()
  const after = await idsOf(fixture)
  t.same(Object.keys(after).sort(), ['s/B.cbz', 's/a.cbz', 's/b.cbz', 'u/a.cbz'])
  t.match(after, before)
  await fixture.scan('deep')
  t.same(await idsOf(fixture), after, 'and stays one')
})

t.test('books of a folder of which only a NAS has left something, on another device, have not moved', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['s/1.cbz', 't/1.cbz'] })
  const { database, root, put, libraryId } = fixture
  await fixture.scan()
  const book = (await fixture.books()).get('s/1.cbz')
  const copy = {
    id: randomUUID(),
    library_id: randomUUID(),
    library_path: '/shelf',
    path: '/shelf/1.cbz',
    file_name: '1.cbz',
    sha256: book?.file_hash as string,
    pagesHash: null,
    content: null,
  }
  rmSync(join(root, 's'), { recursive: true })
  rmSync(join(root, 't'), { recursive: true })
  await database('libraries')
    .where('id', libraryId)
    .update({ devices: { '': 1 } })
  put('@eaDir/1.cbz')
  t.equal((await listMoved(database, [copy])).moved.get(copy.id), undefined)
  put('notes.txt')
  t.match((await listMoved(database, [copy])).moved.get(copy.id), [{ id: book?.id, place: 'gone' }])
})
