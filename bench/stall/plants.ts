import { copyToAll } from '#bench/stall/copies.ts'
import { largePictures } from '#bench/stall/files.ts'
import { send, sendFile } from '#bench/stall/input.ts'
import type { PlantedLibrary } from '#bench/stall/library.ts'
import { largeConfig, largePlugin } from '#bench/stall/plugin.ts'
import { plantRepositories } from '#bench/stall/repository.ts'
import { awaitIdle } from '#bench/stall/tasks.ts'
import { PERMISSIONS } from '#core/account/permission.ts'
import { BOOK_EXPORT_FIELDS, SERIES_EXPORT_FIELDS } from '#core/exports/export-field.ts'
import type { RunningServer } from '#test/support/running-server.ts'

/** As many as a series may have, and as many grants as that. */
const SHARING_TAGS = 100
/** Of each book and series; the first fills half of the room of the largest. */
const COVERS = 2
/** The shortest that is ever asked for: a title is looked at for hours before an export of the largest library ends. */
const EXPORT_MS = 60_000

/** What routes ask for by its id. */
export interface Planted extends PlantedLibrary {
  pluginId: string
  /** Of the package before the one that runs. */
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
  /** By kind of what they belong to. */
  coverIds: Record<'book' | 'series', string>
  externalIdIds: Record<'book' | 'series', string>
  genreId: string
  tagId: string
}

/** Every field of every series and book, of the whole library. */
export const largeExport = (libraryId: string, format: string) => ({
  format,
  exportType: 'both',
  libraryIds: [libraryId],
  fields: Object.keys(SERIES_EXPORT_FIELDS),
  bookFields: Object.keys(BOOK_EXPORT_FIELDS),
})

async function plantPlugin(server: RunningServer) {
  const install = async (version: string) => {
    const installed = await sendFile<{ plugin: { id: string }; sha256: string }>(server, '/api/v1/admin/plugins', largePlugin(version))
    await server.post(`/api/v1/admin/plugins/${installed.plugin.id}/consent`, { sha256: installed.sha256 })
    return { id: installed.plugin.id, sha256: installed.sha256 }
  }
  const [before, now] = [await install('1.0.0'), await install('1.1.0')]
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

/** A reader with as many grants as there are tags, and a series with as many tags as it may have. */
async function plantAccounts(server: RunningServer, seriesId: string) {
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

async function plantPictures(server: RunningServer, { bookId, seriesId }: { bookId: string; seriesId: string }) {
  const { JPEG } = await largePictures()
  const ids = { book: '', series: '' }
  for (const [kind, path] of [
    ['book', `/api/v1/books/${bookId}`],
    ['series', `/api/v1/series/${seriesId}`],
  ] as const)
    for (let count = 0; count < COVERS; count++) ids[kind] = (await sendFile<{ id: string }>(server, `${path}/cover`, JPEG)).id
  return ids
}

/** Further things of a record: services that know it, links, ratings, and what everybody says of it. */
async function plantFacts(server: RunningServer, { bookId, seriesId }: { bookId: string; seriesId: string }) {
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

/** Plants beside the library whatever routes ask for by its id. */
export async function plantOthers(server: RunningServer, library: PlantedLibrary, dataFolder: string): Promise<Planted> {
  const { libraryId, bookIds, seriesIds } = library
  const [bookId = '', seriesId = ''] = [bookIds[0], seriesIds[0]]
  const facts = await plantFacts(server, { bookId, seriesId })
  // Every record has them, as it has the rest.
  await copyToAll(dataFolder, 'series', seriesId)
  const plugin = await plantPlugin(server)
  const accounts = await plantAccounts(server, seriesId)
  const coverIds = await plantPictures(server, { bookId, seriesId })
  const job = { name: 'Planted', config: { type: 'metadata_refresh', provider: plugin.pluginId } }
  const { id: jobId } = await server.post<{ id: string }>(`/api/v1/libraries/${libraryId}/jobs`, job)
  const exported = await server.post<{ id: string; taskId: string }>('/api/v1/user/exports/series', largeExport(libraryId, 'json'))
  await awaitIdle(server, EXPORT_MS)
  const repositoryId = await plantRepositories(dataFolder)
  return {
    ...{ ...library, ...plugin, ...accounts, ...facts },
    ...{ coverIds, jobId, repositoryId, exportId: exported.id, taskId: exported.taskId },
  }
}
