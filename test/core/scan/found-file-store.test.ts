import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { countUnsorted } from '#core/scan/found-file-store.ts'
import { openLibraryFixture } from '#test/support/library-fixture.ts'

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

t.test('the books without a series are counted up to a maximum', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz', 'a/2.cbz', 'a/3.cbz'] })
  await fixture.scan()
  t.equal(await countUnsorted(fixture.database, fixture.libraryId), 0)
  await fixture.database('series').update({ path: '', name_key: 'unsorted' })
  t.equal(await countUnsorted(fixture.database, fixture.libraryId), 3)
  t.equal(await countUnsorted(fixture.database, fixture.libraryId, 1), 2, 'one more: there are more')
})
