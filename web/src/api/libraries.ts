import { queryOptions } from '@tanstack/react-query'
import { askAllPages } from '#api/all-pages.ts'
import { api, ask } from '#api/client.ts'
import type { LibraryRecord } from '#api/records.ts'

/** All libraries that the user sees, by name. */
export const librariesQuery = queryOptions({
  queryKey: ['libraries'],
  queryFn: async ({ signal }): Promise<LibraryRecord[]> =>
    (await askAllPages((query) => ask(api.GET('/api/v1/libraries', { params: { query }, signal })))).data,
})
