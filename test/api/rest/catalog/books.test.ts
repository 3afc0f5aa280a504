import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { analysisRoutes } from '#api/rest/catalog/analyses.ts'
import { bookRoutes } from '#api/rest/catalog/books.ts'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import type { AdjacentBooks, Book, BooksWithErrors } from '#core/catalog/book.ts'
import type { Series } from '#core/catalog/series.ts'
import { findContract } from '#test/support/contract.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

interface List<Item> {
  data: Item[]
  links: Record<'self' | 'first' | 'last' | 'next' | 'prev', string | null>
  page: number
  pageSize: number
  total: number
  totalPages: number
}
interface Failure {
  error: string
  message: string
}

const checkList = findContract('PaginatedBooks')
const checkBook = findContract('Book')
const checkErrors = findContract('BooksWithErrors')
const NOWHERE = '00000000-0000-4000-8000-000000000000'

async function openShelf(t: Test, options: { legacyNames?: boolean } = {}) {
  const dataFolder = await mkdtemp(join(tmpdir(), 'carrel-books-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const settings = { dataFolder, compatibility: { legacyNames: options.legacyNames ?? false } }
  const server = await openTestServer(t, { routes: [...analysisRoutes, ...bookRoutes, ...seriesRoutes], settings })
  const { database } = server
  const library_id = await addLibrary(database)
  const run = await addSeries(database, { library_id, title: 'Run' })
  const secret = await addSeries(database, { library_id, title: 'Secret' })
  const ids: string[] = []
  for (let n = 1; n <= 12; n++) ids.push(await addBook(database, { library_id, series_id: run, title: `Issue ${n}`, number: n }))
  const hidden = await addBook(database, { library_id, series_id: secret, title: 'Hidden', state: 'failed' })
  await database('book_errors').insert({ book_id: hidden, error_type: 'parser', message: 'Cut off', fatal: true })
  return {
    server,
    database,
    library_id,
    run,
    secret,
    ids,
    hidden,
    get: <T>(path: string) => server.request<T>('GET', path, { token: server.adminToken }),
  }
}

t.test('books are listed by filter, order and page', async (t) => {
  const { server, get, library_id, run, secret } = await openShelf(t)
  const first = await get<List<Book>>('/api/v1/books')
  t.equal(first.status, 200)
  t.same(checkList(first.json), [])
  t.match(first.json, { page: 1, pageSize: 50, total: 13, totalPages: 1, links: { next: null, prev: null } })
  t.same(
    first.json.data.map((book) => book.title),
    ['Hidden', ...Array.from({ length: 12 }, (_, index) => `Issue ${index + 1}`)],
    'Issue 10 follows Issue 9',
  )

  const walked: string[] = []
  for (let next: string | null = `/api/v1/books?seriesId=${run}&sort=number,desc&pageSize=5`; next; ) {
    const page: List<Book> = (await get<List<Book>>(next)).json
    t.same(checkList(page), [])
    walked.push(...page.data.map((book) => book.title))
    next = page.links.next
  }
  t.same(
    walked,
    Array.from({ length: 12 }, (_, index) => `Issue ${12 - index}`),
    'following the links keeps filter and order',
  )
  const beyond = await get<List<Book>>('/api/v1/books?page=99&pageSize=600')
  t.match(beyond.json, { data: [], page: 99, pageSize: 500, total: 13 })

  t.equal((await get<List<Book>>(`/api/v1/libraries/${library_id}/books?sort=title,desc`)).json.total, 13)
  t.equal((await get<List<Book>>(`/api/v1/books?libraryId=${NOWHERE}`)).json.total, 0)
  t.equal((await get(`/api/v1/libraries/${NOWHERE}/books`)).status, 404)
  t.equal((await get(`/api/v1/libraries/${NOWHERE}/series`)).status, 404)
  for (const query of ['sort=color', 'sort=title,up', 'page=0', 'pageSize=0', 'page=x', 'libraryId=7', 'includeDeleted=maybe']) {
    const answer = await get<Failure>(`/api/v1/books?${query}`)
    t.match([answer.status, answer.json], [400, { error: 'invalid_request' }], query)
  }

  const list = (body: unknown, query = '') =>
    server.request<List<Book>>('POST', `/api/v1/books/list${query}`, { token: server.adminToken, body })
  const posted = await list({}, '?page=2&pageSize=5&sort=number,asc')
  t.equal(posted.status, 200)
  t.same(checkList(posted.json), [])
  t.match(posted.json, { page: 2, links: { next: '/api/v1/books/list?page=3&pageSize=5&sort=number%2Casc' } })
  t.same(
    (await list({ condition: { title: { operator: 'is', value: 'issue 7' } } })).json.data.map(({ title }) => title),
    ['Issue 7'],
  )
  t.same(
    (await list({ fullTextSearch: '7 run' })).json.data.map(({ title }) => title),
    ['Issue 7'],
  )
  t.equal((await list({ fullTextSearch: 'x'.repeat(501) })).status, 422)
  const listed = (path: string, body: unknown) =>
    server.request<List<Series> & { group: string }[]>('POST', `/api/v1/series/${path}`, { token: server.adminToken, body })
  t.equal((await listed('list?sort=release_date,desc', { condition: { name: { operator: 'is', value: 'run' } } })).json.total, 1)
  t.equal((await listed('list', { condition: { name: { operator: 'eq', value: 'run' } } })).status, 400)
  t.same((await listed('list/alphabetical-groups', {})).json, [
    { group: 'r', count: 1 },
    { group: 's', count: 1 },
  ])
  t.equal((await listed('search', { query: 'secr' })).json.length, 1)
  const grouped = (body: unknown, token = server.adminToken) =>
    server.request<{ group: string; count: number }[]>('POST', '/api/v1/books/list/alphabetical-groups', { token, body })
  t.same((await grouped({})).json, [
    { group: 'h', count: 1 },
    { group: 'i', count: 12 },
  ])
  t.same((await grouped({ condition: { title: { operator: 'contains', value: '1' } }, fullTextSearch: 'run' })).json, [
    { group: 'i', count: 4 },
  ])
  t.same((await grouped({ condition: { title: { operator: 'is', value: 'none' } } })).json, [])
  t.equal((await grouped({ condition: { titel: { operator: 'is', value: 'x' } } })).status, 400)
  for (const sort of [
    'name',
    'date_added',
    'date_updated',
    'year',
    'date_read',
    'book_count',
    'rating',
    'community_rating',
    'external_rating',
  ])
    t.equal((await get<List<Series>>(`/api/v1/series?sort=${sort},desc&genres=none`)).json.total, 0, sort)
  t.equal((await list({ condition: null, fullTextSearch: '  ', includeDeleted: true })).json.total, 13)
  for (const body of [
    { condition: { titel: { operator: 'is', value: 'x' } } },
    { condition: {} },
    { condition: [] },
    { fullTextSearch: 5 },
    { conditions: {} },
    { includeDeleted: 1 },
    [],
  ]) {
    t.equal((await list(body)).status, 400, JSON.stringify(body))
  }

  const series = await get<List<Series>>(`/api/v1/series?sort=book_count,desc&libraryId=${library_id}`)
  t.same(
    series.json.data.map(({ title, bookCount }) => [title, bookCount]),
    [
      ['Run', 12],
      ['Secret', 1],
    ],
  )
  t.equal((await get<List<Series>>(`/api/v1/libraries/${library_id}/series`)).json.total, 2)
  t.match((await get<Series>(`/api/v1/series/${secret}`)).json, { id: secret, title: 'Secret', libraryName: 'Shelf' })
  const books = (await get<Book[]>(`/api/v1/series/${run}/books`)).json
  t.same([books.length, books[11]?.title], [12, 'Issue 12'])
  t.equal((await get('/api/v1/series?sort=title')).status, 400)
})

t.test('one book, its neighbors, and books with errors', async (t) => {
  const { get, ids, hidden, secret } = await openShelf(t)
  const [one, two, three] = ids
  const detail = await get<{ book: Book; metadata: unknown }>(`/api/v1/books/${two}`)
  t.same(Object.keys(detail.json), ['book', 'metadata'])
  t.same(checkBook(detail.json.book), [])
  t.match(detail.json, { book: { id: two, title: 'Issue 2' }, metadata: { bookId: String, locks: Object } })
  t.notOk('koreaderHash' in detail.json.book)
  const around = (await get<AdjacentBooks>(`/api/v1/books/${two}/adjacent`)).json
  t.same([around.prev?.id, around.next?.id], [one, three])
  t.equal((await get<AdjacentBooks>(`/api/v1/books/${one}/adjacent`)).json.prev, null)

  const errors = await get<BooksWithErrors>('/api/v1/books/errors')
  t.same(checkErrors(errors.json), [])
  t.match(errors.json, { page: 0, pageSize: 50, totalBooksWithErrors: 1, totalPages: 1, errorCounts: { parser: 1 } })
  t.match(errors.json.groups, [
    { errorType: 'parser', label: 'Parser Error', count: 1, books: [{ book: { id: hidden, analysisError: 'Cut off' } }] },
  ])
  t.equal((await get<BooksWithErrors>(`/api/v1/books/errors?page=1&pageSize=900&seriesId=${secret}&errorType=parser`)).json.pageSize, 500)
  const ofBook = async (bookId = '') => (await get<BooksWithErrors>(`/api/v1/books/errors?bookId=${bookId}`)).json
  t.match(await ofBook(hidden), { totalBooksWithErrors: 1, groups: [{ books: [{ book: { id: hidden } }] }] })
  t.match(await ofBook(one), { totalBooksWithErrors: 0, groups: [], errorCounts: {} })
  for (const query of ['page=-1', 'pageSize=0', 'errorType=bad_luck', 'bookId=one'])
    t.equal((await get(`/api/v1/books/errors?${query}`)).status, 400, query)
  for (const path of [
    `books/${NOWHERE}`,
    `books/${NOWHERE}/adjacent`,
    `series/${NOWHERE}`,
    `series/${NOWHERE}/books`,
    `series/${NOWHERE}/thumbnail`,
  ]) {
    const answer = await get<Failure>(`/api/v1/${path}`)
    t.match([answer.status, answer.json], [404, { error: 'not_found' }], path)
  }
  t.equal((await get('/api/v1/books/not-a-uuid')).status, 400)
})

t.test('older clients get the names they know', async (t) => {
  const { get, ids, run } = await openShelf(t, { legacyNames: true })
  const { book } = (await get<{ book: Book }>(`/api/v1/books/${ids[0]}`)).json
  t.type(book.readerHash, 'string')
  t.equal(book.koreaderHash, book.readerHash)
  const answers = [
    (await get<List<Book>>('/api/v1/books')).json.data,
    (await get<Book[]>(`/api/v1/series/${run}/books`)).json,
    (await get<BooksWithErrors>('/api/v1/books/errors')).json.groups.flatMap((group) => group.books.map((entry) => entry.book)),
    Object.values((await get<AdjacentBooks>(`/api/v1/books/${ids[1]}/adjacent`)).json) as Book[],
  ]
  for (const books of answers) t.ok(books.length > 0 && books.every((found) => found.koreaderHash === found.readerHash))
})

t.test('who may not see a series finds nothing of it anywhere', async (t) => {
  const { server, database, library_id, secret, hidden, ids } = await openShelf(t)
  const { id: userId, token } = await server.signUp({ username: 'restricted' })
  await shareSeries(database, { seriesId: secret, caller: { ...(await addCaller(database)), userId }, mode: 'deny' })
  const get = <T>(path: string) => server.request<T>('GET', path, { token })
  for (const path of [
    `books/${hidden}`,
    `books/${hidden}/adjacent`,
    `series/${secret}`,
    `series/${secret}/books`,
    `series/${secret}/thumbnail`,
  ]) {
    const answer = await get<Failure>(`/api/v1/${path}`)
    t.match([answer.status, answer.json], [404, { error: 'not_found' }], path)
  }
  for (const path of ['books', `libraries/${library_id}/books`, `books?includeDeleted=true&libraryId=${library_id}`]) {
    const { json } = await get<List<Book>>(`/api/v1/${path}`)
    t.same([json.total, json.data.some((book) => book.id === hidden)], [12, false], path)
  }
  t.equal((await get<List<Book>>(`/api/v1/books?seriesId=${secret}`)).json.total, 0)
  t.equal((await server.request<List<Book>>('POST', '/api/v1/books/list', { token, body: {} })).json.total, 12)
  for (const path of ['series', `libraries/${library_id}/series`]) t.equal((await get<List<Series>>(`/api/v1/${path}`)).json.total, 1, path)
  for (const query of ['', `?bookId=${hidden}`])
    t.match((await get<BooksWithErrors>(`/api/v1/books/errors${query}`)).json, { errorCounts: {}, groups: [], totalBooksWithErrors: 0 })
  t.equal((await get(`/api/v1/books/${ids[0]}`)).status, 200)
  t.equal((await server.request('GET', '/api/v1/books')).status, 401, 'and nobody sees anything unnamed')
})
