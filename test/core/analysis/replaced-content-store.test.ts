import { utimesSync } from 'node:fs'
import t from 'tap'
import { saveProgress } from '#core/reading/progress-store.ts'
import { openLibraryFixture } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { comicOfPages } from '#test/support/paged-comics.ts'

t.setTimeout(300_000)

t.test('a position in the content that a book had meanwhile is cut when its former content turns up', async (t) => {
  const fixture = await openLibraryFixture(t)
  const { database } = fixture
  // Files of one size that are written in one tick of the clock of the disk look the same to a scan.
  let seconds = 1_700_000_000
  const put = (path: string, content: string) => {
    seconds += 1
    utimesSync(fixture.put(path, comicOfPages(content, { isPadded: true })), seconds, seconds)
  }
  put('s/1.cbz', 'short')
  put('s/2.cbz', 'other')
  await fixture.scan()
  const book = (await fixture.books()).get('s/1.cbz')
  const { userId } = await addCaller(database)
  put('s/1.cbz', 'long:9')
  await fixture.scan()
  const position = { currentPage: 8, percentage: 8 / 9, completed: false }
  await saveProgress(database, { userId, bookId: book?.id as string, position, pageCount: 9 })
  put('t/old.cbz', 'short')
  await fixture.scan()
  t.equal((await fixture.books()).get('t/old.cbz')?.id, book?.id)
  t.match(await database('read_progress').first(), { book_id: book?.id, current_page: 3, completed: false })
})
