import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { withSourceNames } from '#api/views/legacy-names.ts'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { LENIENT, Noun, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { refreshFolderTitles } from '#core/ingest/reprocess-titles.ts'
import { lockSeries, patchSeries, replaceSeries, resetSeries } from '#core/metadata/edit-series-metadata.ts'
import { readRecords } from '#core/metadata/metadata-record-store.ts'
import { checkSeries, fullSeriesMetadata, getSeriesRecord } from '#core/metadata/series-metadata-query.ts'
import {
  FullSeriesMetadata,
  SeriesLocks,
  SeriesLocksPatch,
  SeriesMetadata,
  SeriesMetadataPatch,
  seriesMetadataOf,
  shownSeriesLocks,
} from '#core/metadata/series-metadata-record.ts'

type Services = Needs<'database' | 'rules' | 'settings'>
const endpoint = endpointOf<Services>()

/** Each series may stand for hundreds of books, whose search is renewed with it. */
const BULK_SERIES_MAX = 100
/** Summaries, people and 64 KB of custom metadata fit with room to spare. */
const BODY_BYTES_MAX = 512 * 1024

const SeriesId = Type.Object({ seriesId: Uuid })
const seriesIds = Type.Array(Uuid, { minItems: 1, maxItems: BULK_SERIES_MAX, description: 'All of them are changed, or none.' })
const BulkOutcome = Noun('BulkMetadataOutcome')({
  message: Type.String(),
  updatedCount: Type.Integer({ minimum: 0 }),
  items: Type.Array(
    Type.Object({
      id: Uuid,
      outcomes: Type.Array(Type.Object({ field: Type.String(), result: Type.String({ description: 'set, cleared or unchanged.' }) })),
    }),
  ),
})
const { title, titleSort } = SeriesMetadataPatch.properties

/** Who gives up a title gets that of the folder by the rules of today, unless the books name the series. */
async function prepareTitles({ services, caller }: { services: Services; caller: Caller }, seriesIds: readonly string[], patch: object) {
  if ('title' in patch && patch.title === null) await refreshFolderTitles(services, caller, seriesIds)
}

async function full({ services, caller }: { services: Services; caller: Caller }, seriesId: string, sources: boolean) {
  const asker = caller
  const id = await checkSeries(services.database, asker, seriesId)
  const found = (await fullSeriesMetadata(services.database, asker, [id])).get(id) ?? refuse('not_found')
  const held = sources ? (await readRecords(services.database, 'series', [id])).get(id) : undefined
  return { ...withSourceNames(services, found), ...(held && { sources: held.sources }) } as never
}

export const seriesMetadataRoutes = [
  endpoint({
    method: 'PATCH',
    path: '/api/v1/series/bulk/metadata',
    summary: 'Change the metadata of many series alike',
    tag: 'series',
    allow: { who: 'series-write' },
    body: Type.Object({ seriesIds, ...SeriesMetadataPatch.properties }, { additionalProperties: false }),
    bodyBytesMax: BODY_BYTES_MAX,
    reply: BulkOutcome,
    run: async (call, { body }) => {
      const { seriesIds, ...patch } = body
      await prepareTitles(call, seriesIds, patch)
      const items = await patchSeries(call.services.database, call.caller, { seriesIds, patch })
      const updatedCount = items.filter(({ outcomes }) => outcomes.some(({ result }) => result === 'set' || result === 'cleared')).length
      return { message: `Changed ${updatedCount} of ${items.length} series.`, updatedCount, items }
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/api/v1/series/bulk/metadata/locks',
    summary: 'Lock or unlock fields of many series',
    tag: 'series',
    allow: { who: 'series-write' },
    body: Type.Object({ seriesIds, ...SeriesLocksPatch.properties }, LENIENT),
    reply: BulkOutcome,
    run: async (call, { body }) => {
      const { seriesIds, ...locks } = body
      const items = await lockSeries(call.services.database, call.caller, { seriesIds, locks })
      return { message: `Changed the locks of ${items.length} series.`, updatedCount: items.length, items }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/series/bulk/metadata/reset',
    summary: 'Forget the metadata of many series, then fill it in from the files again',
    tag: 'series',
    allow: { who: 'series-write' },
    body: Type.Object({ seriesIds }, { additionalProperties: false }),
    reply: Type.Object({ count: Type.Integer({ minimum: 0 }), message: Type.String() }),
    run: async (call, { body }) => {
      const { length } = await resetSeries(call.services.database, call.caller, body)
      return { count: length, message: `Reset ${length} series.` }
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
      const held = await getSeriesRecord(database, caller, id)
      return { id, title: held.values.title as string, updatedAt: held.updatedAt }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId/metadata',
    summary: 'All that is known of a series',
    tag: 'series',
    allow: { who: 'series-read' },
    params: SeriesId,
    query: Type.Object({ sources: Type.Optional(Type.Boolean({ description: 'Also who gave each field its value.' })) }),
    reply: FullSeriesMetadata,
    run: (call, { params, query }) => full(call, params.seriesId, query.sources === true),
  }),
  ...(['PATCH', 'PUT'] as const).map((method) =>
    endpoint({
      method,
      path: '/api/v1/series/:seriesId/metadata',
      summary:
        method === 'PATCH'
          ? 'Change some metadata of a series: absent keeps, null clears, a value is set and locked'
          : 'Replace the metadata of a series: what is absent is cleared',
      tag: 'series',
      allow: { who: 'series-write' },
      params: SeriesId,
      body: SeriesMetadataPatch,
      bodyBytesMax: BODY_BYTES_MAX,
      reply: SeriesMetadata,
      run: async (call, { params, body }) => {
        const { database } = call.services
        const caller = call.caller
        const { seriesId } = params
        await prepareTitles(call, [seriesId], body)
        if (method === 'PATCH') await patchSeries(database, caller, { seriesIds: [seriesId], patch: body })
        else await replaceSeries(database, caller, { seriesId, metadata: body })
        return seriesMetadataOf(seriesId, await getSeriesRecord(database, caller, seriesId))
      },
    }),
  ),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/series/:seriesId/metadata',
    summary: 'Forget the metadata of a series, then fill it in from the files again',
    tag: 'series',
    allow: { who: 'series-write' },
    params: SeriesId,
    reply: FullSeriesMetadata,
    status: 200,
    run: async (call, { params }) => {
      await resetSeries(call.services.database, call.caller, { seriesIds: [params.seriesId] })
      return await full(call, params.seriesId, false)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId/metadata/locks',
    summary: 'Which fields of a series machines may not change',
    tag: 'series',
    allow: { who: 'series-read' },
    params: SeriesId,
    reply: SeriesLocks,
    run: async (call, { params }) => shownSeriesLocks(await getSeriesRecord(call.services.database, call.caller, params.seriesId)),
  }),
  endpoint({
    method: 'PUT',
    path: '/api/v1/series/:seriesId/metadata/locks',
    summary: 'Lock or unlock fields of a series; those not named stay',
    tag: 'series',
    allow: { who: 'series-write' },
    params: SeriesId,
    body: SeriesLocksPatch,
    reply: SeriesLocks,
    run: async (call, { params, body }) => {
      const { database } = call.services
      const caller = call.caller
      await lockSeries(database, caller, { seriesIds: [params.seriesId], locks: body })
      return shownSeriesLocks(await getSeriesRecord(database, caller, params.seriesId))
    },
  }),
]
