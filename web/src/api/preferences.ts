import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { queries } from '#api/queries.ts'

/** What the user keeps, by key. It can be anything: of another version, or of another program. Asked for at once, as each page needs some of it. */
export const preferencesQuery = queryOptions({
  queryKey: ['preferences'],
  queryFn: async ({ signal }): Promise<ReadonlyMap<string, unknown>> => {
    const { preferences } = await ask(api.GET('/api/v1/user/preferences', { signal }))
    return new Map(preferences.map(({ key, value }) => [key, value as unknown]))
  },
})

/** Changes what the server has now under a key, so that two tabs lose nothing of each other. Needs `progress-write`. @param change its result may have 64 KB as JSON */
export async function changePreference(key: string, change: (value: unknown) => unknown): Promise<void> {
  const preferences = await queries.fetchQuery({ ...preferencesQuery, staleTime: 0, networkMode: 'always' })
  const value = change(preferences.get(key) ?? null)
  await ask<unknown>(api.PUT('/api/v1/user/preferences/{key}', { params: { path: { key } }, body: { value: value as never } }))
  queries.setQueryData(preferencesQuery.queryKey, new Map([...preferences, [key, value]]))
}
