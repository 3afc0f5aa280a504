import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

const CHECK_VIOLATION = '23514'
const UNIQUE_VIOLATION = '23505'
/** Members in another order than jsonb keeps them, a number that no double holds, and spaces. */
const AS_SENT = '{"title": "b",  "aa":1, "b":12345678901234567890.10, "a":{"z":1.0,"y":[1e2]}}'

async function openShelf(t: Test) {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'One' })
  const book_id = await addBook(database, { library_id, series_id, title: 'One 1' })
  return { database, library_id, series_id, book_id }
}

const countRows = async (database: Knex, tables: readonly string[]) =>
  Object.fromEntries(
    await Promise.all(tables.map(async (table) => [table, Number((await database(table).count('* as n'))[0]?.n)] as const)),
  )

t.test('numbers keep all their digits and sort by size', async (t) => {
  const { database, library_id, series_id } = await openShelf(t)
  const add = (title: string, row: object) => addBook(database, { library_id, series_id, title, ...row })
  const exact = { title: 'exact', number: 1234567.123456789, chapter: 10.12345, volume: -2_147_483_648 }
  await add('exact', exact)
  await add('below', { number: -1.2345 })
  await add('a tenth', { number: 0.1 })
  t.same(await database('books').where('title', 'exact').select('title', 'number', 'chapter', 'volume'), [exact])
  t.same(await database('books').whereNotNull('number').orderBy('number').pluck('title'), ['below', 'a tenth', 'exact'])
})

t.test('custom metadata and preferences come back byte for byte', async (t) => {
  const { database, series_id, book_id } = await openShelf(t)
  const { userId: user_id } = await addCaller(database)
  await database('book_metadata').insert({ book_id, custom_metadata: AS_SENT })
  await database('series_metadata').insert({ series_id, custom_metadata: AS_SENT })
  await database('user_preferences').insert({ user_id, key: 'k', value: AS_SENT })
  const columns: [table: string, column: string][] = [
    ['book_metadata', 'custom_metadata'],
    ['series_metadata', 'custom_metadata'],
    ['user_preferences', 'value'],
  ]
  for (const [table, column] of columns)
    t.same(await database(table).select(database.raw('??::text AS text', [column])), [{ text: AS_SENT }], table)
})

t.test('every entry of a set names its giver, a person by default', async (t) => {
  const { database, series_id, book_id } = await openShelf(t)
  const owners = { series: { series_id }, book: { book_id } }
  const rows: Record<string, object> = {
    alternate_titles: { label: 'ja', title: 'いち' },
    external_ids: { source: 'mine', external_id: '1' },
    external_links: { source: 'mine', url: 'https://example.org' },
    external_ratings: { source: 'mine', rating: 5 },
  }
  for (const name of ['genre', 'tag']) {
    const [{ id }] = await database(`${name}s`).insert({ name: 'A', name_key: 'a' }, 'id')
    rows[`${name}s`] = { [`${name}_id`]: id }
  }
  for (const [kind, owner] of Object.entries(owners)) {
    for (const [table, row] of Object.entries(rows)) {
      if (kind === 'book' && /titles|ratings/.test(table)) continue
      const [{ given_by }] = await database(`${kind}_${table}`).insert({ ...owner, ...row }, 'given_by')
      t.equal(given_by, 'user', `${kind}_${table}`)
      await t.rejects(database(`${kind}_${table}`).update({ given_by: 'file_name' }), { code: CHECK_VIOLATION })
    }
  }
  const cover = { book_id, source: 'custom', hash: 'x', width: 1, height: 1 }
  const [{ given_by }] = await database('covers').insert(cover, 'given_by')
  t.equal(given_by, 'user')
  await t.rejects(database('covers').update({ given_by: 'embedded' }), { code: CHECK_VIOLATION })
  await t.rejects(database('covers').update({ series_id }), { code: CHECK_VIOLATION }, 'one owner')
})

t.test('exports leave absolute paths out unless they say otherwise', async (t) => {
  const { database } = await openTestDatabase(t)
  const { userId: user_id } = await addCaller(database)
  const row = { user_id, format: 'json', export_type: 'both', library_ids: [], fields: [], book_fields: [], expires_at: new Date() }
  t.same(await database('series_exports').insert(row, 'whole_paths'), [{ whole_paths: false }])
})

t.test('a deleted book or series takes its rows along and leaves its covers to the cleanup', async (t) => {
  const { database, series_id, book_id } = await openShelf(t)
  const [{ id: person_id }] = await database('people').insert({ name: 'Ada', name_key: 'ada' }, 'id')
  await database('book_metadata').insert({ book_id })
  await database('series_metadata').insert({ series_id })
  await database('book_people').insert({ book_id, person_id, position: 0, role: 'writer' })
  await database('series_people').insert({ series_id, person_id, position: 0, role: 'writer' })
  await database('book_pages').insert({ book_id, pages: '[]' })
  await t.rejects(database('people').delete(), { code: '23503' }, 'a person of a book stays')
  await t.rejects(database('people').insert({ name: 'ADA', name_key: 'ada' }), { code: UNIQUE_VIOLATION })

  await database('books').where('id', book_id).delete()
  const ofBook = ['book_metadata', 'book_people', 'book_pages', 'book_search']
  t.same(await countRows(database, ofBook), { book_metadata: 0, book_people: 0, book_pages: 0, book_search: 0 })
  t.same(await database('cover_orphans').select('kind', 'owner_id'), [{ kind: 'book', owner_id: book_id }])
  await database('series').where('id', series_id).delete()
  t.same(await countRows(database, ['series_metadata', 'series_people', 'series_search']), {
    ...{ series_metadata: 0, series_people: 0, series_search: 0 },
  })
  t.same(await database('cover_orphans').orderBy('id').pluck('owner_id'), [book_id, series_id])
})

t.test('a book that is back is missed by no scan', async (t) => {
  const { database, book_id } = await openShelf(t)
  const missed_by = '00000000-0000-4000-8000-000000000000'
  await database('books').update({ deleted_at: new Date(), missed_by })
  t.same(await database('books').pluck('missed_by'), [missed_by])
  await database('books').where('id', book_id).update({ deleted_at: null })
  t.same(await database('books').pluck('missed_by'), [null])
})

t.test('keys of services that plugins know by that name get their prefix, all others stay', async (t) => {
  const { database, series_id, library_id, book_id } = await openShelf(t)
  const plugin = async (key: string, capabilities: object, hasConsent = true) => {
    const [{ id }] = await database('plugins').insert({ key }, 'id')
    const code = { code: '', code_sha256: '', sha256: key, version: '1.0.0' }
    const [version] = await database('plugin_versions').insert({ plugin_id: id, ...code, manifest: JSON.stringify({ capabilities }) }, 'id')
    if (hasConsent) await database('plugins').where({ id }).update({ version_id: version.id })
  }
  await plugin('org.example.anilist', { 'metadata.series': { methods: ['get'], idSource: 'anilist' }, webLinks: {} })
  await plugin('org.example.plain', { 'metadata.book': { methods: ['get'] } })
  await plugin('org.example.similar', { recommendations: { methods: ['get'], idSource: 'carrel' } })
  await plugin('org.example.waiting', { 'metadata.series': { methods: ['get'], idSource: 'goodreads' } }, false)

  const [both, newer, hers] = await Promise.all(['Both', 'Newer', 'Hers'].map((title) => addSeries(database, { library_id, title })))
  const ids = (owner: object, sources: Record<string, object>) =>
    Object.entries(sources).map(([source, more], index) => ({ ...owner, source, external_id: String(index), ...more }))
  const [old, late] = [{ updated_at: '2020-01-01T00:00:00Z' }, { updated_at: '2021-01-01T00:00:00Z' }]
  await database('series_external_ids').insert([
    ...ids({ series_id }, { anilist: {}, goodreads: {}, comicinfo: {}, carrel: {}, 'plugin:org.example.x': {}, 'org.example.plain': {} }),
    ...ids({ series_id: both }, { anilist: { given_by: 'plugin', ...old }, 'plugin:anilist': { given_by: 'plugin', ...late } }),
    ...ids({ series_id: newer }, { anilist: { given_by: 'plugin', ...late }, 'plugin:anilist': { given_by: 'plugin', ...old } }),
    ...ids({ series_id: hers }, { anilist: { given_by: 'user', ...old }, 'plugin:anilist': { given_by: 'plugin', ...late } }),
  ])
  await database('book_external_ids').insert(ids({ book_id }, { anilist: {}, goodreads: {} }))
  await database('series_external_ratings').insert(['anilist', 'mal'].map((source) => ({ series_id, source, rating: 5 })))
  const entry = (source: string) => ({ value: { source, externalId: '0' }, giver: 'plugin' })
  const changes = (source: string) => ({
    values: { year: { before: null, after: 1, sources: {} } },
    sets: {
      externalIds: [
        { key: source, before: null, after: entry(source) },
        { key: 'mal', before: entry('mal'), after: null },
      ],
      tags: [{ key: 'anilist', before: null, after: { value: 'anilist', giver: 'plugin' } }],
    },
  })
  const application = { series_id, plugin_key: 'org.example.anilist', external_id: '0', changes: JSON.stringify(changes('anilist')) }
  const [applied] = await database('metadata_applications').insert(application, 'id')

  await database.raw('SELECT carrel_prefix_keys(carrel_id_names())')
  const read = async (table: string, where: object) =>
    Object.fromEntries((await database(table).where(where).orderBy('source')).map((row) => [row.source, row.external_id ?? row.rating]))
  t.same(await read('series_external_ids', { series_id }), {
    ...{ 'plugin:anilist': '0', goodreads: '1', comicinfo: '2', carrel: '3', 'plugin:org.example.x': '4', 'plugin:org.example.plain': '5' },
  })
  t.same(await read('series_external_ids', { series_id: both }), { 'plugin:anilist': '1' }, 'of two the newer')
  t.same(await read('series_external_ids', { series_id: newer }), { 'plugin:anilist': '0' }, 'of two the newer')
  t.same(await read('series_external_ids', { series_id: hers }), { 'plugin:anilist': '0' }, 'but what a person gave')
  t.same(await read('book_external_ids', { book_id }), { 'plugin:anilist': '0', goodreads: '1' })
  t.same(await read('series_external_ratings', { series_id }), { 'plugin:anilist': 5, mal: 5 })
  t.same((await database('metadata_applications').where({ id: applied.id }).first()).changes, changes('plugin:anilist'))
})
