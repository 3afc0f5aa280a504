import type { Knex } from 'knex'
import { type Viewer, visibleTo } from '#core/account/visibility.ts'
import { pluginKey, serviceOf } from '#core/fields/source-key.ts'
import { isUuid } from '#core/foundation/schema.ts'

/** A series at a service: the service by its name or key, and the identifier. */
export interface ExternalSeries {
  source: string
  externalId: string
}

/** As a key of a map, the same for every key under which identifiers of the service are stored; no source contains a line break. */
export const externalKey = ({ source, externalId }: ExternalSeries): string => `${serviceOf(source)}\n${externalId}`

/** All keys under which identifiers of a service may be stored. */
const keysOf = (service: string): string[] => [service, pluginKey(service), `api:${service}`]

/** Series of this server that the viewer may see, by their identifiers at services; if several match, the oldest. */
export async function findByExternalIds(database: Knex, viewer: Viewer, wanted: readonly ExternalSeries[]): Promise<Map<string, string>> {
  if (wanted.length === 0) return new Map()
  const rows: (ExternalSeries & { seriesId: string })[] = await database('series_external_ids AS e')
    .whereRaw('(e.source, e.external_id) IN (SELECT * FROM unnest(CAST(? AS text[]), CAST(? AS text[])))', [
      wanted.flatMap(({ source }) => keysOf(serviceOf(source))),
      wanted.flatMap(({ source, externalId }) => keysOf(serviceOf(source)).map(() => externalId)),
    ])
    .modify(visibleTo(viewer, 'e.series_id'))
    // The first row of a key is written to the map last.
    .orderBy('e.created_at', 'desc')
    .orderBy('e.id', 'desc')
    .select('e.source', 'e.external_id AS externalId', 'e.series_id AS seriesId')
  return new Map(rows.map(({ seriesId, ...series }) => [externalKey(series), seriesId]))
}

/** Which of these are ids of series that the viewer may see; other texts are skipped. */
export async function findVisibleSeries(database: Knex, viewer: Viewer, ids: readonly string[]): Promise<Set<string>> {
  const wanted = ids.filter(isUuid)
  if (wanted.length === 0) return new Set()
  return new Set(await database('series').whereIn('series.id', wanted).modify(visibleTo(viewer, 'series.id')).pluck('series.id'))
}

/** More than one person reads in a lifetime. */
const KNOWN_MAX = 20_000

/** Series that the viewer may see and has begun, rated or marked to read: what a recommendation may be based on. */
export async function listKnownSeries(database: Knex, viewer: Viewer): Promise<string[]> {
  return await database('series')
    .whereRaw(
      `series.id IN (SELECT b.series_id FROM read_progress p JOIN books b ON b.id = p.book_id WHERE p.user_id = :userId
         UNION SELECT series_id FROM series_user_ratings WHERE user_id = :userId UNION SELECT series_id FROM want_to_read WHERE user_id = :userId)`,
      { userId: viewer.userId },
    )
    .modify(visibleTo(viewer, 'series.id'))
    .limit(KNOWN_MAX)
    .pluck('series.id')
}

/** Whether one of these series exists and is hidden from the viewer. */
export async function hidesAny(database: Knex, viewer: Viewer, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return false
  const seen = database('series').modify(visibleTo(viewer, 'series.id')).select('series.id')
  const hidden = await database('series')
    .whereRaw('series.id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .whereNotIn('series.id', seen)
    .first('series.id')
  return hidden !== undefined
}
