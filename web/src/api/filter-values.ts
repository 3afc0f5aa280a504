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
