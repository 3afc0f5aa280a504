import t from 'tap'
import { bookRoutes } from '#api/rest/catalog/books.ts'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import { taxonomyRoutes } from '#api/rest/catalog/taxonomy.ts'
import { progressRoutes } from '#api/rest/reading/progress.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

const routes = [...bookRoutes, ...seriesRoutes, ...taxonomyRoutes, ...progressRoutes]

t.test('an app finds what has changed, by time and in its order', async (t) => {
  const server = await openTestServer(t, { routes })
  const { database } = server
  const library_id = await addLibrary(database)
  const ids: { books: string[]; series: string[] } = { books: [], series: [] }
  for (const title of ['One', 'Two', 'Three']) {
    const series_id = await addSeries(database, { library_id, title })
    ids.series.push(series_id)
    ids.books.push(await addBook(database, { library_id, series_id, title, page_count: 10 }))
  }
  const ask = async <T>(method: string, path: string, body?: unknown) => {
    const answer = await server.request<T>(method, `/api/v1/${path}`, { token: server.adminToken, ...(body !== undefined && { body }) })
    if (answer.status >= 300) t.fail(`${method} ${path}: ${answer.text}`)
    return answer.json
  }
  const latest = async (kind: 'books' | 'series') =>
    (await ask<{ data: { title: string }[] }>('GET', `${kind}?sort=updated_at,desc`)).data.map(({ title }) => title)
  const after = async (kind: 'books' | 'series', value: string) => {
    const condition = { updatedAt: { operator: 'after', value } }
    return (await ask<{ data: { title: string }[] }>('POST', `${kind}/list`, { condition })).data.map(({ title }) => title)
  }
  for (const kind of ['books', 'series'] as const) {
    const [first, second] = ids[kind] as [string, string]
    await ask('PUT', `${kind}/${first}/tags`, { tags: ['new'] })
    t.equal((await latest(kind))[0], 'One', `${kind} with another tag`)
    await ask('PUT', `${kind}/${second}/genres`, { genres: ['Space'] })
    t.same((await latest(kind)).slice(0, 2), ['Two', 'One'], `${kind} with another genre`)
    const now = new Date().toISOString()
    t.same(await after(kind, now), [])
    await ask('PUT', `books/${ids.books[2]}/progress`, { currentPage: 3 })
    await ask('POST', `series/${ids.series[2]}/read`)
    t.same(await after(kind, now), [], `progress changes no ${kind}`)
    const tags = await ask<{ data: { id: string; name: string }[] }>('GET', 'tags')
    await ask('DELETE', `tags/${tags.data.find(({ name }) => name === 'new')?.id}`)
    t.same(await after(kind, now), ['One'], `${kind} whose tag is deleted`)
  }
})
