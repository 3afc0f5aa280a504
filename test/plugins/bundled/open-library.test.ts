import { readFile } from 'node:fs/promises'
import t from 'tap'
import { getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { openHostedPlugins } from '#test/support/hosted-plugins.ts'
import { readFixtures } from '../../../plugin-sdk/fixtures.ts'

t.setTimeout(60_000)

/** Open Library in its documented shapes, and in those of real records. */
const fixtures = readFixtures(
  JSON.parse(await readFile(new URL('../../../plugins/bundled/open-library/fixtures/catalog.json', import.meta.url), 'utf8')),
)
const { bytes } = await getBundledPlugin('open-library')

// Installed once: the host's cache of requests ends with it, and the plugin stores nothing.
const { database, install } = await openHostedPlugins(t)
const { id } = await install(bytes)

/** A new server: its rate limit for Open Library allows ten requests at once, and then one a second. */
async function openLibrary(t: Parameters<typeof openHostedPlugins>[0], config: Record<string, unknown> = {}) {
  const hosted = await openHostedPlugins(t, fixtures, database)
  const { call } = hosted.use(id)
  await hosted.host.plugins.edit(id, { config })
  const named =
    (method: string) =>
    async (input: Record<string, unknown>): Promise<Record<string, unknown>> =>
      await call(`metadata.book.${method}`, input)
  return { ...hosted, search: named('search'), get: named('get'), match: named('match') }
}

const urls = ({ asked }: { asked: { url: string }[] }) => asked.map(({ url }) => url.split('?')[0])

t.test('search finds books by title, page by page', async (t) => {
  const { search, way, unmatched } = await openLibrary(t)
  const first = await search({ query: 'dune', limit: 5 })
  t.same(first, {
    results: [
      {
        externalId: 'OL893415W',
        title: 'Dune',
        year: 1965,
        coverUrl: 'https://covers.openlibrary.org/b/id/11481354-L.jpg',
        relevance: 1,
        preview: {
          genres: ['Dune (Imaginary place)', 'Fiction', 'Deserts'],
          rating: 85.714,
          bookCount: 120,
          description: 'Frank Herbert',
        },
      },
      {
        externalId: 'OL893526W',
        title: 'Dune Messiah',
        year: 1969,
        coverUrl: null,
        relevance: 2 / 3,
        preview: { genres: [], rating: null, bookCount: 60, description: 'Frank Herbert' },
      },
      {
        externalId: 'OL5523110W',
        title: 'The Dune encyclopedia: the complete, authorized guide',
        year: 1984,
        coverUrl: null,
        relevance: 2 / 3,
        preview: { genres: [], rating: null, bookCount: null, description: 'Willis E. McNelly' },
      },
    ],
    nextCursor: null,
  })
  t.same(await search({ query: 'no such book at all', limit: 5 }), { results: [], nextCursor: null })
  t.same(await search({ query: '  ', limit: 5 }), { results: [], nextCursor: null }, 'an empty query sends no request')
  t.equal(way.asked.length, 2)
  t.match(way.asked[0]?.headers['user-agent'], /carrel\.open-library 1\.0\.0/)
  t.same(unmatched, [])
})

t.test('a cursor gives the next page, and an invalid cursor the first', async (t) => {
  const { search, way } = await openLibrary(t)
  const { results } = await search({ query: 'dune', limit: 5, cursor: '2' })
  t.match(results, [{ externalId: 'OL893526W' }])
  await search({ query: 'dune', limit: 5, cursor: '../2' })
  t.match(
    way.asked.map(({ url }) => new URL(url, 'https://x').searchParams.get('page')),
    ['2', '1'],
  )
})

t.test('search finds a book by ISBN in any spelling, and by title when the ISBN is unknown', async (t) => {
  const { search, way, unmatched } = await openLibrary(t)
  const edition = {
    externalId: 'OL7353617M',
    title: 'Dune: a novel',
    year: 1990,
    coverUrl: 'https://covers.openlibrary.org/b/id/7078878-L.jpg',
    relevance: 1,
    preview: { description: 'Ace Books, Berkley, August 1, 1990' },
  }
  t.same(await search({ query: 'x', isbn: '0441172717', limit: 5 }), { results: [edition], nextCursor: null })
  t.same(await search({ query: 'ISBN 978-0-441-17271-9', limit: 5 }), { results: [edition], nextCursor: null }, 'typed into the field')
  t.same(urls(way).slice(0, 2), ['/isbn/9780441172719.json', '/books/OL7353617M.json'], 'the site redirects to the edition')
  t.match(await search({ query: 'dune', isbn: '9783161484100', limit: 5 }), { results: [{ externalId: 'OL893415W' }, {}, {}] })
  t.same(await search({ query: '9783161484100', limit: 5 }), { results: [], nextCursor: null })
  t.same(unmatched, [])
})

t.test('an edition has its own metadata and that of its work', async (t) => {
  const { get, unmatched } = await openLibrary(t)
  t.same(await get({ externalId: 'OL7353617M' }), {
    externalId: 'OL7353617M',
    externalUrl: 'https://openlibrary.org/books/OL7353617M',
    title: 'Dune',
    subtitle: 'a novel',
    summary: 'Set on the desert planet Arrakis, Dune is the story of Paul Atreides.',
    publisher: 'Ace Books',
    year: 1990,
    month: 8,
    day: 1,
    authors: [
      { name: 'Frank Herbert', role: 'author' },
      { name: 'John Schoenherr', role: 'illustrator' },
      { name: 'Scott Brick', role: 'contributor' },
    ],
    subjects: ['Dune (Imaginary place)', 'Fiction', 'Deserts', 'Sand'],
    coverUrl: 'https://covers.openlibrary.org/b/id/7078878-L.jpg',
    externalLinks: [{ label: 'Wikipedia', url: 'https://en.wikipedia.org/wiki/Dune_(novel)' }],
    externalIds: { goodreads: '234225', librarything: '9984', lccn: '65022547', oclc: '299999999', 'openlibrary.work': 'OL893415W' },
    isbns: '9780441172719',
    language: 'en',
    pageCount: 535,
    number: 1,
  })
  t.match(await get({ externalId: 'OL8M' }), {
    title: 'Der Wüstenplanet',
    summary: 'Sand.',
    year: 1978,
    month: null,
    authors: [
      { name: 'Frank Herbert', role: 'author' },
      { name: 'Ronald M. Hahn', role: 'translator' },
    ],
    coverUrl: 'https://covers.openlibrary.org/b/id/11481354-L.jpg',
    isbns: '9783453305236',
    language: 'de',
    pageCount: 612,
    number: null,
  })
  t.same(unmatched, [])
})

t.test('an edition works without its deleted work', async (t) => {
  const { get } = await openLibrary(t)
  t.match(await get({ externalId: 'OL9M' }), {
    title: 'A pamphlet',
    summary: null,
    year: 1965,
    month: null,
    day: null,
    authors: [],
    subjects: [],
    coverUrl: null,
    isbns: null,
    language: null,
    pageCount: null,
    number: 12,
  })
})

t.test('a work has its metadata in any form of its records', async (t) => {
  const { get, unmatched } = await openLibrary(t, { subjectsMax: 2 })
  t.match(await get({ externalId: 'OL893415W' }), {
    externalUrl: 'https://openlibrary.org/works/OL893415W',
    year: 1965,
    authors: [{ name: 'Frank Herbert', role: 'author' }],
    subjects: ['Dune (Imaginary place)', 'Fiction'],
    isbns: null,
    coverUrl: 'https://covers.openlibrary.org/b/id/11481354-L.jpg',
    externalIds: { 'openlibrary.work': 'OL893415W' },
  })
  const messiah = { externalId: 'OL893526W', title: 'Dune Messiah', summary: 'The second book.', year: 1969, coverUrl: null }
  t.match(await get({ externalId: 'OL893526W' }), { ...messiah, authors: [{ name: 'Frank Herbert' }] }, 'one of its authors was deleted')
  t.match(await get({ externalId: 'OL1W' }), messiah, 'it was merged into another')
  t.match(
    await get({ externalId: 'OL6W' }),
    { externalId: 'OL6W', title: null, summary: null, subjects: ['Alone'], authors: [], externalLinks: [], coverUrl: null, year: null },
    'every member has a wrong type',
  )
  t.same(unmatched, [])
})

t.test('missing entries and invalid responses have the right error code', async (t) => {
  const { get, host } = await openLibrary(t)
  for (const externalId of ['dune', 'OL79034A', '../OL893415W', 'OL893415W?x', '']) {
    await t.rejects(get({ externalId }), { code: 'not_found', message: /neither a work nor an edition/ }, externalId)
  }
  const cases: [externalId: string, code: string, said: RegExp][] = [
    ['OL404W', 'not_found', /https:\/\/openlibrary\.org\/works\/OL404W\.json was not found/],
    ['OL4W', 'not_found', /deleted/],
    ['OL2W', 'upstream', /loop/],
    ['OL5W', 'upstream', /redirects to an invalid path/],
    ['OL429W', 'rate_limited', /rate limit/],
    ['OL500W', 'upstream', /answered 503/],
    ['OL7W', 'upstream', /did not return valid JSON/],
    ['OL10W', 'upstream', /did not return a record/],
  ]
  for (const [externalId, code, message] of cases)
    await t.rejects(get({ externalId }), { code: code === 'not_found' ? code : 'unavailable', details: { code }, message }, externalId)
  t.equal((await host.plugins.get(id)).state, 'enabled', 'none of this counts against the plugin')
})

t.test('a book is matched by ISBN, with less confidence when the title differs', async (t) => {
  const { match, unmatched } = await openLibrary(t)
  t.match(await match({ title: 'Dune', isbn: '0-441-17271-7' }), { match: { externalId: 'OL7353617M' }, confidence: 1 })
  t.match(await match({ title: '', isbn: '0441172717' }), { match: { externalId: 'OL7353617M' }, confidence: 1 })
  t.match(await match({ title: 'Pride and prejudice', isbn: '0441172717' }), { match: { externalId: 'OL7353617M' }, confidence: 0.5 })
  t.same(unmatched, [])
})

t.test('a book without an ISBN is matched by its title, its author and its year', async (t) => {
  const { match, unmatched } = await openLibrary(t)
  const sure = (await match({ title: 'Dune', authors: ['Frank Herbert'], year: 1990, isbn: null })) as {
    match: unknown
    confidence: number
    alternatives: { externalId: string }[]
  }
  t.match(sure, { match: { externalId: 'OL893415W' }, confidence: 1 })
  t.same(
    sure.alternatives.map(({ externalId }) => externalId),
    ['OL893526W', 'OL5523110W'],
  )
  t.match(await match({ title: 'Dune', authors: ['Herbert, F.'] }), { match: { externalId: 'OL893415W' } }, 'by the title alone')
  t.match(
    await match({ title: 'Dune Messiah', year: 1965 }),
    { match: { externalId: 'OL893526W' }, confidence: 0.72 },
    'a year before the work appeared',
  )
  t.match(await match({ title: 'Something quite different' }), { match: null, confidence: 0, alternatives: [{ externalId: 'OL5523110W' }] })
  t.match(
    await match({ title: 'Dune', authors: ['Jane Austen'] }),
    { match: null, confidence: 0 },
    'a book with this title by another author',
  )
  t.same(await match({ title: ' ' }), { match: null, confidence: 0, alternatives: [] })
  t.same(unmatched, [])
})

t.test('a setting limits the search to one language', async (t) => {
  const { search, unmatched } = await openLibrary(t, { language: 'de' })
  t.match(await search({ query: 'dune', limit: 5 }), { results: [{ externalId: 'OL893415W' }] })
  t.same(unmatched, [])
})
