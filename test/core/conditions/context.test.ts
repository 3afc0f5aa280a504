import { readFileSync } from 'node:fs'
import t from 'tap'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { BookContext, SeriesContext } from '#core/conditions/context.ts'
import { isField, listFields, nearestField } from '#core/conditions/fields.ts'
import { getBookContext, getSeriesContext, listBookContexts, listSeriesContexts } from '#core/templates/context-query.ts'
import { findContract, namesInContract } from '#test/support/contract.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

const templates = readFileSync(new URL('../../../docs/templates.md', import.meta.url), 'utf8')
/** The names that contexts have, as documented for authors of templates. */
function documentedNames(heading: string): string[] {
  const section = templates.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| `metadata\.(\w+)` \|/gm)].map(([, name = '']) => name)
}
const BOOK_METADATA = documentedNames('Fields of a book')
const SERIES_METADATA = documentedNames('Fields of a series')

const checks = {
  book: { own: Compile(BookContext as TSchema), contract: findContract('BookContext') },
  series: { own: Compile(SeriesContext as TSchema), contract: findContract('SeriesContext') },
}

t.test('the documented names include all names of the contract', async (t) => {
  const missing = (documented: readonly string[], shape: string) => namesInContract(shape).filter((name) => !documented.includes(name))
  t.same(missing(BOOK_METADATA, 'BookContextMetadata'), [])
  t.same(missing(SERIES_METADATA, 'SeriesContextMetadata'), [])
  t.ok(namesInContract('BookContextMetadata').length > 60 && namesInContract('SeriesContextMetadata').length > 30)
})

t.test('contexts have every documented name and no other, empty or full', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Home', title_sort: 'Home, The', reading_direction: 'rtl' })
  const bare_series = await addSeries(database, { library_id, title: 'Bare' })
  const full = await addBook(database, {
    library_id,
    series_id,
    title: 'One',
    number: '1.5',
    volume: 2,
    chapter: '3.25',
    page_count: 7,
    file_size: 4_294_967_296,
  })
  const bare = await addBook(database, { library_id, series_id: bare_series, title: 'Nothing', state: 'pending' })
  const gone = await addBook(database, { library_id, series_id, title: 'Gone', deleted_at: new Date() })
  const authors = [
    { name: 'Ann', role: 'writer', sortName: 'A' },
    { name: 'Tom', role: 'translator' },
    { name: 'Tim', role: 'translator' },
  ]
  await database('book_metadata').insert({
    book_id: full,
    authors: JSON.stringify(authors),
    awards: JSON.stringify([{ name: 'Prize', won: true }]),
    subjects: ['a', 'b'],
    custom_metadata: JSON.stringify({ snake_case: 1, CamelCase: { 'x.y': null } }),
    locks: ['authors', 'awards', 'title', 'cover', 'writer'],
    genre: 'Drama',
    year: 1999,
    month: 12,
    day: 31,
    manga: false,
  })
  await database('series_metadata').insert({
    series_id,
    authors: JSON.stringify(authors),
    status: 'ended',
    total_chapter_count: 10.5,
    locks: ['authors', 'genres', 'alternateTitles'],
    custom_metadata: JSON.stringify({ Own: true }),
  })
  for (const kind of ['book', 'series']) {
    const owner = { [`${kind}_id`]: kind === 'book' ? full : series_id }
    await database(`${kind}_external_ids`).insert({ ...owner, source: 'plugin:org.example.x', external_id: '7', metadata_hash: 'h' })
    await database(`${kind}_external_links`).insert({ ...owner, source: 'mal', url: 'https://example.org/7' })
    for (const table of ['genres', 'tags']) {
      const [row] = await database(table).insert({ name: `${kind} ${table}`, name_key: `${kind} ${table}` }, 'id')
      await database(`${kind}_${table}`).insert({ ...owner, [`${table.slice(0, -1)}_id`]: row.id })
    }
  }
  await database('series_alternate_titles').insert({ series_id, label: 'ja', title: '家' })
  await database('series_external_ratings').insert({ series_id, source: 'mal', rating: 81.5, vote_count: 12 })

  const contexts = await listBookContexts(database, caller, [full, bare])
  t.equal(contexts.size, 2)
  for (const context of [...contexts.values(), await getBookContext(database, caller, gone)]) {
    t.same([...checks.book.own.Errors(context)], [], 'our own schema')
    t.same(checks.book.contract(context), [], 'the contract')
    t.same(Object.keys(context.metadata).toSorted(), BOOK_METADATA.toSorted())
    t.same(Object.keys(context.series.metadata).toSorted(), SERIES_METADATA.toSorted())
    t.same(
      Object.keys(context).toSorted(),
      [
        'type',
        'bookId',
        'seriesId',
        'libraryId',
        'fileFormat',
        'fileSize',
        'pageCount',
        'customMetadata',
        'externalIds',
        'metadata',
        'series',
      ].toSorted(),
    )
  }
  const context = contexts.get(full)
  t.match(context, {
    type: 'book',
    bookId: full,
    fileSize: 4_294_967_296,
    pageCount: 7,
    customMetadata: { snake_case: 1, CamelCase: { 'x.y': null } },
    externalIds: { 'plugin:org.example.x': { id: '7', url: null, hash: 'h' } },
    metadata: {
      number: 1.5,
      chapter: 3.25,
      volume: 2,
      translator: 'Tom, Tim',
      authors: [{ name: 'Ann', role: 'writer', sortName: 'A' }, { sortName: null }, {}],
      awards: [{ name: 'Prize', category: null, won: true, year: null }],
      genres: ['book genres'],
      tags: ['book tags'],
      externalLinks: [{ source: 'mal', url: 'https://example.org/7', externalId: null }],
      authorsJsonLock: true,
      awardsJsonLock: true,
      titleLock: true,
      coverLock: true,
      yearLock: false,
      manga: false,
    },
    series: {
      type: 'series',
      seriesId: series_id,
      bookCount: 1,
      customMetadata: { Own: true },
      metadata: {
        title: 'Home',
        titleSort: 'Home, The',
        readingDirection: 'rtl',
        status: 'ended',
        totalChapterCount: 10.5,
        alternateTitles: [{ label: 'ja', title: '家' }],
        externalRatings: [{ source: 'mal', rating: 81.5, votes: 12 }],
        genresLock: true,
        tagsLock: false,
      },
    },
  })
  t.match(contexts.get(bare), {
    customMetadata: null,
    externalIds: {},
    metadata: { authors: [], awards: [], subjects: [], genres: [], summary: null, translator: null },
  })

  const series = await getSeriesContext(database, caller, series_id)
  t.same(series, context?.series)
  t.same([...checks.series.own.Errors(series)], [])
  t.same(checks.series.contract(series), [])

  await shareSeries(database, { seriesId: series_id, caller, mode: 'deny' })
  await t.rejects(getBookContext(database, caller, full), { code: 'not_found' })
  await t.rejects(getSeriesContext(database, caller, series_id), { code: 'not_found' })
  t.same([...(await listBookContexts(database, caller, [full, bare])).keys()], [bare])
  t.same(
    [...(await listSeriesContexts(database, null, [series_id, bare_series])).keys()].toSorted(),
    [series_id, bare_series].toSorted(),
    'the server itself sees all books',
  )
})

t.test('one statement for any number of books', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const ids: string[] = []
  for (let n = 0; n < 6; n++) {
    const series_id = await addSeries(database, { library_id, title: `S ${n}` })
    for (let m = 0; m < 5; m++) ids.push(await addBook(database, { library_id, series_id, title: `B ${m}` }))
  }
  const statements: string[] = []
  database.on('query', ({ sql }: { sql: string }) => statements.push(sql))
  t.equal((await listBookContexts(database, null, ids)).size, 30)
  t.equal(statements.length, 1)
  t.same(await listBookContexts(database, null, []), new Map())
})

t.test('every field has a description and a type', async (t) => {
  for (const kind of ['book', 'series'] as const) {
    for (const { path, type, description } of listFields(kind)) {
      t.match(description, /^\S.{5,}\.$|^[A-Z].+, .*\.?$/s, `${kind} ${path}: ${description}`)
      t.not(type, '', path)
    }
  }
  const paths = listFields('book').map(({ path }) => path)
  for (const path of [
    'metadata.title',
    'metadata.authors[].name',
    'externalIds.<source>.id',
    'customMetadata.<field>',
    'series.metadata.externalRatings[].rating',
  ])
    t.ok(paths.includes(path), path)
  for (const name of BOOK_METADATA) t.ok(paths.includes(`metadata.${name}`), name)
})

t.test('the nearest field is suggested for an unknown name', async (t) => {
  const table: [kind: 'book' | 'series', path: string, nearest: string | null | 'known'][] = [
    ['book', 'metadata.title', 'known'],
    ['book', 'metadata.authors.0.name', 'known'],
    ['book', 'metadata.authors[].name', 'known'],
    ['book', 'metadata.genres.length', 'known'],
    ['book', 'externalIds.plugin:a.b.c.id', 'known'],
    ['book', 'externalIds.plugin:a', 'known'],
    ['book', 'series.externalIds[].id', 'known'],
    ['book', 'customMetadata.anything.at.all', 'known'],
    ['book', 'series.metadata.title', 'known'],
    ['series', 'series.metadata.title', 'metadata.title'],
    ['book', 'metadata.titel', 'metadata.title'],
    ['book', 'title', 'metadata.title'],
    ['book', 'metadata.authors[].nam', 'metadata.authors[].name'],
    ['book', 'Metadata.Year', 'metadata.year'],
    ['book', 'utterly.beside.the.point.of.it', null],
  ]
  for (const [kind, path, nearest] of table) {
    t.same(isField(kind, path) ? 'known' : nearestField(kind, path), nearest, path)
  }
  t.notOk(isField('book', 'externalIds..id'), 'a name of any value is not empty')
  t.ok(
    listFields('series')
      .concat(listFields('book'))
      .every(({ path }) => path.split('<').length <= 2),
    'one such name in a field',
  )
  t.equal(nearestField('book', `metadata.title${'x'.repeat(90)}`), null, 'too long for a typing error')
})

t.test('a long name is not compared with every field letter by letter', onlyCost, async (t) => {
  const long = 'metadata.authors'.repeat(4_000)
  const begun = threadCpuMs()
  for (let count = 0; count < 100; count++) t.notOk(isField('book', long) || nearestField('book', long) !== null)
  t.ok(threadCpuMs() - begun < 5_000, 'length times length would be 400 billion steps')
})
