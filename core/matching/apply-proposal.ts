import type { Knex } from 'knex'
import { announceRecords } from '#core/events/event-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { type Application, addApplication, claimApplication, recordUndone } from '#core/matching/application-store.ts'
import { type Choice, changeOf, type FieldPreview, type Proposal, previewProposal } from '#core/matching/proposal.ts'
import { recordSynced } from '#core/matching/target-query.ts'
import { applyChange } from '#core/metadata/apply-change.ts'
import { findCoverRow } from '#core/metadata/chosen-cover-store.ts'
import { SETS } from '#core/metadata/metadata-set.ts'
import { loadStates, readStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import type { Kind } from '#core/metadata/record-kind.ts'
import { withSortTitle } from '#core/metadata/sort-title.ts'
import { differenceOf, undoDifference } from '#core/metadata/undo-change.ts'

/** The record; the caller has checked that the user may see it. */
export interface Target {
  kind: Kind
  id: string
}

/** The provider, and the user who applies the proposal. */
export interface Origin {
  pluginId: string
  pluginKey: string
  externalId: string
  /** The key of its identifiers. */
  idKey: string
  /** Null if a task applies it. */
  userId: string | null
}

const missing = ({ kind, id }: Target): never => refuse('not_found', `There is no ${kind} ${id}.`)

/** Previews what applying would change. @throws not_found */
export async function previewOn(database: Knex, target: Target, proposal: Proposal, choice: Choice): Promise<FieldPreview[]> {
  const { kind, id } = target
  const state = (await readStates(database, kind, [id], SETS[kind])).get(id) ?? missing(target)
  return previewProposal(kind, { state, hasChosenCover: await hasChosenCover(database, target) }, proposal, choice)
}

const hasChosenCover = async (database: Knex, target: Target): Promise<boolean> =>
  (await findCoverRow(database, target, 'selected')) !== null

/**
 * Applies a proposal in one transaction, except fields that are locked or entered by a user, and stores what undo needs. Covers are not part
 * of it, because fetching one takes time.
 * @returns the result for every field, and the id for undo; null if nothing changed
 * @throws not_found
 */
export async function applyProposal(
  database: Knex,
  target: Target,
  proposal: Proposal,
  { choice, origin }: { choice: Choice; origin: Origin },
): Promise<{ fields: FieldPreview[]; applicationId: string | null }> {
  return await database.transaction(async (trx) => {
    const { kind, id } = target
    const before = (await loadStates(trx, kind, [id], SETS[kind])).get(id) ?? missing(target)
    const fields = previewProposal(kind, { state: before, hasChosenCover: await hasChosenCover(trx, target) }, proposal, choice)
    // An equal value is confirmed: it counts as the provider's from now on.
    const given = fields.filter(({ status, reason }) => status === 'will_apply' || (status === 'unchanged' && reason === null))
    const change = changeOf(proposal, new Set(given.map(({ field }) => field)))
    const applied = applyChange(kind, before, change, 'plugin').next
    // The sort title follows the title, unless the provider or another source gives one.
    const { title, titleSort } = change.values ?? {}
    const next = kind === 'series' && title !== undefined && titleSort === undefined ? withSortTitle(applied) : applied
    await storeStates(trx, kind, [{ before, next }])
    await recordSynced(trx, kind, id, origin.idKey)
    const changes = { ...differenceOf(kind, before, next), coverId: null }
    const names = [...Object.keys(changes.values), ...Object.keys(changes.sets)]
    const willHaveCover = fields.some(({ field, status }) => field === 'cover' && status === 'will_apply')
    const applicationId =
      names.length > 0 || willHaveCover
        ? await addApplication(trx, { ...{ kind, recordId: id, changes, appliedBy: origin.userId }, ...origin })
        : null
    if (names.length > 0) await announceRecords(trx, kind, [id], names, kind === 'series' ? origin.pluginId : undefined)
    return { fields, applicationId }
  })
}

/**
 * Restores what an application changed, except what was changed or locked since.
 * @returns restored and skipped fields
 * @throws not_found, conflict if it was undone before
 */
export async function undoApplication(
  database: Knex,
  id: string,
): Promise<{ application: Application; undone: string[]; left: { field: string; reason: string }[] }> {
  return await database.transaction(async (trx) => {
    const application = (await claimApplication(trx, id)) ?? refuse('not_found', `There is no application ${id} of metadata.`)
    if (application.undoneAt !== null) refuse('conflict', 'This was undone already.')
    const { kind, recordId, changes } = application
    const before = (await loadStates(trx, kind, [recordId], SETS[kind])).get(recordId) ?? missing({ kind, id: recordId })
    const { next, undone, left } = undoDifference(kind, before, changes)
    await storeStates(trx, kind, [{ before, next }])
    await recordUndone(trx, id)
    if (undone.length > 0) await announceRecords(trx, kind, [recordId], undone)
    return { application, undone, left }
  })
}
