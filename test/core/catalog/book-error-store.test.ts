import t from 'tap'
import { recordPageProblem } from '#core/catalog/book-error-store.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { addComic, openReading, readPage } from '#test/support/page-reading.ts'
import { damageQuietly } from '#test/support/paged-books.ts'

const signal = new AbortController().signal

t.test('a damaged page changes the catalog once, however often it is requested', async (t) => {
  const reading = await openReading(t)
  const { reader, caller, database } = reading
  const comic = await addComic(reading)
  // One byte in noise: whatever it was, it has changed now.
  await damageQuietly(database, comic, (bytes) => Buffer.from(bytes).fill(255 - (bytes[5000] as number), 5000, 5001), comic.bytes)
  const version = async () => Number((await readListState(database, caller)).catalog)
  const first = await version()
  for (let times = 0; times < 3; times++) {
    await t.rejects(readPage(reader, { caller, bookId: comic.id, pageNumber: 1, signal }), { code: 'page_unreadable' })
    t.equal(await version(), first + 1, `after ${times + 1} requests`)
  }
})

t.test('of several problems of one type the first is recorded, and another type is recorded beside it', async (t) => {
  const reading = await openReading(t)
  const { database } = reading
  const { id } = await addComic(reading)
  for (const [type, message] of [
    ['page_extraction', 'first'],
    ['page_extraction', 'second'],
    ['thumbnail', 'third'],
  ] as const)
    await recordPageProblem(database, id, { type, message, fatal: true })
  t.same(await database('book_errors').where('book_id', id).orderBy('message').select('error_type', 'message', 'fatal'), [
    { error_type: 'page_extraction', message: 'first', fatal: false },
    { error_type: 'thumbnail', message: 'third', fatal: false },
  ])
})
