import type { Knex } from 'knex'
import type { SeriesHints } from '#core/fields/embedded.ts'

/** A folder whose file for the series is another version than the recorded one. */
interface ChangedSeriesFile {
  id: string
  /** Of the series. */
  path: string
  /** Null: there is none any more. */
  version: string | null
}

/** The folders of the series of a library that a file described when it was last looked for. */
export async function listDescribedFolders(database: Knex, libraryId: string): Promise<Set<string>> {
  const series = database('series').where({ library_id: libraryId, name_key: '', oneshot: false }).whereNotNull('sidecar_version')
  return new Set(await series.pluck('path'))
}

/** @param isForced returns those of the recorded version too */
export async function listChangedSeriesFiles(
  database: Knex,
  { libraryId, isForced }: { libraryId: string; isForced: boolean },
  folders: readonly { path: string; seriesFile: string | null }[],
): Promise<ChangedSeriesFile[]> {
  const { rows } = await database.raw(
    `SELECT s.id, s.path, f.version FROM unnest(CAST(? AS text[]), CAST(? AS text[])) AS f (path, version)
     JOIN series s ON s.library_id = ? AND s.path = f.path AND s.name_key = '' AND NOT s.oneshot
     WHERE s.sidecar_version IS DISTINCT FROM f.version OR (? AND f.version IS NOT NULL)`,
    // The driver's types do not allow null inside an array; PostgreSQL does.
    [folders.map(({ path }) => path), folders.map(({ seriesFile }) => seriesFile) as string[], libraryId, isForced],
  )
  return rows
}

/** Those of the given files whose metadata is new; locks their series in the order of their ids. */
export async function storeSeriesFiles(
  trx: Knex.Transaction,
  files: readonly (ChangedSeriesFile & { series: SeriesHints | null })[],
): Promise<string[]> {
  const { rows } = await trx.raw(
    `WITH given AS (SELECT s.id, s.sidecar AS before, g.version, g.sidecar FROM series s
         JOIN jsonb_to_recordset(CAST(? AS jsonb)) AS g (id uuid, version text, sidecar jsonb) ON g.id = s.id
         WHERE s.id = ANY(CAST(? AS uuid[])) ORDER BY s.id FOR NO KEY UPDATE OF s)
     UPDATE series s SET sidecar = given.sidecar, sidecar_version = given.version FROM given WHERE s.id = given.id
     RETURNING s.id, given.before IS DISTINCT FROM given.sidecar AS changed`,
    [JSON.stringify(files.map(({ id, version, series }) => ({ id, version, sidecar: series }))), files.map(({ id }) => id)],
  )
  return (rows as { id: string; changed: boolean }[]).filter(({ changed }) => changed).map(({ id }) => id)
}
