import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import type { components, paths } from '#api/schema.d.ts'

export type FilterValueRecord = components['schemas']['FilterValue']
type Query = paths['/api/v1/filter-values']['get']['parameters']['query']

/** The most frequent values of a field with their numbers, at most 50. */
export const filterValuesQuery = (query: Query) =>
  queryOptions({
    queryKey: ['filter-values', query],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/filter-values', { params: { query }, signal })) as Promise<FilterValueRecord[]>,
  })

/** Names of the sharing tags. Needs `system-admin`. */
export const sharingTagsQuery = queryOptions({
  queryKey: ['sharing-tags'],
  queryFn: async ({ signal }): Promise<string[]> => {
    const answer = (await ask(api.GET('/api/v1/admin/sharing-tags', { signal }))) as unknown
    const list = Array.isArray(answer) ? answer : (answer as { data: unknown[] }).data
    return (list as { name: string }[]).map(({ name }) => name)
  },
})
