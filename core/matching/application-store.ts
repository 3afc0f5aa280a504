import type { Knex } from 'knex'
import type { Kind } from '#core/fields/record-kind.ts'
import type { Difference } from '#core/metadata/undo-change.ts'

/** What an application changed; enough to undo it. */
interface Changes extends Difference {
  /** The cover that was added. */
  coverId: string | null
}

export interface Application {
  id: string
  kind: Kind
  recordId: string
  pluginId: string | null
  pluginKey: string
  externalId: string
  appliedBy: string | null
  changes: Changes
  createdAt: Date
  undoneAt: Date | null
}

/** Per record; older applications are deleted. */
const KEPT = 50

export async function addApplication(
  trx: Knex,
  application: Pick<Application, 'kind' | 'recordId' | 'pluginId' | 'pluginKey' | 'externalId' | 'appliedBy' | 'changes'>,
): Promise<string> {
  const { kind, recordId, pluginId, pluginKey, externalId, appliedBy, changes } = application
  const owner = `${kind}_id`
  const [row] = await trx('metadata_applications').insert(
    {
      [owner]: recordId,
      // The time of holding the lock on the record gives the order of applications; the start times of their transactions may not.
      created_at: trx.raw('clock_timestamp()'),
      plugin_id: pluginId,
      plugin_key: pluginKey,
      external_id: externalId,
      applied_by: appliedBy,
      changes: JSON.stringify(changes),
    },
    'id',
  )
  await trx.raw(
    `DELETE FROM metadata_applications WHERE id IN (
       SELECT id FROM metadata_applications WHERE ${owner} = ? ORDER BY created_at DESC, id OFFSET ?)`,
    [recordId, KEPT],
  )
  return row.id
}

const COLUMNS = `id, CASE WHEN series_id IS NULL THEN 'book' ELSE 'series' END AS kind, coalesce(series_id, book_id) AS "recordId", plugin_id AS "pluginId",
  plugin_key AS "pluginKey", external_id AS "externalId", applied_by AS "appliedBy", changes, created_at AS "createdAt", undone_at AS "undoneAt"`

/** Newest first. */
export async function listApplications(database: Knex, kind: Kind, recordId: string): Promise<Application[]> {
  return await database('metadata_applications')
    .where(`${kind}_id`, recordId)
    .orderByRaw('created_at DESC, id')
    .select(database.raw(COLUMNS))
}

/** The book or series of an application. */
export async function findApplicationTarget(trx: Knex, id: string): Promise<{ kind: Kind; id: string } | null> {
  const row = await trx('metadata_applications').where({ id }).first('series_id', 'book_id')
  return row ? { kind: row.series_id === null ? 'book' : 'series', id: row.series_id ?? row.book_id } : null
}

/** Locks the row against the cover that a concurrent request adds. The caller locks the book or series before, as every change does. */
export async function claimApplication(trx: Knex, id: string): Promise<Application | null> {
  return (await trx('metadata_applications').where({ id }).forUpdate().first(trx.raw(COLUMNS))) ?? null
}

/** The applications to the same book or series after this one that are not undone, the oldest first. The caller holds the lock on the record. */
export async function listLaterApplications(trx: Knex, { id, kind, recordId }: Application): Promise<Application[]> {
  const all = await listApplications(trx, kind, recordId)
  const at = all.findIndex((one) => one.id === id)
  return all
    .slice(0, at)
    .filter(({ undoneAt }) => undoneAt === null)
    .reverse()
}

/** Writes what undo needs of an application, after an earlier one was undone; its cover stays. */
export async function storeDifference(trx: Knex, id: string, difference: Difference): Promise<void> {
  await trx('metadata_applications')
    .where({ id })
    .update({ changes: trx.raw('changes || CAST(? AS jsonb)', [JSON.stringify(difference)]) })
}

export async function recordUndone(trx: Knex, id: string): Promise<void> {
  await trx('metadata_applications').where({ id }).update({ undone_at: trx.fn.now() })
}

/** Adds the cover to an application: it is fetched after the other changes. False if the application was undone in the meantime. */
export async function recordCover(database: Knex, id: string, coverId: string): Promise<boolean> {
  const changed = await database('metadata_applications')
    .where({ id, undone_at: null })
    .update({ changes: database.raw(`jsonb_set(changes, '{coverId}', to_jsonb(CAST(? AS text)))`, [coverId]) })
  return changed > 0
}

/** Deletes an application that changed nothing but its cover, if that failed. True if there is none now. */
export async function forgetIfEmpty(database: Knex, id: string): Promise<boolean> {
  const gone = await database('metadata_applications')
    .where({ id })
    .whereRaw(`changes -> 'values' = '{}' AND changes -> 'sets' = '{}' AND changes -> 'coverId' = 'null'`)
    .delete()
  return gone > 0
}
