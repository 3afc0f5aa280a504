import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'

/** As many covers as a wide window shows. */
const NEWEST_MAX = 48
/** More errors would push the rest of the page away; the administration has all of them. */
const ERRORS_MAX = 20

/** The newest books of a library, with covers as they come. */
export const newestBooksQuery = (libraryId: string) =>
  queryOptions({
    queryKey: ['books', 'newest', libraryId],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/api/v1/libraries/{libraryId}/books/recently-added', {
          params: { path: { libraryId }, query: { page: 1, pageSize: NEWEST_MAX } },
          signal,
        }),
      ),
  })

/** The books of a library that could not be read, with the reasons. */
export const scanErrorsQuery = (libraryId: string) =>
  queryOptions({
    queryKey: ['books', 'errors', libraryId],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/books/errors', { params: { query: { libraryId, pageSize: ERRORS_MAX } }, signal })),
  })
