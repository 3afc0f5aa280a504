import type { Knex } from 'knex'
import { dropCover } from '#core/catalog/edit-covers.ts'
import { announceRecords } from '#core/events/event-store.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import {
  type Application,
  claimApplication,
  findApplicationTarget,
  listLaterApplications,
  recordUndone,
  storeDifference,
} from '#core/matching/application-store.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { SETS } from '#core/metadata/metadata-set.ts'
import { loadStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { reapplyEmbedded } from '#core/metadata/reapply-embedded.ts'
import { changedIn, type Difference, undoDifference } from '#core/metadata/undo-change.ts'

/** The result of an undo: restored and skipped fields. */
interface Undone {
  application: Application
  undone: string[]
  left: { field: string; reason: string }[]
}

/** Restores what an application changed, its cover included, except what was changed or locked since. @throws not_found, conflict if it was undone before */
export async function undoApplication(
  dependencies: { database: Knex; settings: { dataFolder: string } },
  applicationId: string,
): Promise<Undone> {
  const undone = await undoMetadata(dependencies.database, applicationId)
  const { kind, recordId: id, changes } = undone.application
  if (changes.coverId === null) return undone
  try {
    await dropCover(dependencies, { owner: { kind, id }, coverId: changes.coverId, by: 'plugin' })
    return { ...undone, undone: [...undone.undone, 'cover'] }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    // It was deleted since.
    if (error.code === 'not_found') return undone
    return { ...undone, left: [...undone.left, { field: 'cover', reason: error.message }] }
  }
}

/**
 * Restores what an application changed, except what was changed or locked since.
 * @returns restored and skipped fields
 * @throws not_found, conflict if it was undone before
 */
async function undoMetadata(database: Knex, id: string): Promise<Undone> {
  return await database.transaction(async (trx) => {
    const unknown = (): never => refuse('not_found', `There is no metadata application ${id}.`)
    const target = (await findApplicationTarget(trx, id)) ?? unknown()
    const { kind, id: recordId } = target
    // Locks the record first, like every change.
    const before =
      (await loadStates(trx, kind, [recordId], SETS[kind])).get(recordId) ?? refuse('not_found', `There is no ${kind} ${recordId}.`)
    const application = (await claimApplication(trx, id)) ?? unknown()
    if (application.undoneAt !== null) refuse('conflict', 'This application was already undone.')
    const later = await listLaterApplications(trx, application)
    const { next, undone, left, ...rest } = undoDifference(
      kind,
      before,
      application.changes,
      later.map(({ changes: { values, sets, replacements } }) => ({ values, sets, ...(replacements && { replacements }) })),
    )
    await storeStates(trx, kind, [{ before, next: kind === 'book' ? await reapplyEmbedded(trx, { ...before, ...next }, undone) : next }])
    // The metadata that comes from the books may have changed since.
    if (kind === 'series') await aggregateSeries(trx, [recordId])
    for (const [index, { id: laterId }] of later.entries()) await storeDifference(trx, laterId, rest.later[index] as Difference)
    await recordUndone(trx, id)
    if (undone.length > 0) await announceRecords(trx, kind, [recordId], undone)
    // That the provider had confirmed an equal value is undone too, and is no change.
    const changed = new Set(changedIn(application.changes))
    return { application, undone: undone.filter((field) => changed.has(field)), left: left.filter(({ field }) => changed.has(field)) }
  })
}
