import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { down, up } from '#migrations/0020_exact_values.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

/** Members in another order than jsonb keeps them, a number that no double holds, and spaces. */
const AS_SENT = '{"title": "b",  "aa":1, "b":12345678901234567890.10, "a":{"z":1.0,"y":[1e2]}}'

async function openOld(t: Test) {
  const { database } = await openTestDatabase(t)
  await down(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'One' })
  return { database, library_id, series_id }
}

const textsOf = async (database: Knex, table: string): Promise<string[]> =>
  (await database(table).select(database.raw('custom_metadata::text AS text')).orderBy('text')).map(({ text }) => text)
const numbersOf = (database: Knex) => database('books').select('title', 'number', 'chapter', 'volume').orderBy('title')

t.test('numbers of before stay what they were, and those that come keep all their digits', async (t) => {
  const { database, library_id, series_id } = await openOld(t)
  const add = (title: string, row: object) => addBook(database, { library_id, series_id, title, ...row })
  const [largest, int32] = ['99999999.9999', 2_147_483_647]
  await add('a tenth', { number: '0.1', chapter: '10.5000' })
  await add('below', { number: '-1.2345', chapter: '0' })
  await add('large', { number: largest, chapter: largest, volume: int32 })
  await add('none', {})
  await add('rounded', { number: 1, chapter: '10.12345' })

  await up(database)
  const before = [
    { title: 'a tenth', number: 0.1, chapter: 10.5, volume: null },
    { title: 'below', number: -1.2345, chapter: 0, volume: null },
    { title: 'large', number: Number(largest), chapter: Number(largest), volume: int32 },
    { title: 'none', number: null, chapter: null, volume: null },
    { title: 'rounded', number: 1, chapter: 10.1235, volume: null },
  ]
  t.same(await numbersOf(database), before)
  await add('with all its digits', { number: 1234567.123456789, chapter: 10.12345, volume: -2_147_483_648 })
  const exact = { title: 'with all its digits', number: 1234567.123456789, chapter: 10.12345, volume: -2_147_483_648 }
  t.same(await numbersOf(database), [...before, exact])
  const inOrder = await database('books').whereNotNull('number').orderBy('number').pluck('title')
  t.same(inOrder, ['below', 'a tenth', 'rounded', 'with all its digits', 'large'], 'by size, not by text')
})

t.test('metadata of one’s own stays as it was told before, and what comes stays byte for byte', async (t) => {
  const { database, library_id, series_id } = await openOld(t)
  const book_id = await addBook(database, { library_id, series_id, title: 'Old' })
  const newer = await addBook(database, { library_id, series_id, title: 'New' })
  const none = await addBook(database, { library_id, series_id, title: 'None' })
  const tables = ['book_metadata', 'series_metadata']
  await database('book_metadata').insert([
    { book_id, custom_metadata: AS_SENT },
    { book_id: none, custom_metadata: null },
  ])
  await database('series_metadata').insert({ series_id, custom_metadata: AS_SENT })
  const told = await Promise.all(tables.map((table) => textsOf(database, table)))
  t.not(told[1]?.[0], AS_SENT, 'what was sent is not there any more')
  t.match(told[1]?.[0], /^\{"a": .*12345678901234567890\.10.*\}$/)

  await up(database)
  t.same(await Promise.all(tables.map((table) => textsOf(database, table))), told)
  await database('book_metadata').insert({ book_id: newer, custom_metadata: AS_SENT })
  t.ok((await textsOf(database, 'book_metadata')).includes(AS_SENT))
  await database('series_metadata').where({ series_id }).update({ custom_metadata: AS_SENT })
  t.same(await textsOf(database, 'series_metadata'), [AS_SENT])
})

t.test('exports of before have told where files lie, those that come do not unless they say so', async (t) => {
  const { database } = await openOld(t)
  const { userId: user_id } = await addCaller(database)
  const row = { user_id, format: 'json', export_type: 'both', library_ids: [], fields: [], book_fields: [], expires_at: new Date() }
  const [before] = await database('series_exports').insert(row, 'id')
  await up(database)
  await database('series_exports').insert(row)
  const known = await database('series_exports').select('id', 'whole_paths').orderBy('created_at')
  t.same(known[0], { id: before.id, whole_paths: true })
  t.match(known, [{}, { whole_paths: false }])
})
