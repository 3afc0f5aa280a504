import { queryOptions } from '@tanstack/react-query'
import { askAllPages } from '#api/all-pages.ts'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { components } from '#api/schema.d.ts'

export type SharingTagRecord = components['schemas']['SharingTag']

/** The tags by which series are shared, by name. Needs `system-admin`, as all of this. */
export const sharingTagsQuery = queryOptions({
  queryKey: ['sharing-tags'],
  queryFn: async ({ signal }): Promise<SharingTagRecord[]> =>
    (await askAllPages((query) => ask(api.GET('/api/v1/admin/sharing-tags', { params: { query }, signal })))).data,
})

const SHOWS_TAGS = ['sharing-tags', 'filter-values', 'access']

/** Creates a tag, or changes one. @param tagId null for a new one */
export async function saveSharingTag(tagId: string | null, body: { name: string; description: string | null }): Promise<void> {
  await ask<unknown>(
    tagId === null
      ? api.POST('/api/v1/admin/sharing-tags', { body })
      : api.PATCH('/api/v1/admin/sharing-tags/{tagId}', { params: { path: { tagId } }, body }),
  )
  await refresh(SHOWS_TAGS)
}

/** Takes a tag from all series and users, and deletes it. @param isConfirmed also when somebody sees more series without it */
export async function removeSharingTag(tagId: string, isConfirmed: boolean): Promise<void> {
  const query = isConfirmed ? { confirm: true } : {}
  await ask<unknown>(api.DELETE('/api/v1/admin/sharing-tags/{tagId}', { params: { path: { tagId }, query } }))
  await refresh([...SHOWS_TAGS, 'series', 'series-list'])
}
