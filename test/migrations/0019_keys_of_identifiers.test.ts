import t from 'tap'
import { down, up } from '#migrations/0019_keys_of_identifiers.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('keys of services that plugins know by that name get their prefix, all others stay', async (t) => {
  const { database } = await openTestDatabase(t)
  await down(database)
  const plugin = async (key: string, capabilities: object, isAgreedTo = true) => {
    const [{ id }] = await database('plugins').insert({ key }, 'id')
    const code = { code: '', code_sha256: '', sha256: key, version: '1.0.0' }
    const [version] = await database('plugin_versions').insert({ plugin_id: id, ...code, manifest: JSON.stringify({ capabilities }) }, 'id')
    if (isAgreedTo) await database('plugins').where({ id }).update({ version_id: version.id })
  }
  await plugin('org.example.anilist', { 'metadata.series': { methods: ['get'], idSource: 'anilist' }, webLinks: {} })
  await plugin('org.example.plain', { 'metadata.book': { methods: ['get'] } })
  await plugin('org.example.similar', { recommendations: { methods: ['get'], idSource: 'carrel' } })
  await plugin('org.example.waiting', { 'metadata.series': { methods: ['get'], idSource: 'goodreads' } }, false)

  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'One' })
  const [both, newer, hers] = await Promise.all(['Both', 'Newer', 'Hers'].map((title) => addSeries(database, { library_id, title })))
  const book_id = await addBook(database, { library_id, series_id, title: 'One 1' })
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
  const fact = (key: string) => ({ before: {}, after: { [key]: { externalId: '0' }, mal: 1 }, givers: { [key]: 'user' } })
  const changes = (key: string) => ({
    values: { year: { before: null, after: 1, sources: {} } },
    coverId: null,
    facts: { externalIds: fact(key), tags: { before: [], after: ['anilist'] } },
  })
  const application = { series_id, plugin_key: 'org.example.anilist', external_id: '0', changes: JSON.stringify(changes('anilist')) }
  const [applied] = await database('metadata_applications').insert(application, 'id')

  await up(database)
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
