import t from 'tap'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary } from '#test/support/library-rows.ts'
import { countRecords, listRecords, readExport } from '#core/export/export-query.ts'
import { BOOK_EXPORT_FIELDS, SERIES_EXPORT_FIELDS } from '#core/export/export-field.ts'
t.setTimeout(200_000)
t.test('x', async (t) => {
  const { database } = await openTestDatabase(t)
  const libraryId = await addLibrary(database)
  const caller = await addCaller(database)
  let at = Date.now()
  const lap = (what: string) => { console.log(what, Date.now() - at); at = Date.now() }
  await database.raw('ALTER TABLE series DISABLE TRIGGER USER'); await database.raw('ALTER TABLE books DISABLE TRIGGER USER')
  const count = Number(process.env.COUNT ?? 5000)
  await database.raw(
    `WITH s AS (INSERT INTO series (library_id, path, title) SELECT ?, 'p' || n, 'Title ' || n FROM generate_series(1, ?::int) n RETURNING id, library_id, path)
     INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, title)
     SELECT library_id, id, path || '/' || n, '1', 'cbz', 1, 1, 'Book' FROM s, generate_series(1, ?::int) n`, [libraryId, count, Number(process.env.EACH ?? 1)])
  lap('insert')
  if (process.env.ANALYZE) { await database.raw('ANALYZE'); lap('analyze') }
  const view = { userId: caller.userId, libraryIds: [libraryId] }
  const fields = Object.keys(SERIES_EXPORT_FIELDS) as never
  const bookFields = Object.keys(BOOK_EXPORT_FIELDS) as never
  if (process.env.EXPLAIN) {
    const { visibleTo } = await import('#core/account/visibility.ts')
    const q = database('series').whereRaw('series.library_id = ANY(CAST(? AS uuid[]))', [[libraryId]]).modify(visibleTo(caller, 'series.id'))
     .whereRaw('EXISTS (SELECT 1 FROM books WHERE books.library_id = series.library_id AND books.series_id = series.id AND books.deleted_at IS NULL)')
     .select('series.id').orderByRaw('coalesce(series.title_sort, series.title) COLLATE carrel_natural, series.id').limit(100)
    const { rows } = await database.raw('EXPLAIN ?', [q])
    console.log(rows.map((r: any) => r['QUERY PLAN']).join('\n'))
  }
  const seen: string[] = []
  database.on('query', (q) => seen.push(q.sql))
  await readExport(database, async (snapshot) => {
    lap('total ' + await countRecords(snapshot, view, 'both'))
    let n = 0, pages = 0
    for await (const page of listRecords(snapshot, view, { type: (process.env.TYPE ?? 'series') as never, fields, bookFields })) {
      n += page.length
      if (++pages <= 3 || pages % 50 === 0) lap(`page ${pages} ${n}`)
      if (pages >= Number(process.env.PAGES ?? 100000)) break
    }
    lap('end ' + n + ' rss ' + Math.round(process.memoryUsage().rss / 1e6))
  })
})
