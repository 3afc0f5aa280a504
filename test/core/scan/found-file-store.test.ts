import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { markDeleted } from '#core/scan/found-file-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { openLibraryFixture } from '#test/support/library-fixture.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('a book whose file was found elsewhere in the meantime is not marked as deleted', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const add = async (title: string) => ({
    id: await addBook(database, { library_id, series_id, title, path: `/shelf/${title}` }),
    path: `/shelf/${title}`,
  })
  const [gone, moved] = [await add('gone'), await add('moved')]
  await database('books').where({ id: moved.id }).update({ path: '/shelf/elsewhere' })
  t.equal(await markDeleted(database, [gone, moved]), 1)
  t.equal(await markDeleted(database, [gone, moved]), 0)
  const rows = await database('books').orderBy('title')
  t.match(rows, [{ deleted_at: Date }, { deleted_at: null }])
})

t.test('a file from before 1970 is a file like any other', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/old.cbz'] })
  // As a Date: of a negative number Node makes the present.
  const before = new Date('1969-12-31T00:00:00Z')
  utimesSync(join(fixture.root, 'a/old.cbz'), before, before)
  await fixture.scan()
  const [old] = await fixture.database('books').select('state', 'retry_due', fixture.database.raw('file_mtime_ns::text AS mtime'))
  t.same(old, { state: 'analyzed', retry_due: false, mtime: '-86400000000000' })
  fixture.analyzed.clear()
  fixture.put('a/other.cbz')
  await fixture.scan()
  t.same([...fixture.analyzed.keys()], ['a/other.cbz'], 'its neighbor alone is new')
})
