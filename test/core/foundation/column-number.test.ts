import { lstatSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Analysis } from '#core/fields/analysis.ts'
import { fieldsOf, type Kind } from '#core/fields/record-kind.ts'
import { fileTime, fitNumber } from '#core/foundation/column-number.ts'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { openLibraryFixture } from '#test/support/library-fixture.ts'

t.setTimeout(60_000)

/** The columns of numbers that files, their names or their entries decide. */
const FROM_FILES: Record<string, readonly string[]> = {
  books: ['file_size', 'file_mtime_ns', 'page_count', 'number', 'volume', 'chapter', 'reading_number'],
  book_metadata: ['count', 'day', 'month', 'original_year', 'series_position', 'series_total', 'year'],
  series_metadata: ['age_rating', 'total_chapter_count', 'total_volume_count', 'year'],
  series_numbers: ['max_volume', 'max_chapter'],
}
/** Those of these tables that the server counts or computes itself. */
const COUNTED: Record<string, readonly string[]> = {
  books: ['cover_width', 'cover_height', 'cover_page', 'position', 'hashed_size'],
  series_numbers: ['age_rating', 'book_count', 'deleted_count', 'volumes_owned', 'community_rating', 'external_rating'],
}
const EXTREMES = [2 ** 63, -(2 ** 63), 1e300, -1e300, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 2.5e9, 70_000.5, -1.5]

t.test('every column of numbers in the tables that files fill is known here', async (t) => {
  const { database } = await openTestDatabase(t)
  const rows = await database('information_schema.columns')
    .where({ table_schema: 'public' })
    .whereIn('data_type', ['smallint', 'integer', 'bigint', 'numeric', 'double precision', 'real'])
    .whereIn('table_name', Object.keys(FROM_FILES))
    .select('table_name', 'column_name')
  const found = rows.map((row) => `${row.table_name}.${row.column_name}`).sort()
  const known = [FROM_FILES, COUNTED].flatMap((list) =>
    Object.entries(list).flatMap(([table, columns]) => columns.map((column) => `${table}.${column}`)),
  )
  t.same(found, known.sort(), 'a new column belongs to one of the lists')
})

t.test('a file that claims any number is analyzed, together with others', async (t) => {
  const valuesOf = (kind: Kind, value: number) =>
    Object.fromEntries(
      fieldsOf(kind)
        .filter(({ schema }) => ['integer', 'number'].includes((schema as { type?: string }).type ?? ''))
        .map(({ name }) => [name, value]),
    )
  const claims = new Map(EXTREMES.map((value, index) => [`Series/book-${'abcdefghij'[index]}.cbz`, value]))
  const fixture: Awaited<ReturnType<typeof openLibraryFixture>> = await openLibraryFixture(t, {
    files: [...claims.keys()],
    analyze: async ({ path }): Promise<Analysis> => {
      const value = claims.get(path.slice(fixture.root.length + 1)) as number
      const fields = valuesOf('series', value)
      return fakeAnalysis({
        file: factsOfFile(path),
        pageCount: value,
        embedded: { book: valuesOf('book', value), series: { fields } },
      })
    },
  })
  await fixture.scan()
  const books = await fixture.books()
  for (const [name, value] of claims) {
    const book = books.get(name)
    t.equal(book?.state, 'analyzed', `${value}`)
    t.equal(book?.page_count, Math.max(0, fitNumber(value)), `${value}`)
  }
  t.same(await fixture.database('book_errors').pluck('message'), [])
})

t.test('a file from a later year than the column of times holds', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['Series/a.cbz', 'Series/b.cbz'] })
  const path = join(fixture.root, 'Series/a.cbz')
  utimesSync(path, 10_000_000_000, 10_000_000_000)
  const stats = lstatSync(path, { bigint: true })
  if (stats.mtimeNs === fileTime(stats)) t.comment('The file system of this machine has no later years: only the number is tested.')
  await fixture.scan()
  await fixture.scan()
  t.same(
    [...(await fixture.books()).values()].map(({ state }) => state),
    ['analyzed', 'analyzed'],
  )
  t.same([...fixture.analyzed.values()], [1, 1], 'the second scan finds it unchanged')
  t.equal(fileTime({ mtimeNs: 10n ** 19n }), 2n ** 63n - 1n)
  t.equal(fileTime({ mtimeNs: -(10n ** 19n) }), -(2n ** 63n))
  t.equal(fileTime({ mtimeNs: 5n }), 5n)
})
