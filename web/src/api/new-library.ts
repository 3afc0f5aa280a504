import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import type { NewLibrary, PreviewRequest } from '#api/records.ts'
import type { components } from '#api/schema.d.ts'

export type LibraryPreview = components['schemas']['PreviewLibraryScanAnswer']

/** The folders in which libraries may be (setting filesystem.roots). */
export const rootFoldersQuery = queryOptions({
  queryKey: ['filesystem', 'roots'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/filesystem/drives', { signal })),
})

/** What is in a folder of the server. */
export const folderQuery = (path: string) =>
  queryOptions({
    queryKey: ['filesystem', 'folder', path],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/filesystem/browse', { params: { query: { path } }, signal })),
  })

/** What a folder would become as a library. While another strategy is tried, the answer for the one before stands in: it compares them all. @param asked null for none */
export const previewQuery = (asked: PreviewRequest | null) => {
  const folder = JSON.stringify([asked?.path, asked?.allowedFormats, asked?.excludedPatterns])
  return queryOptions({
    queryKey: ['filesystem', 'preview', folder, asked?.seriesStrategy, asked?.seriesConfig],
    queryFn: ({ signal }) => ask(api.POST('/api/v1/libraries/preview-scan', { body: asked as PreviewRequest, signal })),
    enabled: asked !== null,
    placeholderData: (before, query) => (query?.queryKey[2] === folder ? before : undefined),
    // It reads the whole folder.
    staleTime: 60_000,
  })
}

/** Creates a library and begins its first scan. */
export const createLibrary = (library: NewLibrary) => ask(api.POST('/api/v1/libraries', { body: { ...library, scanImmediately: true } }))
