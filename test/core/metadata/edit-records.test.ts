import type { Knex } from 'knex'
import t from 'tap'
import { jsonChunks } from '#api/http/json-chunks.ts'
import type { Services } from '#api/http/services.ts'
import { listedBooks } from '#api/views/book-view.ts'
import { listBooks } from '#core/catalog/book-query.ts'
import { changeNames, lockMetadata, patchMetadata } from '#core/metadata/edit-metadata.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

const BOOKS = 90
const SUMMARY = 'A long story. '.repeat(2_800)
/** Maximum length of one statement with its values: a megabyte of rows, or one longer row. */
const SENT_MAX = 2_000_000

/** The statements during some work: the length of the longest with its values, and their number. */
async function watch(database: Knex, work: () => Promise<unknown>): Promise<{ longest: number; statements: string[] }> {
  const statements: string[] = []
  let longest = 0
  const note = ({ sql, bindings = [] }: { sql: string; bindings?: readonly unknown[] }) => {
    statements.push(sql)
    longest = Math.max(longest, JSON.stringify(bindings).length)
  }
  database.on('query', note)
  await work()
  database.off('query', note)
  return { longest, statements }
}

/** How often other work could run in the meantime. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await work()
  isDone = true
  return turns
}

/** The ids of books that statements with rows as JSON write, in their order. */
async function writtenDuring(database: Knex, work: () => Promise<unknown>): Promise<string[]> {
  const ids: string[] = []
  const note = ({ sql, bindings = [] }: { sql: string; bindings?: readonly unknown[] }) => {
    if (!sql.includes('INSERT INTO book_metadata')) return
    for (const { book_id } of JSON.parse(String(bindings[0])) as { book_id: string }[]) ids.push(book_id)
  }
  database.on('query', note)
  await work()
  database.off('query', note)
  return ids
}

t.test(
  'records are written in the order of their ids, so that no change of their series deadlocks; results have the given order',
  async (t) => {
    const { database } = await openTestDatabase(t)
    const caller = await addCaller(database)
    const library_id = await addLibrary(database)
    const series_id = await addSeries(database, { library_id, title: 'Long' })
    await database.raw(
      `INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, state, title)
     SELECT ?, ?, n, 'x', 'cbz', 1, 1, 'analyzed', 'Book ' || n FROM generate_series(1, ?::int) n`,
      [library_id, series_id, BOOKS],
    )
    const ascending: string[] = await database('books').orderBy('id').pluck('id')
    const bookIds = ascending.toReversed()
    const written = await writtenDuring(database, async () => {
      const done = await patchMetadata(database, caller, { kind: 'book', ids: bookIds, patch: { publisher: 'House' } })
      t.same(
        done.map(({ id }) => id),
        bookIds,
      )
    })
    t.same(written, ascending)
    t.same(
      await writtenDuring(database, () => lockMetadata(database, caller, { kind: 'book', ids: bookIds, locks: { summaryLock: true } })),
      ascending,
    )
  },
)

t.test('many records with large metadata', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Large' })
  await database.raw(
    `INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, state, title)
     SELECT ?, ?, n, 'x', 'cbz', 1, 1, 'analyzed', 'Book ' || n FROM generate_series(1, ?::int) n`,
    [library_id, series_id, BOOKS],
  )
  const bookIds: string[] = await database('books').pluck('id')

  await t.test('are changed with statements of limited length, all or none', async (t) => {
    const patch = { summary: SUMMARY, publisher: 'House' }
    const { longest } = await watch(database, () => patchMetadata(database, caller, { kind: 'book', ids: bookIds, patch }))
    t.ok(longest < SENT_MAX, `at most ${longest} characters at once of ${BOOKS * SUMMARY.length}`)
    t.equal(
      Number((await database('book_metadata').where({ summary: SUMMARY, publisher: 'House' }).count({ n: '*' }).first())?.['n']),
      BOOKS,
    )
    const missing = '00000000-0000-4000-8000-00000000dead'
    await t.rejects(patchMetadata(database, caller, { kind: 'book', ids: [...bookIds, missing], patch: { publisher: 'Other' } }), {
      code: 'not_found',
      message: new RegExp(missing),
    })
    t.equal(await database('book_metadata').where({ publisher: 'Other' }).first(), undefined)
  })

  await t.test('are locked without sending their metadata', async (t) => {
    const { statements } = await watch(database, () =>
      lockMetadata(database, caller, { kind: 'book', ids: bookIds, locks: { summaryLock: false, titleLock: true } }),
    )
    t.notOk(statements.some((sql) => /summary|custom_metadata/.test(sql)))
    const { locks } = await database('book_metadata').first('locks')
    t.same(locks, ['publisher', 'title'])
    const again = await watch(database, () => lockMetadata(database, caller, { kind: 'book', ids: bookIds, locks: { titleLock: true } }))
    t.notOk(
      again.statements.some((sql) => /UPDATE books/.test(sql)),
      'an existing lock is not written again',
    )

    const tags = { kind: 'series' as const, ids: [series_id], taxonomy: 'tag' as const, add: ['one', 'two'], remove: [] }
    const named = await watch(database, () => changeNames(database, caller, tags))
    t.notOk(named.statements.some((sql) => /custom_metadata/.test(sql)))
    t.same((await database('series_metadata').first('locks')).locks, ['tags'])
  })

  await t.test('long lists of books are read and sent in slices', async (t) => {
    const { items } = await listBooks(database, caller, { filter: {}, sort: null, offset: 0, limit: 500 })
    t.equal(items.length, BOOKS)
    const services = { database, settings: { compatibility: { legacyNames: false } } } as Services
    const chunks: Buffer[] = []
    let most = 0
    const note = (rows: unknown) => {
      if (Array.isArray((rows as { rows?: unknown[] })?.rows)) most = Math.max(most, (rows as { rows: unknown[] }).rows.length)
    }
    database.on('query-response', note)
    const turns = await turnsDuring(async () => {
      for await (const chunk of jsonChunks(listedBooks({ services, caller }, items, { full: true }))) chunks.push(chunk)
    })
    database.off('query-response', note)
    const full = JSON.parse(Buffer.concat(chunks).toString()) as { id: string; metadata: { summary: string } }[]
    t.same(
      full.map(({ id }) => id),
      items.map(({ id }) => id),
    )
    t.equal(full.at(-1)?.metadata.summary, SUMMARY)
    t.ok(most > 0 && most <= 20, `at most ${most} records at once`)
    t.ok(turns >= BOOKS / 20, `${turns} turns for other work`)
  })
})
