import { relative } from 'node:path'
import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { describeBytes } from '#api/rest/byte-text.ts'
import { Nullable, OneOf, Uuid } from '#core/foundation/schema.ts'
import { countOrphans, removeOrphans, requestOrphanRemoval } from '#core/maintenance/orphans.ts'
import { requestPageCacheMaintenance, UNUSED_DAYS_MAX } from '#core/reading/page-cache-maintenance.ts'

type Services = Pick<ContentServices, 'pageReader'> & DataServices & Pick<WorkServices, 'tasks'>
const endpoint = endpointOf<Services>()

const Count = Type.Integer({ minimum: 0 })
const allow = { who: 'system-admin' } as const
const DAY_MS = 86_400_000
const tag = 'maintenance'
const orphansOf = ({ database, settings }: Services) => ({ database, dataFolder: settings.dataFolder })

export const maintenanceRoutes = [
  endpoint({
    name: 'getOrphanStats',
    method: 'GET',
    path: '/api/v1/admin/cleanup-orphans/stats',
    summary: 'Get statistics of orphaned thumbnails and covers in the data folder',
    tag,
    allow,
    query: Type.Object({ includeFiles: Type.Optional(Type.Boolean({ description: 'Also list the first 1000 files.' })) }),
    reply: Type.Object(
      {
        orphanedThumbnails: Count,
        orphanedCovers: Count,
        totalSizeBytes: Count,
        files: Type.Optional(
          Nullable(
            Type.Array(
              Type.Object({
                path: Type.String({ description: 'Path below the data folder.' }),
                fileType: OneOf(['thumbnail', 'cover']),
                entityId: Nullable(Uuid, { description: 'The book or series of the file.' }),
                sizeBytes: Count,
              }),
            ),
          ),
        ),
      },
      { title: 'OrphanStats', description: 'Excludes files younger than an hour, which may still be in use.' },
    ),
    run: async (call, { query }) => {
      const { thumbnails, covers, bytes, files } = await countOrphans(orphansOf(call.services), call.signal)
      const listed = files.map((file) => ({ path: file.path, fileType: file.kind, entityId: file.ownerId, sizeBytes: file.bytes }))
      const counts = { orphanedThumbnails: thumbnails, orphanedCovers: covers, totalSizeBytes: bytes }
      return { ...counts, ...(query.includeFiles && { files: listed }) }
    },
  }),
  endpoint({
    name: 'cleanUpOrphans',
    method: 'POST',
    path: '/api/v1/admin/cleanup-orphans',
    summary: 'Start a task that removes orphaned thumbnails and covers',
    tag,
    allow,
    status: 202,
    reply: Type.Object({ message: Type.String(), taskId: Uuid }),
    run: async ({ services }) => await requestOrphanRemoval(services),
  }),
  endpoint({
    name: 'cleanUpOrphansNow',
    method: 'DELETE',
    path: '/api/v1/admin/cleanup-orphans',
    summary: 'Remove orphaned thumbnails and covers, and wait until done',
    tag,
    allow,
    reply: Type.Object({
      thumbnailsDeleted: Count,
      coversDeleted: Count,
      bytesFreed: Count,
      failures: Count,
      errors: Type.Array(Type.String()),
    }),
    run: async (call) => {
      const done = await removeOrphans(orphansOf(call.services), { signal: call.signal, progress: () => {} })
      const { thumbnails, covers, people, bytes, failures, errors } = done
      call.services.log.info({ thumbnails, covers, people, bytes, failures, by: call.caller.userId }, 'Removed orphaned files')
      return { thumbnailsDeleted: thumbnails, coversDeleted: covers, bytesFreed: bytes, failures, errors }
    },
  }),
  endpoint({
    name: 'getPdfCacheStats',
    method: 'GET',
    path: '/api/v1/admin/pdf-cache/stats',
    summary: 'Get statistics of the cache of rendered, resized and extracted pages',
    tag,
    allow,
    reply: Type.Object(
      {
        totalFiles: Count,
        totalSizeBytes: Count,
        totalSizeHuman: Type.String(),
        bookCount: Type.Integer({ minimum: 0, description: 'Books with the same content count once.' }),
        oldestFileAgeDays: Nullable(Type.Integer({ minimum: 0, description: 'Days since its last use.' })),
        cacheDir: Type.String({ description: 'Path below the data folder.' }),
        cacheEnabled: Type.Boolean(),
      },
      { title: 'PageCacheStats' },
    ),
    run: async ({ services }) => {
      const { files, bytes, books, oldestMs, folder, isEnabled } = await services.pageReader.cache.count()
      return {
        totalFiles: files,
        totalSizeBytes: bytes,
        totalSizeHuman: describeBytes(bytes),
        bookCount: books,
        oldestFileAgeDays: oldestMs === null ? null : Math.floor(oldestMs / DAY_MS),
        cacheDir: relative(services.settings.dataFolder, folder),
        cacheEnabled: isEnabled,
      }
    },
  }),
  endpoint({
    name: 'cleanUpPdfCache',
    method: 'POST',
    path: '/api/v1/admin/pdf-cache/cleanup',
    summary: `Remove pages from the cache that were not used for ${UNUSED_DAYS_MAX} days`,
    tag,
    allow,
    status: 202,
    reply: Type.Object({ message: Type.String(), taskId: Uuid, maxAgeDays: Count }),
    run: async ({ services }) => ({ ...(await requestPageCacheMaintenance(services)), maxAgeDays: UNUSED_DAYS_MAX }),
  }),
  endpoint({
    name: 'emptyPdfCache',
    method: 'DELETE',
    path: '/api/v1/admin/pdf-cache',
    summary: 'Clear the page cache; pages are generated again when they are read',
    tag,
    allow,
    reply: Type.Object({ filesDeleted: Count, bytesReclaimed: Count, bytesReclaimedHuman: Type.String() }),
    run: async ({ services, caller }) => {
      const { files, bytes } = await services.pageReader.cache.drop(0)
      services.log.info({ files, bytes, by: caller.userId }, 'Cleared the page cache')
      return { filesDeleted: files, bytesReclaimed: bytes, bytesReclaimedHuman: describeBytes(bytes) }
    },
  }),
]
