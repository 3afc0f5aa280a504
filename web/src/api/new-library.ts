import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import type { components } from '#api/schema.d.ts'

export type NewLibrary = components['schemas']['NewLibrary']
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

/** What a folder would become as a library. */
export const previewQuery = (path: string) =>
  queryOptions({
    queryKey: ['filesystem', 'preview', path],
    queryFn: ({ signal }) => ask(api.POST('/api/v1/libraries/preview-scan', { body: { path }, signal })),
    // It reads the whole folder.
    staleTime: 60_000,
  })

/** Creates a library and begins its first scan. */
export const createLibrary = (library: NewLibrary) => ask(api.POST('/api/v1/libraries', { body: { ...library, scanImmediately: true } }))
