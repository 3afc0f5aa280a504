import t, { type Test } from 'tap'
import { metadataRoutes } from '#api/rest/catalog/metadata.ts'
import { metadataEntryRoutes } from '#api/rest/catalog/metadata-entries.ts'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import { seriesMetadataRoutes } from '#api/rest/catalog/series-metadata.ts'
import { taxonomyRoutes } from '#api/rest/catalog/taxonomy.ts'
import { SERIES_FIELDS, SERIES_LOCKS, seriesLockName } from '#core/fields/series-metadata.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { quickestMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { SERIES_SAMPLES } from '#test/support/metadata-samples.ts'
import { openTestServer } from '#test/support/server.ts'

type Json = Record<string, unknown>
const NOWHERE = '00000000-0000-4000-8000-000000000000'

async function openShelf(t: Test) {
  const server = await openTestServer(t, {
    routes: [...seriesRoutes, ...metadataRoutes, ...seriesMetadataRoutes, ...metadataEntryRoutes, ...taxonomyRoutes],
  })
  const { database } = server
  const library_id = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id, title: 'Run' })
  const other = await addSeries(database, { library_id, title: 'Other' })
  const books = [
    await addBook(database, { library_id, series_id: seriesId, title: 'One', number: 1 }),
    await addBook(database, { library_id, series_id: seriesId, title: 'Two', number: 2 }),
  ]
  const ask = (method: string, path: string, body?: unknown) =>
    server.request<Json>(method, `/api/v1/${path}`, { token: server.adminToken, ...(body !== undefined && { body }) })
  return { server, database, library_id, seriesId, other, books, ask }
}

const SAMPLES: Json = SERIES_SAMPLES

t.test('every field goes in and comes out, locks itself, and is cleared by null', async (t) => {
  const { ask, seriesId } = await openShelf(t)
  const path = `series/${seriesId}/metadata`
  for (const { name } of SERIES_FIELDS) {
    const set = await ask('PATCH', path, { [name]: SAMPLES[name] })
    t.equal(set.status, 200, set.text)
    t.same(set.json[name], SAMPLES[name], name)
    const full = (await ask('GET', `${path}?sources=true`)).json
    t.same([full[name], (full.locks as Json)[seriesLockName(name)], (full.sources as Json)[name]], [SAMPLES[name], true, 'user'], name)
    const cleared = await ask('PATCH', path, { [name]: null })
    if (name === 'title') t.same([cleared.status, typeof cleared.json.title], [200, 'string'], 'a series has a title')
    else t.same(cleared.json[name], name === 'authors' ? [] : null, name)
  }
  await ask('PATCH', path, { title: 'Watchmen' })
  const replaced = await ask('PUT', path, { summary: 'Only this' })
  t.match(replaced.json, { id: seriesId, title: 'Watchmen', summary: 'Only this', publisher: null, authors: [] })
  t.match((await ask('PATCH', `series/${seriesId}`, { title: 'Neu', titleSort: null })).json, {
    id: seriesId,
    title: 'Neu',
    updatedAt: String,
  })
  t.equal((await ask('GET', `series/${seriesId}`)).json.title, 'Neu')
  for (const name of SERIES_LOCKS.map(seriesLockName)) t.equal((await ask('PUT', `${path}/locks`, { [name]: true })).json[name], true)
  t.equal(Object.keys((await ask('GET', `${path}/locks`)).json).length, 18)
  for (const [body, status] of [
    [{ status: 'paused' }, 422],
    [{ ageRating: -1 }, 422],
    [{ ageRating: 'x' }, 400],
    [{ language: 'not a language' }, 422],
    [{ genres: [] }, 400],
    [{ readingDirection: 'up' }, 422],
  ] as const) {
    t.equal((await ask('PATCH', path, body)).status, status, JSON.stringify(body))
  }
})

t.test('series are aggregated from the files of their books, under locks', async (t) => {
  const { ask, seriesId, books, database } = await openShelf(t)
  const [one, two] = books
  const sources = JSON.stringify({ publisher: 'embedded', year: 'embedded', summary: 'embedded', languageIso: 'embedded' })
  const author = (name: string) => ({ name, role: 'writer' })
  await database('book_metadata').insert([
    {
      book_id: one,
      publisher: 'DC',
      year: 1987,
      summary: 'First',
      language_iso: 'en',
      authors: JSON.stringify([author('Moore'), author('Guest')]),
      sources,
      embedded: JSON.stringify({
        genres: ['Crime'],
        tags: ['Dark'],
        series: { fields: { ageRating: 17, status: 'ended' }, genres: ['crime ', 'Drama'] },
      }),
    },
    {
      ...{
        book_id: two,
        publisher: 'DC',
        year: 1986,
        summary: 'Second',
        language_iso: 'en',
        authors: JSON.stringify([author('Moore')]),
        sources,
      },
      embedded: JSON.stringify({ series: { fields: { ageRating: 17, status: 'ended' } } }),
    },
  ])
  await ask('PATCH', `series/${seriesId}/metadata`, { summary: 'Mine' })
  await ask('PUT', `series/${seriesId}/metadata/locks`, { year: true, tags: true })
  await database.transaction(async (trx) => await aggregateSeries(trx, [seriesId]))
  const full = (await ask('GET', `series/${seriesId}/metadata?sources=true`)).json
  t.match(full, { publisher: 'DC', summary: 'Mine', year: null, language: 'en', ageRating: 17, status: 'ended', tags: [] })
  t.match(full.sources, { publisher: 'embedded', summary: 'user' })
  t.same(
    (full.genres as Json[]).map(({ name }) => name),
    ['crime', 'Drama'],
  )
  const before = await database('series_metadata').first()
  await database.transaction(async (trx) => await aggregateSeries(trx, [seriesId]))
  t.same(await database('series_metadata').first(), before, 'twice is once')
  const reset = (await ask('DELETE', `series/${seriesId}/metadata`)).json
  t.match(reset, { summary: 'First', year: 1986, publisher: 'DC' }, 'after a reset the files speak again')
  t.same(
    (reset.tags as Json[]).map(({ name }) => name),
    ['Dark'],
  )
  t.match((await ask('POST', 'series/bulk/metadata/reset', { seriesIds: [seriesId, NOWHERE] })).status, 404)
})

t.test('a save of a form: metadata, then locks, then genres and tags, of which one field was corrected', async (t) => {
  const { ask, seriesId, database } = await openShelf(t)
  const path = `series/${seriesId}`
  await ask('PUT', `${path}/metadata`, SAMPLES)
  await ask('PUT', `${path}/genres`, { genres: ['Crime', 'Drama'] })
  const { sources } = await database('series_metadata').where('series_id', seriesId).first('sources')
  const embedded = Object.fromEntries(Object.keys(sources).map((name) => [name, 'embedded']))
  await database('series_metadata').where('series_id', seriesId).update({ sources: embedded, locks: '{}' })
  await database('series_genres').update({ given_by: 'embedded' })
  const full = (await ask('GET', `${path}/metadata`)).json
  const form = Object.fromEntries(SERIES_FIELDS.map(({ name }) => [name, full[name]]))
  t.equal((await ask('PATCH', `${path}/metadata`, { ...form, summary: 'Corrected' })).status, 200)
  const locks = { ...Object.fromEntries(SERIES_LOCKS.map((name) => [`${name}Lock`, false])), summaryLock: true, titleSort: null, other: 1 }
  t.equal((await ask('PUT', `${path}/metadata/locks`, locks)).status, 200)
  t.equal((await ask('PUT', `${path}/genres`, { genres: ['drama', 'Crime'] })).status, 200)
  t.equal((await ask('PUT', `${path}/tags`, { tags: [] })).status, 200)
  const after = (await ask('GET', `${path}/metadata?sources=true`)).json
  t.same(after.sources, { ...embedded, summary: 'user' })
  t.same(
    Object.entries(after.locks as Json).filter(([, locked]) => locked),
    [['summary', true]],
  )
  t.same(new Set(await database('series_genres').pluck('given_by')), new Set(['embedded']), 'nobody has said anything of the genres')
  t.match((await ask('PUT', `${path}/metadata/locks`, { authors: true, genresLock: true })).json, { authorsJsonLock: true, genres: true })
})

t.test('a reset takes further titles and identifiers away, and sharing tags where one may', async (t) => {
  const { ask, seriesId, server, database } = await openShelf(t)
  const path = `series/${seriesId}`
  const [tag] = await database('sharing_tags').insert({ name: 'kept away' }, 'id')
  const give = async () => {
    await ask('POST', `${path}/alternate-titles`, { label: 'Native', title: '走れ' })
    await ask('POST', `${path}/external-ids`, { source: 'x', externalId: '1' })
    await database('series_sharing_tags').insert({ series_id: seriesId, sharing_tag_id: tag.id }).onConflict().ignore()
  }
  const tags = async () => Number((await database('series_sharing_tags').count({ n: '*' }).first())?.['n'])
  await give()
  const { token } = await server.signUp({ username: 'mia', role: 'maintainer' })
  const asked = await server.request<Json>('DELETE', `/api/v1/${path}/metadata`, { token })
  t.match([asked.status, asked.json.alternateTitles, asked.json.externalIds], [200, [], []])
  t.equal(await tags(), 1, 'who may see a series is for administrators to say')
  await give()
  t.match((await ask('POST', 'series/bulk/metadata/reset', { seriesIds: [seriesId] })).json, { count: 1 })
  t.match((await ask('GET', `${path}/metadata`)).json, { alternateTitles: [], externalIds: [] })
  t.equal(await tags(), 0)
})

t.test('a reset forgets all that people and plugins gave, and the files give what they know', async (t) => {
  const { ask, seriesId, database, books } = await openShelf(t)
  const path = `series/${seriesId}`
  const said = { series: { fields: { title: 'From files' }, links: [{ source: 'web', url: 'https://example.org' }] }, genres: ['Filed'] }
  await database('book_metadata').insert(books.map((book_id) => ({ book_id, embedded: JSON.stringify(said) })))
  for (const giver of ['user', 'plugin']) {
    t.equal((await ask('PATCH', `${path}/metadata`, { title: 'By hand', titleSort: 'Hand', summary: 'By hand' })).status, 200)
    for (const [kind, entry] of [
      ['genres', { name: 'Given' }],
      ['tags', { name: 'Given' }],
      ['alternate-titles', { label: 'ja', title: 'Given' }],
      ['external-ids', { source: 'given', externalId: '1' }],
      ['external-links', { source: 'web', url: 'https://example.org/given' }],
      ['external-ratings', { source: 'given', rating: 50 }],
    ] as const)
      t.match((await ask('POST', `${path}/${kind}`, entry)).status, 201)
    for (const table of ['genres', 'tags', 'alternate_titles', 'external_ids', 'external_links', 'external_ratings'])
      await database(`series_${table}`).update({ given_by: giver })
    if (giver === 'plugin')
      await database('series_metadata').update({ sources: { title: 'plugin', titleSort: 'plugin', summary: 'plugin' } })
    const reset = (await ask('DELETE', `${path}/metadata`)).json
    t.match(
      reset,
      { title: 'From files', titleSort: null, summary: null, tags: [], alternateTitles: [], externalIds: [], externalRatings: [] },
      giver,
    )
    t.match(reset, { externalLinks: [{ source: 'web', url: 'https://example.org' }], genres: [{ name: 'Filed' }] })
    t.same(Object.values(reset.locks as Json).filter(Boolean), [])
    await ask('DELETE', `${path}/external-links/web`)
  }
})

t.test('genres and tags: one name however it is written', async (t) => {
  const { ask, seriesId, other, books } = await openShelf(t)
  const set = await ask('PUT', `series/${seriesId}/genres`, { genres: ['  Science   Fiction', 'SCIENCE FICTION', 'Crime'] })
  t.same(
    (set.json.genres as Json[]).map(({ name, seriesCount }) => [name, seriesCount]),
    [
      ['Crime', 1],
      ['Science Fiction', 1],
    ],
  )
  t.match((await ask('GET', `series/${seriesId}/metadata/locks`)).json, { genres: true, tags: false })
  t.match((await ask('POST', `series/${other}/genres`, { name: 'science fiction' })).json, { name: 'Science Fiction', seriesCount: 2 })
  t.match((await ask('POST', 'series/bulk/tags', { seriesIds: [seriesId, other], add: ['Old'], remove: ['none'] })).json, {
    updatedCount: 2,
  })
  t.match((await ask('POST', 'books/bulk/genres', { bookIds: books, add: ['Crime'] })).json, { updatedCount: 2 })
  t.match((await ask('POST', 'books/bulk/genres', { bookIds: books, remove: ['CRIME'] })).json, { updatedCount: 2 })
  t.match((await ask('POST', 'books/bulk/genres', { bookIds: [...books, NOWHERE], add: ['Never'] })).status, 404)
  const genres = (await ask('GET', 'genres')).json as { data: { id: string; name: string }[] }
  t.same(
    genres.data.map(({ name }) => name),
    ['Crime', 'Science Fiction'],
  )
  const crime = genres.data[0]?.id
  t.equal((await ask('DELETE', `series/${seriesId}/genres/${crime}`)).status, 204)
  t.equal((await ask('DELETE', `series/${seriesId}/genres/${crime}`)).status, 404)
  t.match((await ask('POST', 'genres/cleanup')).json, { deletedCount: 1, deletedNames: ['Crime'] })
  t.equal((await ask('DELETE', `tags/${NOWHERE}`)).status, 404)
  t.equal((await ask('POST', `series/${seriesId}/tags`, { name: '   ' })).status, 422)
  t.equal((await ask('PUT', `series/${seriesId}/tags`, { tags: ['x'.repeat(101)] })).status, 422)
})

t.test('what a person took from a series does not come back with its books', async (t) => {
  const { ask, database, seriesId, other, library_id, books } = await openShelf(t)
  const names = ['Bulk', 'Deleted', 'Everywhere', 'Kept', 'Put']
  const hints = {
    genres: names,
    tags: names,
    series: { alternateTitles: [{ label: 'ja', title: 'Mono' }], links: [{ source: 'web', url: 'https://example.org' }] },
  }
  const otherBook = await addBook(database, { library_id, series_id: other, title: 'Far', number: 1 })
  await database('book_metadata').insert([...books, otherBook].map((book_id) => ({ book_id, embedded: JSON.stringify(hints) })))
  const aggregate = async () => await database.transaction(async (trx) => await aggregateSeries(trx, [seriesId, other]))
  const namesOf = async (kind: string, id: string) =>
    ((await ask('GET', `series/${id}/metadata`)).json[kind] as Json[]).map(({ name }) => name)
  const idOf = async (kind: string, name: string) => ((await ask('GET', kind)).json.data as Json[]).find((each) => each.name === name)?.id
  await aggregate()
  for (const kind of ['genres', 'tags']) t.same(await namesOf(kind, other), names, kind)

  for (const kind of ['genres', 'tags']) {
    t.equal((await ask('DELETE', `${kind}/${await idOf(kind, 'Everywhere')}`)).status, 204)
    await aggregate()
    t.same(
      await namesOf(kind, other),
      names.filter((name) => name !== 'Everywhere'),
      `${kind}: deleted everywhere, nothing locked`,
    )
    t.equal(await idOf(kind, 'Everywhere'), undefined, 'it does not even exist')

    t.equal((await ask('DELETE', `series/${seriesId}/${kind}/${await idOf(kind, 'Deleted')}`)).status, 204)
    await aggregate()
    t.same(await namesOf(kind, seriesId), ['Bulk', 'Kept', 'Put'], `${kind}: one taken away`)
    t.equal((await ask('POST', `series/bulk/${kind}`, { seriesIds: [seriesId], remove: ['bulk'] })).json.updatedCount, 1)
    await aggregate()
    t.same(await namesOf(kind, seriesId), ['Kept', 'Put'], `${kind}: many at once`)
    t.equal((await ask('PUT', `series/${seriesId}/${kind}`, { [kind]: ['Kept'] })).status, 200)
    await aggregate()
    t.same(await namesOf(kind, seriesId), ['Kept'], `${kind}: the whole list`)
    await ask('PUT', `series/${seriesId}/metadata/locks`, { [kind]: false })
    await aggregate()
    t.same(await namesOf(kind, seriesId), ['Kept'], `${kind}: unlocked`)
  }
  const [title] = (await ask('GET', `series/${seriesId}/alternate-titles`)).json.titles as Json[]
  t.equal((await ask('DELETE', `series/${seriesId}/alternate-titles/${title?.id}`)).status, 204)
  t.equal((await ask('DELETE', `series/${seriesId}/external-links/web`)).status, 204)
  await aggregate()
  t.same((await ask('GET', `series/${seriesId}/alternate-titles`)).json.titles, [])
  t.same((await ask('GET', `series/${seriesId}/external-links`)).json.links, [])

  // What is new still comes, a lock keeps it out for as long as it is there, and a reset asks the files for everything.
  await ask('PUT', `series/${seriesId}/metadata/locks`, { genres: true })
  await database('book_metadata').update({ embedded: JSON.stringify({ ...hints, genres: [...names, 'New'], tags: [...names, 'New'] }) })
  await aggregate()
  t.same([await namesOf('genres', seriesId), await namesOf('tags', seriesId)], [['Kept'], ['Kept', 'New']])
  await ask('PUT', `series/${seriesId}/metadata/locks`, { genres: false })
  await aggregate()
  t.same(await namesOf('genres', seriesId), ['Kept', 'New'])
  await ask('DELETE', `series/${seriesId}/metadata`)
  t.same(await namesOf('genres', seriesId), ['Bulk', 'Deleted', 'Everywhere', 'Kept', 'New', 'Put'])
})

t.test('what stands beside a series', async (t) => {
  const { ask, seriesId, other, books, server, database } = await openShelf(t)
  const at = `series/${seriesId}`
  const title = await ask('POST', `${at}/alternate-titles`, { label: 'ja', title: 'ウォッチメン' })
  t.match([title.status, title.json], [201, { seriesId, label: 'ja', title: 'ウォッチメン' }])
  t.match((await ask('PATCH', `${at}/alternate-titles/${title.json.id}`, { label: 'Japanese', title: null })).json, {
    label: 'Japanese',
    title: 'ウォッチメン',
  })
  t.equal((await ask('PATCH', `series/${other}/alternate-titles/${title.json.id}`, { label: 'x' })).status, 404, 'it belongs to another')
  t.match((await ask('POST', `${at}/external-ids`, { source: 'plugin:anilist', externalId: '7' })).json, {
    source: 'plugin:anilist',
    externalId: '7',
  })
  t.match((await ask('POST', `${at}/external-ids`, { source: 'plugin:anilist', externalId: '8' })).json, { externalId: '8' })
  t.equal(((await ask('GET', `${at}/external-ids`)).json.externalIds as Json[]).length, 1)
  t.match((await ask('POST', `${at}/external-links`, { source: 'mal', url: 'https://example.org/1' })).json, { source: 'mal' })
  t.equal((await ask('POST', `${at}/external-links`, { source: 'mal', url: 'javascript:alert(1)' })).status, 422)
  t.match((await ask('POST', `${at}/external-ratings`, { source: 'mal', rating: 88.5, voteCount: 10 })).json, {
    rating: 88.5,
    voteCount: 10,
  })
  t.equal((await ask('POST', `${at}/external-ratings`, { source: 'mal', rating: 101 })).status, 422)
  t.match((await ask('POST', `books/${books[0]}/external-links`, { source: 'mal', url: 'http://example.org' })).json, { bookId: books[0] })
  t.match((await ask('GET', `${at}/metadata`)).json, {
    alternateTitles: [{ label: 'Japanese' }],
    externalIds: [{ externalId: '8' }],
    externalLinks: [{ source: 'mal' }],
    externalRatings: [{ rating: 88.5 }],
  })
  t.equal((await ask('DELETE', `${at}/external-links/mal`)).status, 204)
  t.equal((await ask('DELETE', `${at}/external-links/mal`)).status, 404)

  t.equal((await ask('GET', `${at}/rating`)).json, null)
  t.match((await ask('PUT', `${at}/rating`, { rating: 80, notes: 'good' })).json, { seriesId, rating: 80, notes: 'good' })
  const { id: userId, token } = await server.signUp({ username: 'rob' })
  await server.request('PUT', `/api/v1/${at}/rating`, { token, body: { rating: 61 } })
  t.same((await ask('GET', `${at}/ratings/average`)).json, { average: 70.5, count: 2 })
  t.equal((await ask('PUT', `${at}/rating`, { rating: 0 })).status, 422)
  await shareSeries(database, { seriesId, caller: { userId }, mode: 'deny' })
  t.same((await server.request<Json>('GET', '/api/v1/user/ratings', { token })).json, { ratings: [] })
  t.equal(((await ask('GET', 'user/ratings')).json.ratings as Json[]).length, 1)
  t.equal((await ask('DELETE', `${at}/rating`)).status, 204)
})

t.test('lists carry full series', async (t) => {
  const { ask, seriesId } = await openShelf(t)
  await ask('PUT', `series/${seriesId}/tags`, { tags: ['Old'] })
  const expected = { id: seriesId, title: 'Run', metadata: { title: 'Run', locks: { tags: true } }, tags: [{ name: 'Old' }], genres: [] }
  t.match((await ask('GET', `series/${seriesId}?full=true`)).json, expected)
  t.match((await ask('GET', 'series?full=true')).json.data, [expected])
  t.match((await ask('POST', 'series/list?full=true', {})).json.data, [expected])
  t.match((await ask('POST', 'series/search', { query: 'run', full: true })).json, [expected])
})

t.test('many at once, all or none', async (t) => {
  const { ask, seriesId, other } = await openShelf(t)
  t.match((await ask('PATCH', 'series/bulk/metadata', { seriesIds: [seriesId, other], publisher: 'DC' })).json, { updatedCount: 2 })
  t.equal((await ask('PATCH', 'series/bulk/metadata', { seriesIds: [seriesId, NOWHERE], publisher: 'X' })).status, 404)
  t.equal((await ask('GET', `series/${seriesId}/metadata`)).json.publisher, 'DC')
  t.match((await ask('PUT', 'series/bulk/metadata/locks', { seriesIds: [seriesId, other], cover: true })).json, { updatedCount: 2 })
  t.equal((await ask('GET', `series/${other}/metadata/locks`)).json.cover, true)
  t.equal((await ask('PATCH', 'series/bulk/metadata', { seriesIds: Array.from({ length: 101 }, () => other), publisher: 'X' })).status, 422)
})

t.test('runs of marks in a summary cost a request nothing', onlyCost, async (t) => {
  const { ask, seriesId } = await openShelf(t)
  const summary = `a${'\u0315\u0300'.repeat(19_500)}`
  const took = await quickestMs(2_000, async () => {
    const answer = await ask('PATCH', `series/${seriesId}/metadata`, { summary })
    t.match([answer.status, answer.json.summary], [200, `a${'\u0315\u0300'.repeat(15)}`])
  })
  t.ok(took < 2_000, 'it took six seconds in the database')
})

t.test('a series keeps fifty further titles, whether people or files give them', async (t) => {
  const { ask, database, seriesId, books } = await openShelf(t)
  const path = `series/${seriesId}/alternate-titles`
  for (let index = 0; index < 45; index++) t.equal((await ask('POST', path, { label: 'Own', title: `Own ${index}` })).status, 201)
  const alternateTitles = Array.from({ length: 400 }, (_entry, index) => ({ label: 'Synonym', title: `Aggregated ${index}` }))
  await database('book_metadata').insert(books.map((book_id) => ({ book_id, embedded: JSON.stringify({ series: { alternateTitles } }) })))
  await database.transaction((trx) => aggregateSeries(trx, [seriesId]))
  const kept = (await ask('GET', path)).json as { titles?: unknown[] }
  t.equal(Object.values(kept).flat().length, 50, 'files fill what is left')
  t.match(await ask('POST', path, { label: 'Own', title: 'One more' }), { status: 422, json: { message: /There are 50/ } })
})
