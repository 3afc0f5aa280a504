import { queryOptions } from '@tanstack/react-query'
import { askAllPages } from '#api/all-pages.ts'
import { api, ask } from '#api/client.ts'

/** Ten thousand names: more than a browser shows well, and than anyone looks through. */
const PAGES_MAX = 20

/** All people of books and series by name, once for each of their roles. */
export const peopleQuery = queryOptions({
  queryKey: ['series-list', 'people'],
  queryFn: ({ signal }) => askAllPages((query) => ask(api.GET('/api/v1/authors', { params: { query }, signal })), PAGES_MAX),
})

export type WordKind = 'tags' | 'genres'

/** All tags or genres by name. */
export const wordsQuery = (kind: WordKind) =>
  queryOptions({
    queryKey: ['series-list', kind],
    queryFn: ({ signal }) =>
      askAllPages((query) => ask(api.GET(kind === 'tags' ? '/api/v1/tags' : '/api/v1/genres', { params: { query }, signal })), PAGES_MAX),
  })
