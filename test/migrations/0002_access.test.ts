import t from 'tap'
import { keptBooks, keptSeries } from '#core/catalog/kept-total-query.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { computeSeriesNumbers } from '#core/catalog/series-numbers-store.ts'
import { migrate } from '#core/database/database.ts'
import { down, up } from '#migrations/0002_access.ts'
import { rateSeries } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

/** What sights hide: from which age on, whether they show what has no rating, and whether the tag is denied or alone allowed. */
const CASES = [
  [null, true, null],
  [18, true, null],
  [18, false, null],
  [7, true, null],
  [0, false, null],
  [null, true, 'deny'],
  [null, true, 'allow'],
] as const

t.test('users see what they saw before, and what age rules count is there for the catalog as it is', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  await migrate(database)
  const [caller, denied] = [await addCaller(database), await addCaller(database)]
  const library_id = await addLibrary(database)
  const ids: string[] = []
  for (const age of [null, 6, 18]) {
    const series_id = await addSeries(database, { library_id, title: `Of ${age}` })
    ids.push(series_id)
    for (const title of ['One', 'Two']) await addBook(database, { library_id, series_id, title })
    if (age !== null) await rateSeries(database, series_id, age)
  }
  await shareSeries(database, { seriesId: ids[0] as string, caller: denied, mode: 'deny' })
  const tagIds: string[] = await database('sharing_tags').pluck('id')
  await database('books').where({ series_id: ids[2], title: 'Two' }).update({ deleted_at: new Date() })
  await computeSeriesNumbers(database)
  await database.transaction(down)
  const embedded = { series: { fields: { ageRating: 13 } } }
  await database('book_metadata').insert({
    book_id: await database('books')
      .where({ series_id: ids[0] })
      .first('id')
      .then(({ id }) => id),
    embedded,
  })
  // Due when the migration runs, and counted by it as it was.
  const late = await addBook(database, { library_id, series_id: ids[1] as string, title: 'Three' })
  await database.transaction(up)

  t.equal((await readListState(database, caller)).sight, '')
  t.same(await database('access_rules').select(), [])
  t.same(await database('series').where('aggregate_due', true).pluck('id'), [ids[0]], 'its rating becomes the highest of its files')
  t.match((await readListState(database, denied)).sight, /deny/)
  const sees = { tags: { allow: [] as string[], deny: [] as string[] }, libraries: null }
  const totals = async () => {
    const rows: number[][] = []
    for (const [hiddenFrom, showsUnrated, mode] of CASES) {
      const tags = mode === null ? sees.tags : { ...sees.tags, [mode]: tagIds }
      const sight = { ...sees, tags, hiddenFrom, showsUnrated }
      const asked = [
        keptBooks(database, { sight, includeDeleted: false }),
        keptBooks(database, { sight, includeDeleted: true }),
        keptSeries(database, { sight }),
      ]
      const [row] = await database.select(database.raw('ARRAY[CAST(? AS int), CAST(? AS int), CAST(? AS int)] AS totals', asked))
      rows.push(row.totals)
    }
    return rows
  }
  const wanted = [
    [6, 7, 3],
    [5, 5, 2],
    [3, 3, 1],
    [5, 5, 2],
    [0, 0, 0],
    [4, 5, 2],
    [2, 2, 1],
  ]
  t.same(await totals(), wanted)
  await computeSeriesNumbers(database)
  t.same(await totals(), wanted, 'the same when they are computed')
  await database('books').where('id', late).delete()
  t.same((await totals())[2], [2, 2, 1])
})

t.test('the migration can be taken back: grants change all lists again, and nothing of it is left', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  await migrate(database)
  const schema = async () =>
    (
      await database.raw(`SELECT tgname AS name FROM pg_trigger WHERE NOT tgisinternal UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'carrel%'
        UNION ALL SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY name`)
    ).rows.map(({ name }: { name: string }) => name)
  const whole = await schema()
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  await addBook(database, { library_id, series_id, title: 'One' })
  await rateSeries(database, series_id, 6)
  await computeSeriesNumbers(database)
  await database.transaction(down)
  t.same(
    (await schema()).filter((name: string) => /access_|series_totals|age_due|series_moved|tags_due/.test(name)),
    [],
  )
  const catalog = async () => Number((await database('kept_number_changes').where('kind', 'catalog').sum('delta AS sum'))[0]?.['sum'] ?? 0)
  const before = await catalog()
  await shareSeries(database, { seriesId: series_id, caller, mode: 'deny' })
  t.equal(await catalog(), before + 3, 'a tag, that of a series, and a grant')
  await database.transaction(up)
  t.same(await schema(), whole)
})
