import t from 'tap'
import { getBook, listBooks } from '#core/catalog/book-query.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { getSeries, listSeries } from '#core/catalog/series-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

/** PostgreSQL plans a statement this often before it decides whether to do so each time. */
const CUSTOM_PLANS = 5

t.test('statements that every list and record sends are planned once for each connection', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id, title: 'A' })
  const bookId = await addBook(database, { library_id, series_id: seriesId, title: 'B' })
  const page = { filter: {}, sort: null, offset: 0, limit: 50 }
  // One connection.
  const plans = await database.transaction(async (trx): Promise<{ statement: string; generic_plans: string | number }[]> => {
    for (let n = 0; n < CUSTOM_PLANS + 2; n++) {
      const state = await readListState(trx, caller)
      await listBooks(trx, caller, { ...page, state })
      await listSeries(trx, caller, { ...page, state })
      await getBook(trx, caller, bookId)
      await getSeries(trx, caller, seriesId)
    }
    return await trx('pg_prepared_statements').where('custom_plans', '>=', CUSTOM_PLANS).select('statement', 'generic_plans')
  })
  t.ok(plans.length >= 5, `${plans.length} statements`)
  for (const { statement, generic_plans } of plans) t.ok(Number(generic_plans) > 0, statement.slice(0, 60))
})
