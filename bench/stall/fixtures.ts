import { copyToAll } from '#bench/stall/copies.ts'
import { largePictures } from '#bench/stall/files.ts'
import { send, sendFile } from '#bench/stall/input.ts'
import type { LibraryFixture } from '#bench/stall/library.ts'
import { largeConfig, largePlugin } from '#bench/stall/plugin.ts'
import { insertRepositories } from '#bench/stall/repository.ts'
import { awaitIdle } from '#bench/stall/tasks.ts'
import { PERMISSIONS } from '#core/account/permission.ts'
import { BOOK_EXPORT_FIELDS, SERIES_EXPORT_FIELDS } from '#core/exports/export-field-query.ts'
import type { RunningServer } from '#test/support/running-server.ts'

/** The maximum of a series; a user gets as many grants. */
const SHARING_TAGS = 100
/** Covers of one book and of one series. */
const COVERS = 2
/** The export of the largest library would take hours: it is canceled after this time. */
const EXPORT_MS = 60_000

/** Ids of the records that routes need. */
export interface Fixtures extends LibraryFixture {
  pluginId: string
  /** Hash of the package of the previous version. */
  sha256Before: string
  sha256: string
  userId: string
  apiKeyId: string
  sharingTagIds: string[]
  jobId: string
  exportId: string
  taskId: string
  titleId: string
  repositoryId: string
  callId: string
  recommendedId: string
  /** By kind of record. */
  coverIds: Record<'book' | 'series', string>
  externalIdIds: Record<'book' | 'series', string>
  genreId: string
  tagId: string
}

/** An export of every field of every series and book of the library. */
export const largeExport = (libraryId: string, format: string) => ({
  format,
  exportType: 'both',
  libraryIds: [libraryId],
  fields: Object.keys(SERIES_EXPORT_FIELDS),
  bookFields: Object.keys(BOOK_EXPORT_FIELDS),
})

async function createPlugin(server: RunningServer) {
  const install = async (version: string) => {
    const installed = await sendFile<{ plugin: { id: string }; sha256: string }>(server, '/api/v1/admin/plugins', largePlugin(version))
    await server.post(`/api/v1/admin/plugins/${installed.plugin.id}/consent`, { sha256: installed.sha256 })
    return { id: installed.plugin.id, sha256: installed.sha256 }
  }
  const [before, now] = [await install('1.0.0'), await install('1.1.0')]
  await server.get('/api/v1/user/plugins')
  await server.post(`/api/v1/user/plugins/${now.id}/enable`)
  await send(server, 'PATCH', `/api/v1/user/plugins/${now.id}/config`, { config: largeConfig('largest') })
  await server.post(`/api/v1/user/recommendations/refresh?pluginId=${now.id}`)
  const body = { action: { metadata: { action: 'get', contentType: 'series', params: { externalId: 'largest' } } } }
  const { callId } = await server.post<{ callId: string }>(`/api/v1/plugins/${now.id}/execute`, body)
  await awaitIdle(server)
  const { recommendations } = await server.get<{ recommendations: { externalId: string }[] }>('/api/v1/user/recommendations')
  return {
    ...{ pluginId: now.id, sha256: now.sha256, sha256Before: before.sha256, callId },
    recommendedId: recommendations[0]?.externalId ?? 'none',
  }
}

/** A user with as many grants as there are tags, and a series with as many tags as allowed. */
async function createAccounts(server: RunningServer, seriesId: string) {
  await send(server, 'PUT', '/api/v1/admin/settings/compatibilityApi.enabled', { value: 'true' })
  const id = async (path: string, body: unknown) => (await server.post<{ id: string }>(path, body)).id
  const userId = await id('/api/v1/users', { username: 'Grace', email: 'grace@example.org', password: 'Correct-horse-2' })
  const sharingTagIds: string[] = []
  for (let index = 0; index < SHARING_TAGS; index++) {
    const name = `${index} ${'Élan vital – ß 12, '.repeat(8)}`.slice(0, 100).trim()
    sharingTagIds.push(await id('/api/v1/admin/sharing-tags', { name, description: 'x'.repeat(500) }))
    await send(server, 'PUT', `/api/v1/users/${userId}/sharing-tags`, { sharingTagId: sharingTagIds.at(-1), accessMode: 'deny' })
  }
  await send(server, 'PUT', `/api/v1/series/${seriesId}/sharing-tags`, { sharingTagIds })
  const apiKeyId = await id('/api/v1/api-keys', { name: 'Large', permissions: [...PERMISSIONS] })
  return { userId, sharingTagIds, apiKeyId }
}

async function createPictures(server: RunningServer, { bookId, seriesId }: { bookId: string; seriesId: string }) {
  const { JPEG } = await largePictures()
  const ids = { book: '', series: '' }
  for (const [kind, path] of [
    ['book', `/api/v1/books/${bookId}`],
    ['series', `/api/v1/series/${seriesId}`],
  ] as const)
    for (let count = 0; count < COVERS; count++) ids[kind] = (await sendFile<{ id: string }>(server, `${path}/cover`, JPEG)).id
  return ids
}

/** Related metadata of a record: identifiers at services, links and ratings. */
async function createRelated(server: RunningServer, { bookId, seriesId }: { bookId: string; seriesId: string }) {
  const externalIdIds = { book: '', series: '' }
  for (const [kind, path] of [
    ['book', `/api/v1/books/${bookId}`],
    ['series', `/api/v1/series/${seriesId}`],
  ] as const) {
    const { id } = await server.post<{ id: string }>(`${path}/external-ids`, { source: 'mal', externalId: 'x' })
    externalIdIds[kind] = id
    await send(server, 'POST', `${path}/external-links`, { source: 'mal', url: 'https://example.org/' })
  }
  await send(server, 'POST', `/api/v1/series/${seriesId}/external-ratings`, { source: 'mal', rating: 50 })
  await send(server, 'PUT', `/api/v1/series/${seriesId}/rating`, { rating: 50, notes: 'x'.repeat(5_000) })
  await send(server, 'POST', `/api/v1/series/${seriesId}/genres`, { name: 'A genre' })
  await send(server, 'POST', `/api/v1/series/${seriesId}/tags`, { name: 'A tag' })
  await send(server, 'PUT', `/api/v1/user/want-to-read/${seriesId}`)
  const first = async (path: string) => ((await send(server, 'GET', path)) as { id: string }[] | { data: { id: string }[] } | null) ?? []
  const idOf = (list: unknown): string =>
    (Array.isArray(list) ? list : (Object.values(list as object).find(Array.isArray) ?? []))[0]?.id ?? ''
  return {
    externalIdIds,
    genreId: idOf(await first(`/api/v1/series/${seriesId}/genres`)),
    tagId: idOf(await first(`/api/v1/series/${seriesId}/tags`)),
    titleId: idOf(await first(`/api/v1/series/${seriesId}/alternate-titles`)),
  }
}

/** Creates the records besides the library that routes need. */
export async function createFixtures(server: RunningServer, library: LibraryFixture, dataFolder: string): Promise<Fixtures> {
  const { libraryId, bookIds, seriesIds } = library
  const [bookId = '', seriesId = ''] = [bookIds[0], seriesIds[0]]
  const related = await createRelated(server, { bookId, seriesId })
  // All series get the related metadata.
  await copyToAll(dataFolder, 'series', seriesId)
  const plugin = await createPlugin(server)
  const accounts = await createAccounts(server, seriesId)
  const coverIds = await createPictures(server, { bookId, seriesId })
  const job = { name: 'Nightly', config: { type: 'metadata_refresh', provider: plugin.pluginId } }
  const { id: jobId } = await server.post<{ id: string }>(`/api/v1/libraries/${libraryId}/jobs`, job)
  const exported = await server.post<{ id: string; taskId: string }>('/api/v1/user/exports/series', largeExport(libraryId, 'json'))
  await awaitIdle(server, EXPORT_MS)
  const repositoryId = await insertRepositories(dataFolder)
  return {
    ...{ ...library, ...plugin, ...accounts, ...related },
    ...{ coverIds, jobId, repositoryId, exportId: exported.id, taskId: exported.taskId },
  }
}
