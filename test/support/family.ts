import type { Test } from 'tap'
import type { Access } from '#core/account/access.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

export interface Failure {
  error: string
  message: string
  details?: { path: string }[]
}

/** The rule of who may see everything. */
export const ALL = { allLibraries: true, libraryIds: [], age: null }

/** Two libraries: Kids with series for 6 and without an age, Adults with one for 18. Rita is a reader. */
export async function openFamily(t: Test) {
  const server = await openTestServer(t, { services: () => ({ templates: {} as never }) })
  const { database, adminToken: token } = server
  const [kids, adults] = [await addLibrary(database, { name: 'Kids' }), await addLibrary(database, { name: 'Adults' })]
  const add = async (library_id: string, title: string, age: number | null) => {
    const id = await addSeries(database, { library_id, title })
    await addBook(database, { library_id, series_id: id, title: `${title} 1` })
    await database('series_metadata').insert({ series_id: id, age_rating: age })
    return id
  }
  const series = { bear: await add(kids, 'Bear', 6), cat: await add(kids, 'Cat', null), noir: await add(adults, 'Noir', 18) }
  const rita = await server.signUp({ username: 'rita' })
  const path = `/api/v1/users/${rita.id}/access`
  const put = (body: object, headers?: Record<string, string>) =>
    server.request<Access & Failure>('PUT', path, {
      token,
      body,
      ...(headers && { headers: { authorization: `Bearer ${token}`, ...headers } }),
    })
  const titles = async (asked = rita.token) =>
    (await server.request<{ data: { title: string }[] }>('GET', '/api/v1/series', { token: asked })).json.data
      .map(({ title }) => title)
      .sort()
  return { server, database, token, kids, adults, series, rita, path, put, titles }
}
