import { join } from 'node:path'
import type { Test } from 'tap'
import type { Services } from '#api/http/services.ts'
import { routes } from '#api/routes.ts'
import { Server } from '#api/server.ts'
import { withoutMoment } from '#test/support/answer-text.ts'
import { addWalker, openComposedServer } from '#test/support/composed-server.ts'
import { enableKomga, KOMGA_NAMES } from '#test/support/komga-switch.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { buildRequest, type KnownValues } from '#test/support/request-builder.ts'

/** Routes whose answers are remembered. */
export const REMEMBERED = routes.filter(({ dependsOn }) => dependsOn !== undefined)

/** A condition for the lists that take one, which asks about the caller too. */
const UNREAD = { condition: { readStatus: { operator: 'is', value: 'unread' } } }

/** A condition on averages of all users. */
const WELL_RATED = { condition: { not: { communityRating: { operator: 'lt', value: 50 } } } }

export interface Asked {
  name: string
  method: string
  path: string
  body?: string
}

/** One request for each remembered route, and further ones with other orders and conditions. */
export function requestsOf(known: KnownValues): Asked[] {
  const requests = REMEMBERED.map((route): Asked => {
    const built = buildRequest(route, known)
    if ('unknown' in built) throw new Error(`${route.path}: ${built.unknown}`)
    return {
      name: `${route.method} ${route.path}`,
      method: route.method,
      path: built.path,
      ...(built.body !== undefined && { body: String(built.body) }),
    }
  })
  const more: Asked[] = [
    ...[
      '/api/v1/books?sort=last_read,desc',
      '/api/v1/series?sort=book_count,desc',
      '/api/v1/series?sort=rating,desc',
      '/api/v1/series?sort=community_rating,desc',
      '/api/v1/series?full=true',
      '/api/v1/books?full=true',
    ].map((path) => ({
      ...{ name: path, method: 'GET', path },
    })),
    ...['/api/v1/books/list', '/api/v1/series/list'].map((path) => ({
      name: `${path} unread`,
      method: 'POST',
      path,
      body: JSON.stringify(UNREAD),
    })),
    ...['/api/v1/series/list', '/api/v1/series/list/alphabetical-groups'].map((path) => ({
      name: `${path} well rated`,
      method: 'POST',
      path,
      body: JSON.stringify(WELL_RATED),
    })),
  ]
  return [...requests, ...more]
}

/** A server with a small library, an administrator and a reader. */
export async function openWorld(t: Test) {
  const composed = await openComposedServer(t)
  const { database, services, folder } = composed
  await enableKomga(database)
  const libraryId = await addLibrary(database, { path: join(folder, 'library') })
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Beta' })
  const besideSeriesId = await addSeries(database, { library_id: libraryId, title: 'Alpha' })
  const bookId = await addBook(database, { library_id: libraryId, series_id: seriesId, title: 'Two', number: 2 })
  const besideBookId = await addBook(database, { library_id: libraryId, series_id: besideSeriesId, title: 'One', number: 1 })
  const one = async (table: string, row: object) => (await database(table).insert(row, 'id'))[0].id as string
  const collectionId = await one('collections', { name: 'C', ordered: true })
  const readListId = await one('read_lists', { name: 'R' })
  const genreId = await one('genres', { name: 'Space', name_key: 'space' })
  const tagId = await one('sharing_tags', { name: 'kept away' })
  await database('collection_series').insert({ collection_id: collectionId, series_id: seriesId, position: 0 })
  await database('read_list_books').insert({ read_list_id: readListId, book_id: bookId, position: 0 })
  const users = [
    await addWalker({ database, services }, { role: 'admin', mode: 'deny', tagId }),
    await addWalker({ database, services }, { role: 'reader', mode: 'deny', tagId }),
  ]
  const known = { ...KOMGA_NAMES, libraryId, seriesId, bookId, besideSeriesId, besideBookId, collectionId, readListId, seriesTitle: 'Beta' }
  return { ...composed, known, genreId, tagId, users }
}

export const ask = async (url: string, { method, path, body }: Asked, token: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body }),
  })
  return {
    status: answer.status,
    etag: answer.headers.get('etag'),
    link: answer.headers.get('link'),
    text: withoutMoment(await answer.text()),
  }
}

/** A server that remembers nothing yet. */
export async function openFresh(services: Services) {
  const server = new Server(services)
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  return { url, close: () => server.close({ deadlineMs: 100 }) }
}
