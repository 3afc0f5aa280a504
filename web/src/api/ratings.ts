import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'

/** The user's rating of a series, from 1 to 100; null when there is none. */
export const ownRatingQuery = (seriesId: string) =>
  queryOptions({
    queryKey: ['ratings', seriesId],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/series/{seriesId}/rating', { params: { path: { seriesId } }, signal })),
  })

/** @param rating from 1 to 100, null for none @param notes that the user wrote elsewhere, to be kept */
export async function rateSeries(seriesId: string, rating: number | null, notes: string | null): Promise<void> {
  const params = { path: { seriesId } }
  await ask<unknown>(
    rating === null
      ? api.DELETE('/api/v1/series/{seriesId}/rating', { params })
      : api.PUT('/api/v1/series/{seriesId}/rating', { params, body: { rating, notes } }),
  )
  await refresh(['ratings', 'series', 'series-list', 'recommendations'])
}
