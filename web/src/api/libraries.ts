import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import type { LibraryRecord } from '#api/records.ts'

/** The API's longest page. */
const PAGE_SIZE = 500

/** All libraries that the user sees, by name. */
export const librariesQuery = queryOptions({
  queryKey: ['libraries'],
  queryFn: async ({ signal }): Promise<LibraryRecord[]> => {
    const libraries: LibraryRecord[] = []
    for (let page = 1, pages = 1; page <= pages; page++) {
      const answer = await ask(api.GET('/api/v1/libraries', { params: { query: { page, pageSize: PAGE_SIZE } }, signal }))
      libraries.push(...answer.data)
      pages = answer.totalPages
    }
    return libraries
  },
})
