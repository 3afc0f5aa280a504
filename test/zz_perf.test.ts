import t from 'tap'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { listBooks, readBookSort, findAdjacentBooks } from '#core/book/book-query.ts'
import { listSeries, readSeriesSort } from '#core/series/series-query.ts'
t.setTimeout(300000)
const { database } = await openTestDatabase(t)
const caller = await addCaller(database)
const lib = await addLibrary(database)
await database.raw(`INSERT INTO series (library_id, path, title) SELECT ?, 'p'||i, 'Series '||i FROM generate_series(1,2000) i`, [lib])
await database.raw(`INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, file_hash, state, page_count, title, number)
 SELECT s.library_id, s.id, '/x/'||s.path||'/'||i, s.title||' v'||i||'.cbz','cbz', (random()*1e8)::bigint, 1, md5(s.path||i), 'analyzed', (random()*200)::int, s.title||' v'||i, i FROM series s, generate_series(1,50) i`)
await database.raw('VACUUM ANALYZE')
const time = async (name: string, f: () => Promise<unknown>) => { await f(); const ts=[]; for (let i=0;i<7;i++){const a=performance.now(); await f(); ts.push(performance.now()-a)}; ts.sort((a,b)=>a-b); console.log(name.padEnd(40), ts[3]!.toFixed(1),'ms') }
if (process.env.EXPLAIN) {
  const q: string[] = []
  database.on('query', (x: any) => q.push(x.sql.replace(/\$(\d+)/g, (_: string, n: string) => typeof x.bindings[+n-1] === "number" ? String(x.bindings[+n-1]) : `'${x.bindings[+n-1]}'`)))
  for (const s of ['title','series']) { q.length=0; await listBooks(database, caller, { filter: {}, sort: readBookSort(s), offset: 0, limit: 50 }); const qs=[...q]
   for (const x of qs) console.log(x, '\n', (await database.raw('EXPLAIN ANALYZE '+x)).rows.map((r:any)=>r['QUERY PLAN']).join('\n')) }
}
for (const s of ['title','series','created_at','number','file_size','filename','page_count']) for (const d of ['asc','desc'])
  await time(`list50 ${s},${d}`, () => listBooks(database, caller, { filter: {}, sort: readBookSort(`${s},${d}`), offset: 0, limit: 50 }))
await time('title offset 20000', () => listBooks(database, caller, { filter: {}, sort: readBookSort('title'), offset: 20000, limit: 50 }))
await time('library filter', () => listBooks(database, caller, { filter: {libraryId: lib}, sort: readBookSort('title'), offset: 0, limit: 50 }))
await time('count alone', () => database('books').whereNull('deleted_at').count())
for (const s of ['name','date_added','date_updated','book_count']) 
  await time(`series50 ${s}`, () => listSeries(database, caller, { filter: {}, sort: readSeriesSort(`${s},asc`), offset: 0, limit: 50 }))
const b = await database('books').first('id')
await time('adjacent', () => findAdjacentBooks(database, caller, b.id))
t.pass('x')
