import t, { type Test } from 'tap'
import { bookMetadataRoutes } from '#api/rest/catalog/book-metadata.ts'
import { bookRoutes } from '#api/rest/catalog/books.ts'
import { metadataRoutes } from '#api/rest/catalog/metadata.ts'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import { recordEmbedded } from '#core/analysis/record-embedded.ts'
import { BOOK_FIELDS, BOOK_LOCKS, bookLockName } from '#core/fields/book-metadata.ts'
import type { Field } from '#core/fields/field.ts'
import { findContract } from '#test/support/contract.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { BOOK_SAMPLES } from '#test/support/metadata-samples.ts'
import { openTestServer } from '#test/support/server.ts'

type Json = Record<string, unknown>

async function openShelf(t: Test) {
  const server = await openTestServer(t, { routes: [...bookRoutes, ...metadataRoutes, ...bookMetadataRoutes, ...seriesRoutes] })
  const { database } = server
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const bookId = await addBook(database, { library_id, series_id, title: 'One', number: 1.5 })
  const other = await addBook(database, { library_id, series_id, title: 'Two' })
  const ask = (method: string, path: string, body?: unknown) =>
    server.request<Json>(method, `/api/v1/books/${path}`, { token: server.adminToken, ...(body !== undefined && { body }) })
  return { server, database, library_id, series_id, bookId, other, ask }
}

/** Of every field that PATCH of the metadata takes; those of people together are tried by themselves. */
const { title: _, titleSort: __, number: ___, authors: PEOPLE, ...REST } = BOOK_SAMPLES
const SAMPLES: Json = REST

const checkMetadata = findContract('BookMetadata')
const checkLocks = findContract('BookMetadataLocks')
const checkFull = findContract('FullBook')

t.test('every field goes in and comes out, locks itself, and is cleared by null', async (t) => {
  const { ask, bookId } = await openShelf(t)
  const patchable = (BOOK_FIELDS as readonly Field[]).filter((field) => !field.ofRecordPatch)
  const samples: Json = { ...SAMPLES, authors: PEOPLE }
  for (const { name } of patchable) {
    const set = await ask('PATCH', `${bookId}/metadata`, { [name]: samples[name] })
    t.equal(set.status, 200, `${name}: ${set.text}`)
    t.same(set.json[name], samples[name], name)
    t.equal((set.json.locks as Json)[bookLockName(name)], true, `${name} is locked`)
    t.same(checkMetadata(set.json), [], name)
    const read = await ask('GET', `${bookId}/metadata?sources=true`)
    t.same([read.json[name], (read.json.sources as Json)[name]], [samples[name], 'user'], name)
    const cleared = await ask('PATCH', `${bookId}/metadata`, { [name]: null })
    const empty = name === 'authors' || name === 'awards' ? [] : null
    t.same([cleared.json[name], (cleared.json.locks as Json)[bookLockName(name)]], [empty, true], `${name} is cleared and stays locked`)
  }
  const all = await ask('PUT', `${bookId}/metadata`, SAMPLES)
  for (const [name, value] of Object.entries(SAMPLES)) t.same(all.json[name], value, name)
  t.same((all.json.authors as Json[]).map(({ name }) => name).sort().length, 9)
  const replaced = await ask('PUT', `${bookId}/metadata`, { summary: 'Only this', authors: [{ name: 'Ida', role: 'writer' }] })
  t.match(replaced.json, { summary: 'Only this', writer: 'Ida', penciller: null, publisher: null, awards: [] })
})

t.test('the record: title, sort title and number, each with its lock', async (t) => {
  const { ask, bookId } = await openShelf(t)
  const answer = await ask('PATCH', bookId, { title: 'Neu', titleSort: 'neu, 1', number: 2.5 })
  t.match([answer.status, answer.json], [200, { id: bookId, updatedAt: String }])
  const full = (await ask('GET', `${bookId}?full=true`)).json
  t.same(checkFull(full), [])
  t.match(full, { title: 'Neu', titleSort: 'neu, 1', number: 2, metadata: { title: 'Neu', number: '2.5', titleSort: 'neu, 1' } })
  t.match((full.metadata as Json).locks, { titleLock: true, titleSortLock: true, numberLock: true, summaryLock: false })
  t.equal((await ask('PATCH', bookId, { title: null })).status, 200)
  t.match(
    (await ask('GET', `${bookId}?full=true`)).json,
    { title: 'One', metadata: { title: 'One', locks: { titleLock: false } } },
    'a book has a title',
  )
  t.equal((await ask('PATCH', bookId, { title: '' })).status, 422)
  t.match((await ask('PATCH', bookId, { titleSort: null, number: null })).status, 200)
  t.match((await ask('GET', bookId)).json, { book: { titleSort: null, number: null }, metadata: { bookId } })
})

t.test('locks of a book are set by their names', async (t) => {
  const { ask, bookId } = await openShelf(t)
  const before = (await ask('GET', `${bookId}/metadata/locks`)).json
  t.same(checkLocks(before), [])
  t.same(Object.keys(before).sort(), BOOK_LOCKS.map(bookLockName).sort())
  t.ok(Object.values(before).every((locked) => locked === false))
  for (const name of BOOK_LOCKS.map(bookLockName)) {
    const { json } = await ask('PUT', `${bookId}/metadata/locks`, { titleLock: null, [name]: true })
    t.equal(json[name], true)
  }
  const after = (await ask('PUT', `${bookId}/metadata/locks`, { coverLock: false })).json
  t.same([after.coverLock, after.writerLock], [false, true])
})

t.test("a form that is sent back with one correction makes that field the person's, and no other", async (t) => {
  const { ask, bookId, database } = await openShelf(t)
  await ask('PUT', `${bookId}/metadata`, { ...SAMPLES, authors: PEOPLE })
  const { sources } = await database('book_metadata').where('book_id', bookId).first('sources')
  const embedded = Object.fromEntries(Object.keys(sources).map((name) => [name, 'embedded']))
  t.ok(Object.keys(embedded).length > 25, 'every field has a value')
  await database('book_metadata').where('book_id', bookId).update({ sources: embedded, locks: '{}' })
  const { json } = await ask('GET', `${bookId}/metadata?sources=true`)
  const { bookId: _id, locks, updatedAt, sources: _sources, sourcePlugins: _plugins, ...form } = json
  const same = await ask('PATCH', `${bookId}/metadata`, form)
  t.same([same.status, same.json.locks, same.json.updatedAt], [200, locks, updatedAt], 'nothing was said')
  const corrected = await ask('PATCH', `${bookId}/metadata`, { ...form, summary: 'Corrected', translator: null })
  t.same(corrected.json, {
    bookId,
    ...form,
    summary: 'Corrected',
    locks: { ...(locks as Json), summaryLock: true },
    updatedAt: corrected.json.updatedAt,
  })
  t.same((await ask('GET', `${bookId}/metadata?sources=true`)).json.sources, { ...embedded, summary: 'user' })
})

t.test('locks in every spelling, and what is none beside them', async (t) => {
  const { ask, bookId, other } = await openShelf(t)
  const path = `${bookId}/metadata/locks`
  const given = {
    summary: true,
    publisherLock: true,
    authors: true,
    awardsJson: true,
    cover: true,
    ageRating: true,
    nothing: { at: 'all' },
  }
  const { status, json } = await ask('PUT', path, given)
  t.match([status, json], [200, { summaryLock: true, publisherLock: true, authorsJsonLock: true, awardsJsonLock: true, coverLock: true }])
  t.equal(Object.values(json).filter((locked) => locked).length, 5)
  t.match((await ask('PUT', path, { summary: true, summaryLock: false, authorsJson: null })).json, {
    summaryLock: false,
    authorsJsonLock: true,
  })
  t.equal((await ask('PUT', path, { summaryLock: 'yes' })).status, 400)
  t.equal((await ask('PUT', 'bulk/metadata/locks', { bookIds: [other], writer: true, nothing: 1 })).status, 200)
  t.equal((await ask('GET', `${other}/metadata/locks`)).json.writerLock, true)
})

t.test('beside a book its authors are among the writers, and its number is exact', async (t) => {
  const { ask, bookId } = await openShelf(t)
  const people = [
    { name: 'Ida', role: 'author' },
    { name: 'Ida', role: 'writer' },
    { name: 'Bo', role: 'writer' },
    { name: 'Cy', role: 'editor' },
  ]
  await ask('PATCH', `${bookId}/metadata`, { authors: people })
  t.match((await ask('GET', bookId)).json, {
    book: { number: 1, numberLabel: '1.5' },
    metadata: { id: bookId, bookId, writers: ['Ida', 'Bo'], writer: 'Ida, Bo', editors: ['Cy'], number: '1.5' },
  })
  t.equal((await ask('PATCH', bookId, { number: 2.5 })).json.number, 2.5)
})

t.test('lists carry full books', async (t) => {
  const { server, bookId, library_id, series_id } = await openShelf(t)
  const paths = ['books', `libraries/${library_id}/books`, `series/${series_id}/books`]
  for (const path of paths) {
    const { json } = await server.request<Json>('GET', `/api/v1/${path}?full=true`, { token: server.adminToken })
    const books = (Array.isArray(json) ? json : json.data) as Json[]
    t.equal(books.length, 2)
    for (const book of books) t.same(checkFull(book), [], path)
  }
  const posted = await server.request<Json>('POST', '/api/v1/books/list?full=true', { token: server.adminToken, body: {} })
  t.match((posted.json.data as Json[])[0], { id: bookId, genres: [], tags: [], metadata: { writers: [] } })
})

t.test('many at once, all or none', async (t) => {
  const { ask, server, database, bookId, other, series_id } = await openShelf(t)
  const both = await ask('PATCH', 'bulk/metadata', { bookIds: [bookId, other, bookId], publisher: 'DC' })
  t.match(both.json, { updatedCount: 2, items: [{ id: bookId, outcomes: [{ field: 'publisher', result: 'set' }] }, { id: other }] })
  t.equal((await ask('PATCH', 'bulk/metadata', { bookIds: [bookId, other], publisher: 'DC' })).json.updatedCount, 0)
  const missing = '00000000-0000-4000-8000-000000000000'
  const refused = await ask('PATCH', 'bulk/metadata', { bookIds: [bookId, missing], publisher: 'Marvel' })
  t.match([refused.status, refused.json.message], [404, new RegExp(missing)])
  t.equal((await ask('GET', `${bookId}/metadata`)).json.publisher, 'DC', 'nothing was changed')
  t.match((await ask('PUT', 'bulk/metadata/locks', { bookIds: [bookId, other], coverLock: true })).json, { updatedCount: 2 })
  t.equal((await ask('GET', `${other}/metadata/locks`)).json.coverLock, true)
  const ids = Array.from({ length: 501 }, () => bookId)
  t.equal((await ask('PATCH', 'bulk/metadata', { bookIds: ids, publisher: 'x' })).status, 422)
  t.equal((await ask('PATCH', 'bulk/metadata', { bookIds: [], publisher: 'x' })).status, 422)

  const { id: userId, token } = await server.signUp({ username: 'mia', role: 'maintainer' })
  await shareSeries(database, { seriesId: series_id, caller: { userId }, mode: 'deny' })
  for (const path of [`${bookId}/metadata`, `${bookId}/metadata/locks`, bookId])
    t.equal((await server.request('GET', `/api/v1/books/${path}`, { token })).status, 404)
  const hidden = await server.request('PATCH', '/api/v1/books/bulk/metadata', { token, body: { bookIds: [bookId], publisher: 'x' } })
  t.equal(hidden.status, 404)
})

t.test('bad input is refused with the path of the member, and nothing is written', async (t) => {
  const { ask, bookId } = await openShelf(t)
  const author = { name: 'A', role: 'writer' }
  const cases: [string, Json, number, RegExp][] = [
    ['unknown member', { sumary: 'x' }, 400, /sumary/],
    ['a lock', { titleLock: true }, 400, /titleLock/],
    ['the title', { title: 'x' }, 400, /title/],
    ['wrong type', { year: '1986' }, 400, /year/],
    ['fraction', { year: 1986.5 }, 400, /year/],
    ['day', { day: 32 }, 422, /day/],
    ['day zero', { day: 0 }, 422, /day/],
    ['day of month', { year: 2023, month: 2, day: 29 }, 422, /day/],
    ['month', { month: 13 }, 422, /month/],
    ['int32', { count: 2 ** 31 }, 422, /count/],
    ['summary of 1 MB', { summary: 'x'.repeat(300_000) }, 422, /summary/],
    ['too large a body', { summary: 'x'.repeat(1_000_000) }, 413, /large/],
    ['10,000 authors', { authors: Array.from({ length: 10_000 }, (_, index) => ({ ...author, name: `${index}` })) }, 422, /authors/],
    ['role', { authors: [{ name: 'A', role: 'king' }] }, 422, /authors\/0\/role/],
    ['author without a name', { authors: [{ role: 'writer' }] }, 400, /authors\/0\/name/],
    ['author with more', { authors: [{ ...author, age: 3 }] }, 400, /authors\/0\/age/],
    ['book type', { bookType: 'zine' }, 422, /bookType/],
    ['isbn', { isbns: '9780930289232, 9780930289233' }, 422, /9780930289233/],
    ['language', { languageIso: 'english please' }, 422, /languageIso/],
    ['NUL', { summary: 'a\0b' }, 422, /summary|NUL/],
    ['lone surrogate', { authors: [{ name: '\ud800', role: 'writer' }] }, 422, /authors|Unicode|surrogate/],
    ['NUL in custom', { customMetadata: { a: ['\0'] } }, 422, /./],
    ['deep custom', { customMetadata: JSON.parse(`${'{"a":'.repeat(20)}1${'}'.repeat(20)}`) }, 422, /customMetadata/],
    ['large custom', { customMetadata: { a: 'x'.repeat(70_000) } }, 422, /customMetadata/],
    ['NUL in a name of custom', { customMetadata: { 'a\0': 1 } }, 400, /customMetadata/],
    ['nested to the bottom', { customMetadata: JSON.parse(`${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`) }, 400, /deeper/],
    ['a name of every object', { constructor: 'x' }, 400, /constructor/],
    ['blank name', { authors: [author, { name: ' ', role: 'inker' }] }, 422, /authors\/1\/name/],
    ['2,000 people in a string', { writer: Array.from({ length: 1_900 }, (_, index) => index % 10).join(',') }, 422, /writer/],
    ['custom that is a list', { customMetadata: [] }, 400, /customMetadata/],
  ]
  for (const [name, patch, status, message] of cases) {
    for (const method of ['PATCH', 'PUT']) {
      const answer = await ask(method, `${bookId}/metadata`, { publisher: 'never', ...patch })
      t.ok(
        answer.status === status || (answer.status === 400 && status === 422 && /NUL|surrogate|custom/.test(name)),
        `${method} ${name}: ${answer.text.slice(0, 200)}`,
      )
      t.match(answer.text, message, name)
    }
  }
  t.equal((await ask('PATCH', bookId, { title: ' ' })).status, 422)
  t.equal((await ask('GET', `${bookId}/metadata`)).json.publisher, null)
  const twice = await ask('PATCH', `${bookId}/metadata`, { authors: [author, author] })
  t.equal((twice.json.authors as Json[]).length, 1, 'the same person is there once')
})

t.test('changes at the same time are all kept, and odd names in custom metadata come back', async (t) => {
  const { ask, bookId } = await openShelf(t)
  const patches = Object.entries({ publisher: 'DC', summary: 'Long', year: 1986, imprint: 'Vertigo', writer: 'Ann', inker: 'Bob' })
  const answers = await Promise.all(patches.map(([name, value]) => ask('PATCH', `${bookId}/metadata`, { [name]: value })))
  t.ok(answers.every(({ status }) => status === 200))
  t.match((await ask('GET', `${bookId}/metadata`)).json, Object.fromEntries(patches))

  const customMetadata = JSON.parse('{"__proto__":{"a":1},"constructor":"x","":[],"%_\'\\"":1e308,"small":-0.1}')
  await ask('PATCH', `${bookId}/metadata`, { customMetadata })
  const read = (await ask('GET', `${bookId}/metadata`)).json.customMetadata as Json
  t.same(Object.entries(read).sort(), Object.entries(customMetadata).sort())
})

t.test('a person cannot make a date that does not exist, whichever part they change', async (t) => {
  const { ask, bookId } = await openShelf(t)
  const dateOf = async () => {
    const { year, month, day } = (await ask('GET', `${bookId}/metadata`)).json
    return [year, month, day]
  }
  t.equal((await ask('PATCH', `${bookId}/metadata`, { month: 2, day: 29 })).status, 200, 'without a year it may exist')
  t.match(await ask('PATCH', `${bookId}/metadata`, { day: 31 }), { status: 422, json: { details: [{ path: '/day' }] } })
  t.match(await ask('PATCH', `${bookId}/metadata`, { year: 2019 }), { status: 422, json: { details: [{ path: '/year' }] } })
  t.match((await ask('PATCH', 'bulk/metadata', { bookIds: [bookId], year: 2019 })).status, 422)
  t.same(await dateOf(), [null, 2, 29])
  t.equal((await ask('PATCH', `${bookId}/metadata`, { year: 2020, month: 1, day: 31 })).status, 200)
  t.match(await ask('PATCH', `${bookId}/metadata`, { month: 2 }), { status: 422, json: { details: [{ path: '/month' }] } })
  t.equal((await ask('PATCH', `${bookId}/metadata`, { month: 2, day: null })).status, 200)
  t.same(await dateOf(), [2020, 2, null])
})

t.test('null clears a field and leaves its lock; unlocked, a file may fill it again', async (t) => {
  const { ask, bookId, database } = await openShelf(t)
  const read = async () =>
    await database.transaction((trx) =>
      recordEmbedded(trx, [
        { bookId, fileName: 'x.cbz', bookStrategy: 'filename', numberStrategy: 'smart', embedded: { book: { summary: 'Filed' } } },
      ]),
    )
  const stands = async () => {
    const { summary, locks } = (await ask('GET', `${bookId}/metadata`)).json
    return [summary, (locks as Json).summaryLock]
  }
  await read()
  t.equal((await ask('PATCH', `${bookId}/metadata`, { summary: null })).status, 200)
  t.same(await stands(), [null, false])
  await read()
  t.same(await stands(), ['Filed', false])
  await ask('PATCH', `${bookId}/metadata`, { summary: 'Mine' })
  await ask('PUT', `${bookId}/metadata/locks`, { summaryLock: false })
  await read()
  t.same(await stands(), ['Mine', false], 'a person has given it, locked or not')
  await ask('PUT', `${bookId}/metadata/locks`, { summaryLock: true })
  await ask('PATCH', `${bookId}/metadata`, { summary: null })
  await read()
  t.same(await stands(), [null, true])
  await ask('PUT', `${bookId}/metadata/locks`, { summaryLock: false })
  await read()
  t.same(await stands(), ['Filed', false])
})
