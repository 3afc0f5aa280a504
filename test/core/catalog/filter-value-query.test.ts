import t from 'tap'
import { listBooks } from '#core/catalog/book-query.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { FILTER_VALUES_MAX, listFilterValues, listSeriesWords } from '#core/catalog/filter-value-query.ts'
import { listSeries } from '#core/catalog/series-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addPeople, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.test('publishers by name, once in any case, with only what the caller may see', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const add = async (title: string, publisher: string | null, books = 1) => {
    const series_id = await addSeries(database, { library_id, title })
    if (books > 0) await addBook(database, { library_id, series_id, title })
    await database('series_metadata').insert({ series_id, publisher })
    return series_id
  }
  await add('One', 'Image')
  await add('Two', ' image ')
  await add('Three', 'Åse')
  await add('Four', null)
  await add('Five', '  ')
  await add('Six', 'x'.repeat(501))
  await add('Seven', 'Without Books', 0)
  const hidden = await add('Eight', 'Hidden House')
  await shareSeries(database, { seriesId: hidden, caller, mode: 'deny' })
  const { items, total } = await listSeriesWords(database, caller, 'publisher', { offset: 0, limit: 10 })
  t.same(
    items.map(({ name, seriesCount }) => [name.toLowerCase(), seriesCount]),
    [
      ['åse', 1],
      ['image', 2],
    ],
  )
  t.equal(total, 2)
  t.equal((await listSeriesWords(database, caller, 'publisher', { offset: 1, limit: 1 })).items[0]?.seriesCount, 2)
  t.match(await listSeriesWords(database, caller, 'publisher', { offset: 9, limit: 1 }), { items: [], total: 2 })
})

type Asked = Parameters<typeof listFilterValues>[2]

t.test('filter values have the numbers that a condition with the value finds', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const [library_id, other] = [await addLibrary(database), await addLibrary(database, { name: 'Other' })]
  const genreOf = async (name: string) => (await database('genres').insert({ name, name_key: name.toLowerCase() }, 'id'))[0].id
  const genres = {
    drama: await genreOf('Drama'),
    accented: await genreOf('Drãma'),
    quiet: await genreOf('Quiet'),
    secret: await genreOf('Secret'),
  }
  const add = async (title: string, library: string, genre_id: string, metadata: Record<string, unknown>) => {
    const series_id = await addSeries(database, { library_id: library, title })
    await database('series_metadata').insert({ series_id, ...metadata })
    await database('series_genres').insert({ series_id, genre_id })
    const books: string[] = []
    for (const number of [1, 2]) {
      const file = { file_format: number === 1 ? ('cbz' as const) : ('epub' as const), number }
      const book_id = await addBook(database, { library_id: library, series_id, title: `${title} ${number}`, ...file })
      await database('book_metadata').insert({ book_id, year: 1980 + number, publisher: title, language_iso: 'en' })
      books.push(book_id)
    }
    return { series_id, books }
  }
  const akira = await add('Akira', library_id, genres.drama, {
    publisher: 'Kodansha',
    language: 'ja',
    status: 'ended',
    age_rating: 16,
    year: 1982,
  })
  const bone = await add('Bone', other, genres.accented, {
    publisher: 'KODANSHA',
    language: 'en',
    status: 'ended',
    age_rating: 6,
    year: 1991,
  })
  const hidden = await add('Hidden', library_id, genres.secret, {
    publisher: 'Secret',
    language: 'xx',
    status: 'hiatus',
    age_rating: 18,
    year: 2001,
  })
  await database('book_genres').insert([
    { book_id: bone.books[0], genre_id: genres.quiet },
    { book_id: akira.books[0], genre_id: genres.drama },
  ])
  const otomo = { name: 'Otomo', role: 'writer' as const }
  for (const id of akira.books) await addPeople(database, { kind: 'book', id }, [otomo, { ...otomo, role: 'penciller' }])
  await addPeople(database, { kind: 'series', id: akira.series_id }, [otomo])
  await addPeople(database, { kind: 'book', id: bone.books[0] as string }, [{ name: 'Smith', role: 'writer' }])
  await addPeople(database, { kind: 'book', id: hidden.books[0] as string }, [{ name: 'Nobody', role: 'writer' }])
  await shareSeries(database, { seriesId: hidden.series_id, caller, mode: 'deny' })
  const values = async (asked: Asked) =>
    (await listFilterValues(database, caller, asked)).map(({ value, role, count }) => [role === null ? value : `${role}:${value}`, count])
  const found = async (of: Asked['of'], field: string, value: string) => {
    const name = field === 'age' ? 'ageRating' : field
    const comparison = ['age', 'year'].includes(field) ? { operator: 'eq', value: Number(value) } : { operator: 'is', value }
    const list = { filter: { condition: compileFilter({ [name]: comparison }, of, caller) }, sort: null, offset: 0, limit: 1 }
    return (await (of === 'series' ? listSeries : listBooks)(database, caller, list)).total
  }
  const table: [Asked, [string, number][]][] = [
    [{ of: 'series', field: 'genre' }, [['Drama', 2]]],
    [
      { of: 'books', field: 'genre' },
      [
        ['Drama', 4],
        ['Quiet', 1],
      ],
    ],
    [
      { of: 'series', field: 'person' },
      [
        ['penciller:Otomo', 1],
        ['writer:Otomo', 1],
        ['writer:Smith', 1],
      ],
    ],
    [
      { of: 'books', field: 'person' },
      [
        ['penciller:Otomo', 2],
        ['writer:Otomo', 2],
        ['writer:Smith', 1],
      ],
    ],
    [{ of: 'series', field: 'publisher' }, [['Kodansha', 2]]],
    [
      { of: 'books', field: 'publisher' },
      [
        ['Akira', 2],
        ['Bone', 2],
      ],
    ],
    [
      { of: 'series', field: 'language' },
      [
        ['en', 1],
        ['ja', 1],
      ],
    ],
    [{ of: 'books', field: 'language' }, [['en', 4]]],
    [{ of: 'series', field: 'status' }, [['ended', 2]]],
    [
      { of: 'books', field: 'format' },
      [
        ['cbz', 2],
        ['epub', 2],
      ],
    ],
    [
      { of: 'series', field: 'age' },
      [
        ['6', 1],
        ['16', 1],
      ],
    ],
    [
      { of: 'series', field: 'year' },
      [
        ['1982', 1],
        ['1991', 1],
      ],
    ],
    [
      { of: 'books', field: 'year' },
      [
        ['1981', 2],
        ['1982', 2],
      ],
    ],
    [{ of: 'series', field: 'tag' }, []],
  ]
  // Which of two spellings stands for both does not matter.
  const folded = (value: unknown) => String(value).toLowerCase().replace('ã', 'a')
  for (const [asked, expected] of table) {
    const listed = await values(asked)
    const said = `${asked.of} ${asked.field}`
    t.same(
      listed.map(([value, count]) => [folded(value), count]),
      expected.map(([value, count]) => [folded(value), count]),
      said,
    )
    for (const [value, count] of listed) t.equal(await found(asked.of, asked.field, String(value)), count, `${said} ${value}`)
  }
  t.same(await values({ of: 'series', field: 'person', search: 'OTÓ', role: 'writer' }), [['writer:Otomo', 1]])
  t.same(await values({ of: 'series', field: 'year', search: '99' }), [['1991', 1]])
  t.same(await values({ of: 'books', field: 'format', libraryId: other }), [
    ['cbz', 1],
    ['epub', 1],
  ])
  t.same(await values({ of: 'series', field: 'publisher', search: '%' }), [], 'no pattern')
  for (const asked of [
    { of: 'series', field: 'format' },
    { of: 'books', field: 'age' },
    { of: 'series', field: 'genre', role: 'writer' },
  ] as const)
    await t.rejects(listFilterValues(database, caller, asked), { code: 'invalid_value' })
  await database('series_metadata')
    .where('series_id', akira.series_id)
    .update({ language: 'x'.repeat(501) })
  t.same(await values({ of: 'series', field: 'language' }), [['en', 1]], 'no value that a condition refuses')
})

t.test('filter values are at most fifty, the most frequent first', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  for (let at = 0; at <= FILTER_VALUES_MAX; at++) {
    const series_id = await addSeries(database, { library_id, title: `S${at}` })
    await addBook(database, { library_id, series_id, title: `S${at}` })
    await database('series_metadata').insert({ series_id, year: at === 0 ? 1900 + FILTER_VALUES_MAX : 1900 + at })
  }
  const listed = await listFilterValues(database, caller, { of: 'series', field: 'year' })
  t.equal(listed.length, FILTER_VALUES_MAX)
  t.match(listed[0], { value: String(1900 + FILTER_VALUES_MAX), count: 2 })
})
