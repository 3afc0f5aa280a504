import t from 'tap'
import { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { Field, MetadataRecord } from '#core/fields/field.ts'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import { lockRecords, readRecords, storeRecords } from '#core/metadata/metadata-record-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

const bookFields: readonly Field[] = BOOK_FIELDS
const MISSING = '00000000-0000-4000-8000-000000000000'

t.test('stored records are loaded unchanged, for books and series and many at once', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const one = await addBook(database, { library_id, series_id, title: 'One', number: 1.5 })
  const two = await addBook(database, { library_id, series_id, title: 'Two' })

  const fresh = await readRecords(database, 'book', [two, MISSING, one])
  t.same([...fresh.keys()].sort(), [one, two].sort(), 'what does not exist is missing')
  t.same(fresh.get(one)?.values, { title: 'One', number: 1.5 }, 'exact decimals are numbers')
  t.same(fresh.get(one)?.sources, { title: 'file_name', number: 'file_name' }, 'the scan read it from the name')
  t.equal((await readRecords(database, 'book', [])).size, 0)

  const values = {
    title: `L'été "1"`,
    number: -1.25,
    authors: [{ name: '漫画', role: 'writer' }],
    subjects: ['a, b', '{c}', 'NULL', ''],
    customMetadata: { 'Odd Key': [null, { __proto: 1 }] },
    manga: false,
    seriesPosition: 0.1,
  }
  const record: MetadataRecord = { values, sources: { title: 'plugin', manga: 'user' }, locks: new Set(['title', 'cover']) }
  await database.transaction((trx) =>
    storeRecords(
      trx,
      'book',
      new Map([
        [one, record],
        [two, { values: {}, sources: {}, locks: new Set() }],
      ]),
    ),
  )
  const stored = await readRecords(database, 'book', [one, two])
  t.same(stored.get(one)?.values, values)
  t.match(stored.get(one)?.sources, { title: 'plugin', manga: 'user' })
  t.same([...(stored.get(one)?.locks ?? [])], ['cover', 'title'])
  t.same(stored.get(two)?.values, { title: 'Two' }, 'a record never loses its title')

  const series: MetadataRecord = {
    values: { title: 'Run', readingDirection: 'rtl', status: 'ended', totalChapterCount: 12.5, ageRating: 16 },
    sources: { status: 'embedded' },
    locks: new Set(['genres']),
  }
  await database.transaction((trx) => storeRecords(trx, 'series', new Map([[series_id, series]])))
  const [read] = (await readRecords(database, 'series', [series_id])).values()
  t.same(read?.values, series.values)
  t.same(read?.sources.status, 'embedded')
})

t.test('no concurrent change of the same record is lost', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const ids = await Promise.all(['One', 'Two'].map((title) => addBook(database, { library_id, series_id, title })))
  const change = async (patch: Record<string, unknown>, order: string[]) =>
    await database.transaction(async (trx) => {
      await lockRecords(trx, 'book', order)
      const stored = await readRecords(trx, 'book', order)
      // Long enough for the others to wait at the lock.
      await trx.raw('SELECT pg_sleep(0.05)')
      await storeRecords(trx, 'book', new Map([...stored].map(([id, record]) => [id, applyPatch(bookFields, record, patch, 'user').next])))
    })
  // The first of them finds no row of metadata, and neither order of ids may cause a deadlock.
  const patches = [{ publisher: 'DC' }, { summary: 'Long' }, { year: 1986 }, { writer: 'Ann' }, { inker: 'Bob' }]
  await Promise.all(patches.map((patch, index) => change(patch, index % 2 === 0 ? ids : [...ids].reverse())))
  for (const { values, locks } of (await readRecords(database, 'book', ids)).values()) {
    t.match(values, { publisher: 'DC', summary: 'Long', year: 1986 })
    t.same((values.authors as { name: string }[]).map(({ name }) => name).sort(), ['Ann', 'Bob'])
    t.same([...locks].sort(), ['inker', 'publisher', 'summary', 'writer', 'year'])
  }
})
