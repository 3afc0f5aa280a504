import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { queueAnalyses } from '#core/analysis/analyze-book.ts'
import type { Analyze } from '#core/fields/analysis.ts'
import { countTasks } from '#core/tasks/task-query.ts'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'

t.setTimeout(240_000)

const BOOKS = 40
const nameOf = (index: number) => `Series ${index % 4}/${String(index).padStart(2, '0')}.cbz`
const files = Array.from({ length: BOOKS }, (_, index) => nameOf(index))
const analyzeFile: Analyze = async ({ path }) =>
  fakeAnalysis({ file: factsOfFile(path), pageCount: 3, embedded: { book: { publisher: 'House', summary: path } } })

const stateOf = async (fixture: LibraryFixture, path: string) => (await fixture.books()).get(path)?.state
const countAnalyzed = async (fixture: LibraryFixture) =>
  [...(await fixture.books()).values()].filter(({ state }) => state === 'analyzed').length
const publishers = async ({ database }: LibraryFixture) => new Set(await database('series_metadata').pluck('publisher'))

/** The number of transactions that wrote the rows of these books last. */
async function countWrites({ database }: LibraryFixture): Promise<number> {
  const { rows } = await database.raw('SELECT count(DISTINCT xmin::text)::int AS count FROM books')
  return rows[0].count
}

t.test('books that are analyzed at about the same time are written together, with their metadata', async (t) => {
  const fixture = await openLibraryFixture(t, { files, analyze: analyzeFile })
  await fixture.scan()
  t.equal(await countAnalyzed(fixture), BOOKS)
  let writes = await countWrites(fixture)
  // While one of the transactions stands still on a busy machine, it keeps the series of the others, which are written alone in the end.
  for (let tries = 0; writes >= BOOKS / 2 && tries < 3; tries++) {
    await fixture.scan('deep')
    writes = await countWrites(fixture)
  }
  t.ok(writes < BOOKS / 2, `${writes} transactions`)
  const rows = await fixture.database('book_metadata').join('books', 'books.id', 'book_id').select('path', 'publisher', 'summary')
  t.same(
    rows.filter(({ path, publisher, summary }) => publisher === 'House' && summary === path),
    rows,
    'each has what its own file contains',
  )
  t.equal(rows.length, BOOKS)
  t.same(await publishers(fixture), new Set(['House']))
  t.same(await fixture.database('series').where('aggregate_due', true), [])
})

t.test('a book that the database refuses does not fail the others', async (t) => {
  const fixture = await openLibraryFixture(t, { files, analyze: analyzeFile })
  await fixture.database.raw(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF EXISTS (SELECT 1 FROM books WHERE id = NEW.book_id AND path LIKE '%/07.cbz') THEN RAISE EXCEPTION 'not this one'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON book_pages FOR EACH ROW EXECUTE FUNCTION refuse()`)
  await fixture.scans.start(fixture.libraryId)
  const failing = async () => await fixture.database('tasks').where({ type: 'analyze_book', status: 'pending' }).whereNotNull('last_error')
  await until(async () => (await failing()).length === 1 && (await countAnalyzed(fixture)) === BOOKS - 1)
  t.equal(await stateOf(fixture, nameOf(7)), 'pending')
  // Books are analyzed a moment before their tasks are complete.
  const counted = await until(async () => {
    const found = await countTasks(fixture.database)
    return found.byType.analyze_book?.processing === 0 && found
  })
  t.match(counted, { byType: { analyze_book: { completed: BOOKS - 1, pending: 1 } } })
  await fixture.database.raw('DROP TRIGGER refuse ON book_pages')
  await until(async () => (await stateOf(fixture, nameOf(7))) === 'analyzed')
  await until(async () => (await fixture.database('series').where('aggregate_due', true)).length === 0)
  t.same(await publishers(fixture), new Set(['House']))
})

t.test('books whose rows an edit holds wait for it, and no others', async (t) => {
  const gate = Promise.withResolvers<void>()
  const held = ['Held/1.cbz', 'Held/2.cbz', 'Other/3.cbz']
  const fixture = await openLibraryFixture(t, {
    files: [...files, ...held],
    analyze: async (request) => {
      await gate.promise
      return await analyzeFile(request)
    },
  })
  const all = BOOKS + held.length
  await fixture.scans.start(fixture.libraryId)
  await until(async () => (await fixture.books()).size === all)
  const edit = await fixture.database.transaction()
  await edit.raw(`SELECT 1 FROM series WHERE path = 'Held' FOR NO KEY UPDATE`)
  await edit.raw(`SELECT 1 FROM books WHERE path LIKE '%/3.cbz' FOR NO KEY UPDATE`)
  gate.resolve()
  await until(async () => (await countAnalyzed(fixture)) === all - held.length)
  for (const path of held) t.equal(await stateOf(fixture, path), 'pending')
  // The edit goes on to books of its series, while their analyses wait for it.
  await edit.raw(`UPDATE books SET updated_at = now() WHERE path LIKE '%Held/%'`)
  await edit.commit()
  await until(async () => (await countAnalyzed(fixture)) === all)
  await until(async () => (await countTasks(fixture.database)).byType.analyze_book?.completed === all)
})

t.test('two analyses of one book at the same time, and files that change while they are read', async (t) => {
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files,
    analyze: async (request) => {
      const analysis = {
        ...(await analyzeFile(request)),
        pageCount: fixture.analyzed.get(request.path.slice(fixture.root.length + 1)) ?? 0,
      }
      if (!/[05]\.cbz$/.test(request.path) || analysis.pageCount > 1) return analysis
      appendFileSync(request.path, 'longer')
      // As the thread that reads the file reports it.
      return { ...analysis, problems: [{ type: 'other', message: 'The file changed.', fatal: true }] }
    },
  })
  await fixture.scan()
  for (const path of files) {
    const isChanged = /[05]\.cbz$/.test(path)
    const { file_hash, page_count } = (await fixture.books()).get(path) ?? {}
    t.equal(file_hash, factsOfFile(join(fixture.root, path)).sha256)
    t.equal(page_count, isChanged ? 2 : 1, path)
  }
  const ids = [...(await fixture.books()).values()].map(({ id }) => id)
  await Promise.all([
    queueAnalyses(fixture.tasks, fixture.libraryId, ids, { deep: true }),
    queueAnalyses(fixture.tasks, fixture.libraryId, ids, { deep: false, force: true }),
  ])
  await until(async () => (await countTasks(fixture.database)).byType.analyze_book?.completed === BOOKS * 3)
  t.match(await countTasks(fixture.database), { failed: 0 })
  t.ok([...fixture.analyzed.values()].every((times) => times >= 3))
})
