import Type from 'typebox'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { bulkIds, metadataRoutes } from '#api/rest/catalog/metadata-kind.ts'
import { withSourceNames } from '#api/views/legacy-names.ts'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Timestamp, Uuid } from '#core/foundation/schema.ts'
import { lockSeries, patchSeries, replaceSeries, resetSeries } from '#core/metadata/edit-series-metadata.ts'
import { readRecords } from '#core/metadata/metadata-record-store.ts'
import { checkSeries, getSeriesRecord, listFullSeriesMetadata } from '#core/metadata/series-metadata-query.ts'
import {
  FullSeriesMetadata,
  SeriesLocks,
  SeriesLocksPatch,
  SeriesMetadata,
  SeriesMetadataPatch,
  seriesLocksOf,
  seriesMetadataOf,
} from '#core/metadata/series-metadata-record.ts'
import { refreshFolderTitles } from '#core/scan/reprocess-titles.ts'

type Services = Needs<'database' | 'rules' | 'settings'>
const endpoint = endpointOf<Services>()

/** Each series may have hundreds of books, whose search index changes with it. */
const BULK_SERIES_MAX = 100

const SeriesId = Type.Object({ seriesId: Uuid })
const { title, titleSort } = SeriesMetadataPatch.properties

/** Clearing a title restores the one from the folder by the current rules, unless the books name the series. */
async function prepareTitles({ services, caller }: { services: Services; caller: Caller }, seriesIds: readonly string[], patch: object) {
  if ('title' in patch && patch.title === null) await refreshFolderTitles(services, caller, seriesIds)
}

async function reset({ services, caller }: { services: Services; caller: Caller }, seriesIds: readonly string[]): Promise<number> {
  await refreshFolderTitles(services, caller, seriesIds)
  return (await resetSeries(services.database, caller, { seriesIds })).length
}

async function full({ services, caller }: { services: Services; caller: Caller }, seriesId: string, sources: boolean) {
  const asker = caller
  const id = await checkSeries(services.database, asker, seriesId)
  const { fields, sets } = (await listFullSeriesMetadata(services.database, asker, [id])).get(id) ?? refuse('not_found')
  const record = sources ? (await readRecords(services.database, 'series', [id])).get(id) : undefined
  return { seriesId: id, ...fields, ...(record && { sources: record.sources }), ...withSourceNames(services, sets) }
}

type Patch = Parameters<typeof patchSeries>[2]['patch']
type Locks = Parameters<typeof lockSeries>[2]['locks']
type Metadata = Parameters<typeof replaceSeries>[2]['metadata']
type ServiceCall = Pick<Call<Services>, 'services' | 'caller'>

const recordOf = ({ services, caller }: ServiceCall, seriesId: string) => getSeriesRecord(services.database, caller, seriesId)

export const seriesMetadataRoutes = [
  ...metadataRoutes<Services>({
    ...{ many: 'series', one: 'series', bulkMax: BULK_SERIES_MAX, readSummary: 'Get all metadata of a series' },
    ...{ Patch: SeriesMetadataPatch, LocksPatch: SeriesLocksPatch, Locks: SeriesLocks, Read: FullSeriesMetadata, Changed: SeriesMetadata },
    prepare: prepareTitles,
    patch: ({ services, caller }, seriesIds, patch: Patch) => patchSeries(services.database, caller, { seriesIds, patch }),
    replace: ({ services, caller }, seriesId, metadata: Metadata) => replaceSeries(services.database, caller, { seriesId, metadata }),
    lock: ({ services, caller }, seriesIds, locks: Locks) => lockSeries(services.database, caller, { seriesIds, locks }),
    read: full,
    readChanged: async (call, seriesId) => seriesMetadataOf(seriesId, await recordOf(call, seriesId)),
    readLocks: async (call, seriesId) => seriesLocksOf(await recordOf(call, seriesId)),
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/series/bulk/metadata/reset',
    summary: 'Reset all metadata of many series, titles, links and locks included, to what their files provide; covers stay',
    tag: 'series',
    allow: { who: 'series-write' },
    body: Type.Object({ seriesIds: bulkIds(BULK_SERIES_MAX) }, { additionalProperties: false }),
    reply: Type.Object({ count: Type.Integer({ minimum: 0 }), message: Type.String() }),
    run: async (call, { body }) => {
      const count = await reset(call, body.seriesIds)
      return { count, message: `Reset ${count} series.` }
    },
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/series/:seriesId',
    summary: 'Change title or sort title of a series',
    tag: 'series',
    allow: { who: 'series-write' },
    params: SeriesId,
    body: Type.Object({ title, titleSort }, { additionalProperties: false }),
    reply: Type.Object({ id: Uuid, title: Type.String(), updatedAt: Timestamp }),
    run: async (call, { params, body }) => {
      const { database } = call.services
      const caller = call.caller
      await prepareTitles(call, [params.seriesId], body)
      const [{ id } = refuse('not_found')] = await patchSeries(database, caller, {
        seriesIds: [params.seriesId],
        patch: body,
      })
      const record = await getSeriesRecord(database, caller, id)
      return { id, title: record.values.title as string, updatedAt: record.updatedAt }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/series/:seriesId/metadata',
    summary: 'Reset all metadata of a series, title, links and locks included, to what its files provide; covers stay',
    tag: 'series',
    allow: { who: 'series-write' },
    params: SeriesId,
    reply: FullSeriesMetadata,
    status: 200,
    run: async (call, { params }) => {
      await reset(call, [params.seriesId])
      return await full(call, params.seriesId, false)
    },
  }),
]
