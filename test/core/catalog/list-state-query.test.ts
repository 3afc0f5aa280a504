import { readFileSync } from 'node:fs'
import t from 'tap'
import { readListState } from '#core/catalog/list-state-query.ts'
import { CATALOG_TABLES, USER_TABLES } from '#migrations/baseline/numbers.ts'
import { addTestKey, setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('every table that lists read has a version', async (t) => {
  const { database } = await openTestDatabase(t)
  const tables: string[] = (
    await database.raw(`SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`)
  ).rows.map(({ relname }: { relname: string }) => relname)
  const versioned = new Set<string>([...CATALOG_TABLES, ...USER_TABLES])
  t.same(
    [...versioned].filter((table) => !tables.includes(table)),
    [],
    'all of them exist',
  )
  const files = ['book-query', 'book-record-query', 'series-query', 'filter-query', 'filter-column-query', 'search-query'].map(
    (name) => `core/catalog/${name}.ts`,
  )
  const text = [...files, 'core/fields/reading-order.ts'].map((file) => readFileSync(file, 'utf8')).join('\n')
  // Names that are made of two parts count for both kinds.
  const written =
    text.replaceAll(/\$\{(owner|kind)\}_/g, 'book_').replaceAll(/\$\{kind\}s\b/g, 'tags') +
    text.replaceAll(/\$\{(owner|kind)\}_/g, 'series_')
  const read = tables.filter((table) => new RegExp(`(FROM|JOIN|database\\(')\\s*${table}\\b`, 'i').test(written))
  t.ok(read.length > 15, read.join())
  t.same(
    read.filter((table) => !versioned.has(table)),
    // Readings change with positions, which are versioned; that they are removed is noted in migrations/0005_reading.ts.
    ['readings'],
  )
})

t.test('a version changes with every table, once in a transaction, and with nothing else', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'A' })
  const book = await addBook(database, { library_id, series_id, title: 'B' })
  const versions = async () => {
    const { catalog, own, averages } = await readListState(database, caller)
    return { catalog: Number(catalog), own: Number(own), averages: Number(averages) }
  }
  const first = await versions()
  t.same(await versions(), first, 'reading changes nothing')
  await database.transaction(async (trx) => {
    for (let times = 0; times < 5; times++) await trx('books').where('id', book).update({ page_count: times })
  })
  t.same(await versions(), { ...first, catalog: first.catalog + 1 })
  await database('read_progress').insert({ user_id: caller.userId, book_id: book, current_page: 1 })
  t.same(await versions(), { ...first, catalog: first.catalog + 1, own: first.own + 1 })
  const before = await versions()
  const other = await addCaller(database)
  await database('series_user_ratings').insert({ user_id: other.userId, series_id, rating: 50 })
  t.same(await versions(), { ...before, averages: before.averages + 1 }, 'a rating of another user')
  for (const table of CATALOG_TABLES) {
    const before = await versions()
    await database.raw('UPDATE ?? SET ctid = ctid WHERE false', [table]).catch(() => database.raw('DELETE FROM ?? WHERE false', [table]))
    t.equal((await versions()).catalog, before.catalog + 1, table)
  }
})

t.test('a rule changes what is of its user, and neither the catalog nor what is of others', async (t) => {
  const { database } = await openTestDatabase(t)
  const [ruled, other] = [await addCaller(database), await addCaller(database)]
  const libraryId = await addLibrary(database)
  const keyId = await addTestKey(database, ruled.userId)
  const [tag] = await database('sharing_tags').insert({ name: 'kept away' }, 'id')
  const grant = { user_id: ruled.userId, sharing_tag_id: tag.id }
  const changes: [name: string, change: () => Promise<unknown>][] = [
    ['a list of libraries', () => setTestRule(database, { user_id: ruled.userId }, { libraries: [libraryId] })],
    ['an age rule', () => setTestRule(database, { user_id: ruled.userId }, { age: { mode: 'up_to', years: 12, unrated: 'hide' } })],
    ['another age', () => database('access_rules').update({ age_years: 13 })],
    ['no rule', () => setTestRule(database, { user_id: ruled.userId }, null)],
    ['a rule of a key', () => setTestRule(database, { api_key_id: keyId }, { libraries: [] })],
    ['a grant', () => database('user_sharing_grants').insert({ ...grant, access_mode: 'deny' })],
    ['another grant', () => database('user_sharing_grants').where(grant).update({ access_mode: 'allow' })],
    ['no grant', () => database('user_sharing_grants').where(grant).delete()],
  ]
  const first = await readListState(database, other)
  for (const [name, change] of changes) {
    const before = await readListState(database, ruled)
    await change()
    const after = await readListState(database, ruled)
    t.ok(Number(after.own) > Number(before.own), name)
    t.equal(after.catalog, before.catalog, name)
    t.equal(after.sight === before.sight, name === 'a rule of a key', `${name}: what the user sees without the key`)
    t.same(await readListState(database, other), first, `${name}: others stay as they are`)
  }
})
