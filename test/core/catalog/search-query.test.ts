import t from 'tap'
import { listBooks } from '#core/catalog/book-query.ts'
import { readSearch } from '#core/catalog/search-query.ts'
import { listSeries } from '#core/catalog/series-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.test('words are found in any case, with any accents, in any order, and by their beginning', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series = async (title: string) => await addSeries(database, { library_id, title })
  const [hugo, manga, ghoul, korean] = [
    await series('Les Misérables'),
    await series('漫画の本'),
    await series('東京喰種'),
    await series('한국어 이야기'),
  ]
  const book = async (title: string, series_id = hugo) => await addBook(database, { library_id, series_id, title })
  const fantine = await book('Fantine: Łódź & Straße')
  await book('Part 2, Cosette')
  await book('第一巻', manga)
  await book('１２巻', ghoul)
  await book('첫째', korean)
  await database('book_metadata').insert({
    book_id: fantine,
    authors: JSON.stringify([{ name: 'Victor Hugo', role: 'author' }]),
    isbns: '9780930289232',
    summary: 'Jean Valjean, 24601',
  })
  const find = async (search: string) =>
    (await listBooks(database, caller, { filter: { search: readSearch(search) }, sort: null, offset: 0, limit: 50 })).items.map(
      ({ title }) => title,
    )
  const one = ['Fantine: Łódź & Straße']
  for (const text of [
    'fantine',
    'FANTINE',
    'fant',
    'lodz fantine',
    'strasse',
    'STRASSE misera',
    'hugo fant',
    '9780930289232',
    'valjean',
    '24601 victor',
    'fantine — "łódź"!',
  ])
    t.same(await find(text), one, text)
  t.same((await find('misérables')).length, 2, 'books are found by their series')
  t.same(await find('MISERABLES COSETTE'), ['Part 2, Cosette'])
  t.same(await find('antine'), [], 'the middle of a word is no beginning')
  t.same(await find('漫画'), ['第一巻'])
  t.same(await find('画の'), ['第一巻'])
  t.same(await find('本'), ['第一巻'])
  t.same(await find('京喰'), ['１２巻'])
  t.same(await find('12巻'), ['１２巻'], 'full-width digits are digits')
  t.same(await find('이야기'), ['첫째'])
  t.same(await find('  '), await find(''), 'blanks look for nothing')
  for (const odd of ['!!!', "'", '\\', ':*', '&|!()', '%', "a' | 'b", '<->', '\u0301']) t.same(await find(odd), [], odd)

  const found = async (search: string) =>
    (await listSeries(database, caller, { filter: { search }, sort: null, offset: 0, limit: 50 })).items.map(({ title }) => title)
  t.same(await found('miserables'), ['Les Misérables'])
  await database('series_alternate_titles').insert({ series_id: ghoul, label: 'en', title: 'Tokyo Ghoul' })
  t.same(await found('ghoul'), ['東京喰種'])
  t.same(await find('ghoul'), ['１２巻'], 'and its books with it')
  await database('series_alternate_titles').delete()
  t.same(await find('ghoul'), [])
  await database('series').where({ id: hugo }).update({ title: 'The Wretched' })
  t.same([await found('wretched'), (await find('wretched')).length, await find('miserables')], [['The Wretched'], 2, []])
  await database('books').where({ id: fantine }).update({ title: 'Renamed' })
  t.same([await find('fantine'), await find('renamed')], [[], ['Renamed']])
  await database('book_metadata').update({ summary: 'wretched wretched' })
  await book('Wretched', manga)
  t.same((await find('wretched'))[0], 'Wretched', 'a title says more than a summary')
  await shareSeries(database, { seriesId: hugo, caller, mode: 'deny' })
  t.same(await find('wretched'), ['Wretched'])
  t.throws(() => readSearch('x'.repeat(501)), { code: 'invalid_value' })
  t.equal(readSearch('📚'.repeat(500))?.length, 1_000, 'characters count, as in the schemas of requests')
  await database('series').delete()
  t.same([await database('book_search'), await database('series_search')], [[], []])
})

t.test('the total follows every change of the matching books', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const other_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'One' })
  const other_series = await addSeries(database, { library_id: other_id, title: 'Two' })
  const ids: string[] = []
  for (let n = 1; n <= 4; n++) ids.push(await addBook(database, { library_id, series_id, title: `Dragon ${n}` }))
  const total = async (filter: object = {}) => {
    const list = await listBooks(database, caller, { filter: { search: 'dragon', ...filter }, sort: null, offset: 0, limit: 50 })
    t.equal(list.items.length, list.total, 'as many as are counted')
    return list.total
  }
  t.equal(await total(), 4)
  await database('books').where('id', ids[0]).update({ deleted_at: new Date() })
  t.equal(await total(), 3, 'a book with a missing file')
  t.equal(await total({ includeDeleted: true }), 4)
  await database('books').where('id', ids[0]).update({ deleted_at: null })
  t.equal(await total(), 4, 'and came back')
  await database('books').where('id', ids[1]).update({ library_id: other_id, series_id: other_series })
  t.same([await total({ libraryId: other_id }), await total({ seriesId: series_id })], [1, 3], 'a book that was moved')
  await database('books').where('id', ids[2]).update({ title: 'Wyvern' })
  t.equal(await total(), 3, 'another title')
  await shareSeries(database, { seriesId: other_series, caller, mode: 'deny' })
  t.equal(await total(), 2, 'a series that is hidden')
  await database('books').where('id', ids[3]).delete()
  t.equal(await total(), 1)
})

t.test('each searched field is found with its latest value', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const book_id = await addBook(database, { library_id, series_id, title: 'One' })
  await database('book_metadata').insert({ book_id })
  await database('series_metadata').insert({ series_id })
  const people = (name: string) => JSON.stringify([{ name, role: 'writer' }])
  const documentOf = async (table: string) => (await database(table).first(database.raw('document::text AS document'))).document as string
  for (const [table, columns] of [
    ['book', ['original_title', 'subtitle', 'authors', 'isbns', 'publisher', 'summary']],
    ['series', ['authors', 'publisher', 'summary']],
  ] as const) {
    for (const column of columns) {
      for (const word of ['firstword', 'secondword']) {
        await database(`${table}_metadata`).update({ [column]: column === 'authors' ? people(word) : word, locks: [word] })
        t.match(await documentOf(`${table}_search`), word, `${column} of a ${table}`)
      }
      t.notMatch(await documentOf(`${table}_search`), 'firstword', `${column} of a ${table} as it was`)
      await database(`${table}_metadata`).update({ [column]: null })
      t.notMatch(await documentOf(`${table}_search`), 'secondword', `${column} of a ${table} that is gone`)
    }
  }
})

t.test('the first matches are the same whether all matches are counted or only a few', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id, title: 'Magazine' })
  // More than are sorted by rank.
  await database.raw(
    `INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, title)
     SELECT :library_id, :seriesId, 'p' || n, 'f', 'cbz', 1, 1, CASE WHEN n % 9 = 0 THEN 'Rare issue ' ELSE 'Issue ' END || n FROM generate_series(1, 2300) n`,
    { library_id, seriesId },
  )
  for (const [search, few, all] of [
    ['issue', 2_001, 2_300],
    ['rare', 255, 255],
    ['nothing', 0, 0],
  ] as const) {
    const list = { filter: { search }, sort: null, offset: 0, limit: 8 }
    const [exact, bounded] = [
      await listBooks(database, caller, list),
      await listBooks(database, await addCaller(database), { ...list, few: true }),
    ]
    t.same([exact.total, bounded.items], [all, exact.items], search)
    t.ok(bounded.total === few || bounded.total === all, `${bounded.total} of ${search}`)
    const series = await listSeries(database, caller, { ...list, few: true })
    t.equal(series.total, 0)
  }
})
