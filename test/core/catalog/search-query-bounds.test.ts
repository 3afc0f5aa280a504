import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { listBooks } from '#core/catalog/book-query.ts'
import { readSearch } from '#core/catalog/search-query.ts'
import { quickestMs } from '#test/support/cpu-time.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

/** What once took seconds to minutes ends in less, even on a busy machine. */
const SOON_MS = 8_000

async function soon(t: Test, what: string, run: () => PromiseLike<unknown>): Promise<void> {
  const took = await quickestMs(SOON_MS, run)
  t.ok(took < SOON_MS, `${what}: ${took.toFixed(0)} ms`)
}

t.test('runs of combining marks block neither documents nor searches, however they were written to a row', onlyCost, async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Zalgo' })
  const book_id = await addBook(database, { library_id, series_id, title: 'He comes' })
  await database('book_metadata').insert({ book_id, summary: '' })
  const change = (row: Record<string, unknown>) => database('book_metadata').where({ book_id }).update(row)
  for (const length of [40_000, 400_000]) {
    const marks = '\u0315\u0300'.repeat(length / 2)
    await soon(t, `a summary of ${length} marks`, () => change({ summary: `before a${marks} after` }))
    await soon(t, `people of ${length} marks`, () => change({ authors: JSON.stringify([{ name: marks, role: 'writer' }]) }))
    await soon(t, `a search of ${length} marks`, () => database.raw('SELECT carrel_search_query(CAST(? AS text))', [`before ${marks}`]))
  }
  t.same(await find(database, caller, 'after'), ['He comes'], 'text after the marks is found')
  t.same(await find(database, caller, 'zalgo'), ['He comes'])
})

t.test('indexing a text without spaces takes linear time', onlyCost, async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Long' })
  const book_id = await addBook(database, { library_id, series_id, title: 'No spaces' })
  await database('book_metadata').insert({ book_id, summary: '' })
  for (const text of ['각', '漢字仮名', 'が', '々', 'a漢'])
    await soon(t, `40,000 characters of ${text}`, () =>
      database('book_metadata')
        .where({ book_id })
        .update({ summary: `${text.repeat(40_000 / text.length)}終わり` }),
    )
  t.same(await find(database, caller, '終わり'), ['No spaces'])
})

t.test('a text without spaces becomes single characters and pairs of them', async (t) => {
  const { database } = await openTestDatabase(t)
  const { rows } = await database.raw(`SELECT carrel_document('東京 tower 각각, a漢b 々', 'B')::text AS document`)
  t.equal(rows[0].document, `'a':4B 'b':6B 'tower':2B '々':7B '京':1B '東京':1B '漢':5B '각':3B '각각':3B`)
})

t.test('text without long runs is folded as before', async (t) => {
  const { database } = await openTestDatabase(t)
  const fold = async (text: string) =>
    (await database.raw('SELECT carrel_fold(CAST(? AS text)) AS folded', [text])).rows[0].folded as string
  const texts = ['e\u0301te\u0301', 'がぎ', '한국어', 'עִבְרִית', 'हिन्दी', 'เก่ง', 'x\u{1d165}', 'ﾊﾞ', `a${'\u0483\u0300'.repeat(15)}b`]
  for (const text of texts) t.equal(await fold(text), await foldUnbounded(database, text), text)
  t.equal(await fold(`a${'\u0483'.repeat(31)}b`), await fold(`a${'\u0483'.repeat(30)}b`), 'the thirty-first mark is one too many')
  t.equal(await fold(`a${'\u{1d165}'.repeat(31)}b`), await fold(`a${'\u{1d165}'.repeat(30)}b`), 'marks beyond the first plane count too')
})

// A document for each title, instead of one for all, would take minutes.
t.test('titles are added to documents once per statement', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Many' })
  const other = await addSeries(database, { library_id, title: 'Other' })
  for (let number = 0; number < 20; number++) await addBook(database, { library_id, series_id, title: `Volume ${number}` })
  const inOther = await addBook(database, { library_id, series_id: other, title: 'Stays' })
  const titles = Array.from({ length: 1_000 }, (_entry, index) => `Título ${index} ${'größer '.repeat(10)}`)
  const rows = titles.map((title) => ({ series_id, label: 'Synonym', title }))

  await database('series_alternate_titles').insert(rows)
  t.equal((await find(database, caller, 'titulo 999')).length, 20)
  const renamed = { title: database.raw(`title || ' anders'`) }
  await database('series_alternate_titles').update(renamed)
  t.equal((await find(database, caller, 'titulo anders')).length, 20)
  await database('series_alternate_titles').delete()
  t.same(await find(database, caller, 'titulo'), [])

  const both = [series_id, other].map((series_id) => ({ series_id, label: 'Synonym', title: 'Beide' }))
  await database('series_alternate_titles').insert(both)
  t.equal((await find(database, caller, 'beide')).length, 21, 'of several series')
  await database('series').where({ id: other }).delete()
  t.equal(await database('book_search').where({ book_id: inOther }).first(), undefined, 'of a series that is deleted nothing is left')
})

async function find(database: Knex, caller: Awaited<ReturnType<typeof addCaller>>, search: string): Promise<string[]> {
  const { items } = await listBooks(database, caller, { filter: { search: readSearch(search) }, sort: null, offset: 0, limit: 50 })
  return items.map(({ title }) => title)
}

/** As `carrel_fold` does it, without a limit. */
async function foldUnbounded(database: Knex, text: string): Promise<string> {
  const { rows } = await database.raw(
    String.raw`SELECT replace(replace(replace(translate(normalize(regexp_replace(
      lower(normalize(CAST(? AS text), NFKD) COLLATE "und-x-icu"), '[\u0300-\u036f]', '', 'g'), NFC),
      'øłđıħŧ', 'oldiht'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe') AS folded`,
    [text],
  )
  return rows[0].folded
}
