import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { bulkIds } from '#api/rest/catalog/metadata-kind.ts'
import { withSourceNames } from '#api/views/legacy-names.ts'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Timestamp, Uuid } from '#core/foundation/schema.ts'
import { findOrigins } from '#core/matching/origins-query.ts'
import { patchMetadata } from '#core/metadata/edit-metadata.ts'
import { readRecords } from '#core/metadata/metadata-record-store.ts'
import { resetSeries } from '#core/metadata/reset-series.ts'
import { listFullSeriesMetadata } from '#core/metadata/series-metadata-query.ts'
import { FullSeriesMetadata, SeriesMetadataPatch } from '#core/metadata/series-metadata-schema.ts'
import { checkVisible, getRecord } from '#core/metadata/visible-records-query.ts'
import { refreshFolderTitles } from '#core/scan/reprocess-titles.ts'

type Services = Pick<DataServices, 'database' | 'settings'> & Pick<TemplateServices, 'rules'>
const endpoint = endpointOf<Services>()

type ServiceCall = { services: Services; caller: Caller }

const SeriesId = Type.Object({ seriesId: Uuid })
const { title, titleSort } = SeriesMetadataPatch.properties

/** Clearing a title restores the one from the folder by the current rules, unless the books name the series. */
export async function prepareTitles({ services, caller }: ServiceCall, seriesIds: readonly string[], patch: object): Promise<void> {
  if ('title' in patch && patch.title === null) await refreshFolderTitles(services, caller, seriesIds)
}

async function reset({ services, caller }: ServiceCall, seriesIds: readonly string[]): Promise<number> {
  await refreshFolderTitles(services, caller, seriesIds)
  return (await resetSeries(services.database, caller, seriesIds)).length
}

/** All metadata of a series: fields, sets and, if asked for, the source of each field. */
export async function readFullSeries({ services, caller }: ServiceCall, seriesId: string, sources: boolean) {
  const id = await checkVisible(services.database, caller, 'series', seriesId)
  const { fields, sets } = (await listFullSeriesMetadata(services.database, caller, [id])).get(id) ?? refuse('not_found')
  const record = sources ? (await readRecords(services.database, 'series', [id])).get(id) : undefined
  return {
    seriesId: id,
    ...fields,
    ...(record && (await findOrigins(services.database, 'series', id, record))),
    ...withSourceNames(services, sets),
  }
}

export const seriesMetadataRoutes = [
  endpoint({
    name: 'bulkResetSeriesMetadata',
    method: 'POST',
    path: '/api/v1/series/bulk/metadata/reset',
    summary: 'Reset all metadata of many series, titles, links and locks included, to what their files provide; covers stay',
    tag: 'series',
    allow: { who: 'series-write' },
    body: Type.Object({ seriesIds: bulkIds('series') }, { additionalProperties: false }),
    reply: Type.Object({ count: Type.Integer({ minimum: 0 }), message: Type.String() }),
    run: async (call, { body }) => {
      const count = await reset(call, body.seriesIds)
      return { count, message: `Reset ${count} series.` }
    },
  }),
  endpoint({
    name: 'patchSeries',
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
      const [{ id } = refuse('not_found')] = await patchMetadata(database, caller, { kind: 'series', ids: [params.seriesId], patch: body })
      const record = await getRecord(database, caller, 'series', id)
      return { id, title: record.values.title as string, updatedAt: record.updatedAt }
    },
  }),
  endpoint({
    name: 'resetSeriesMetadata',
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
      return await readFullSeries(call, params.seriesId, false)
    },
  }),
]
