import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import type { components } from '#api/schema.d.ts'

/** Up to 8 results of each kind. */
export type FoundRecords = components['schemas']['Found']

export const searchQuery = (words: string) =>
  queryOptions({
    queryKey: ['search', words],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/search', { params: { query: { q: words } }, signal })),
  })
