import t from 'tap'
import { bookRoutes } from '#api/rest/catalog/books.ts'
import { collectionRoutes } from '#api/rest/catalog/collections.ts'
import { homeShelfRoutes } from '#api/rest/catalog/home-shelves.ts'
import { readListRoutes } from '#api/rest/catalog/read-lists.ts'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

type Item = Record<string, unknown>

t.test('every list of books or series can be had full and in another order, and those without pages as short as one likes', async (t) => {
  const server = await openTestServer(t, {
    routes: [...bookRoutes, ...seriesRoutes, ...homeShelfRoutes, ...collectionRoutes, ...readListRoutes],
  })
  const { database, adminToken: token } = server
  const { id: user_id } = await database('users').first('id')
  const library_id = await addLibrary(database)
  const seriesIds: string[] = []
  const bookIds: string[] = []
  for (const name of ['A', 'B', 'C']) {
    const series_id = await addSeries(database, { library_id, title: `Series ${name}` })
    seriesIds.push(series_id)
    for (const part of ['1', '2', '3']) bookIds.push(await addBook(database, { library_id, series_id, title: `Book ${name}${part}` }))
    await database('want_to_read').insert({ user_id, series_id })
  }
  const post = (path: string, body: unknown) => server.request<Item>('POST', `/api/v1/${path}`, { token, body })
  const collection = (await post('collections', { name: 'All', seriesIds })).json.id
  const readList = (await post('read-lists', { name: 'All', bookIds })).json.id
  const progress = { user_id, current_page: 1, updated_at: new Date(), started_at: new Date() }
  const readOf = (title: string) => bookIds[['A1', 'A2', 'A3', 'B1', 'B2', 'B3', 'C1', 'C2', 'C3'].indexOf(title)]
  // Of each series one is finished for the deck; begun ones of each for what is in progress.
  const shelf = async (completed: boolean) => {
    await database('read_progress').delete()
    await database('read_progress').insert(['A1', 'B1', 'C1'].map((title) => ({ ...progress, book_id: readOf(title), completed })))
  }

  const books: [path: string, completed?: boolean, method?: 'POST'][] = [
    ['books'],
    ['books/list', false, 'POST'],
    ['books/in-progress'],
    ['books/on-deck', true],
    ['books/recently-added'],
    ['books/recently-read'],
    ['libraries/LIBRARY/books'],
    ['libraries/LIBRARY/books/in-progress'],
    ['libraries/LIBRARY/books/on-deck', true],
    ['libraries/LIBRARY/books/recently-added'],
    ['libraries/LIBRARY/books/recently-read'],
    ['read-lists/LIST/books'],
    ['series/SERIES/books'],
  ]
  const series: typeof books = [
    ['series'],
    ['series/list', false, 'POST'],
    ['series/search', false, 'POST'],
    ['series/in-progress'],
    ['series/recently-added'],
    ['series/recently-updated'],
    ['libraries/LIBRARY/series'],
    ['libraries/LIBRARY/series/in-progress'],
    ['libraries/LIBRARY/series/recently-added'],
    ['libraries/LIBRARY/series/recently-updated'],
    ['collections/COLLECTION/series'],
    ['user/want-to-read'],
  ]
  for (const [lists, field] of [
    [books, 'title'],
    [series, 'name'],
  ] as const) {
    for (const [path, completed = false, method = 'GET'] of lists) {
      await shelf(completed)
      const at = path
        .replace('LIBRARY', library_id)
        .replace('COLLECTION', String(collection))
        .replace('LIST', String(readList))
        .replace('SERIES', seriesIds[0] as string)
      const ask = async (query: string) => {
        const body = path.endsWith('search') ? { query: 'series' } : {}
        const answer = await server.request<Item[] | { data: Item[] }>(method, `/api/v1/${at}?${query}`, {
          token,
          ...(method === 'POST' && { body }),
        })
        t.equal(answer.status, 200, `${path}?${query}: ${answer.text.slice(0, 200)}`)
        return Array.isArray(answer.json) ? answer.json : answer.json.data
      }
      const up = (await ask(`sort=${field},asc`)).map(({ title }) => title as string)
      t.same(up, [...up].sort(), path)
      t.ok(up.length >= 3, `${path}: ${up.length}`)
      t.same(
        (await ask(`sort=${field},desc`)).map(({ title }) => title),
        [...up].reverse(),
        `${path}, turned round`,
      )
      const [full] = await ask('full=true')
      t.match(full, { metadata: { locks: Object }, genres: [], tags: [] }, `${path}, full`)
      const isArray = /recently|in-progress|search$|series\/SERIES/.test(path) && !/books\/(recently-added|in-progress)/.test(path)
      if (isArray) t.equal((await ask('limit=2')).length, 2, `${path}, two of them`)
      else t.equal((await ask('pageSize=2&page=2')).length, Math.min(2, up.length - 2), `${path}, a page`)
    }
  }
})
