import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { announceRecords } from '#core/events/event-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { type Application, addApplication, type Changes, claimApplication, recordUndone } from '#core/matching/application-store.ts'
import { FACTS, type FactName, type Facts, type GivenFact, restoredFact } from '#core/matching/fact.ts'
import { type KnownFacts, readFacts, writeFact } from '#core/matching/fact-store.ts'
import { type Choice, type FieldPreview, mergedOf, type Proposal, previewProposal, type Standing } from '#core/matching/proposal.ts'
import { recordSynced } from '#core/matching/target-query.ts'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import { isSameRecord } from '#core/metadata/edit-records.ts'
import type { MetadataRecord, Source } from '#core/metadata/field.ts'
import { fieldsOf, type Kind, loadRecords, readRecords, storeRecords } from '#core/metadata/metadata-record-store.ts'
import { withSortTitle } from '#core/metadata/sort-title.ts'

/** Which record; that the caller may see it was looked at before. */
export interface Target {
  kind: Kind
  id: string
}

/** Who proposes, and who applies. */
export interface Origin {
  pluginId: string
  pluginKey: string
  externalId: string
  /** Under which its identifiers are kept. */
  idKey: string
  /** Null where a task does it. */
  userId: string | null
}

const missing = ({ kind, id }: Target): never => refuse('not_found', `There is no ${kind} ${id}.`)

/** What applying would do now. @throws not_found */
export async function previewOn(database: Knex, target: Target, proposal: Proposal, choice: Choice): Promise<FieldPreview[]> {
  const record = (await readRecords(database, target.kind, [target.id])).get(target.id) ?? missing(target)
  const standing: Standing = { record, ...(await readFacts(database, target.kind, target.id)) }
  return previewProposal(target.kind, standing, proposal, choice)
}

/**
 * Applies a proposal in one transaction, where no lock and no person's word forbids it, and remembers what was there before. The cover is not part
 * of it: fetching one takes its time.
 * @returns what became of every field, and the id to undo it by; null where nothing changed
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
    const record = (await loadRecords(trx, kind, [id])).get(id) ?? missing(target)
    const standing: Standing = { record, ...(await readFacts(trx, kind, id)) }
    const fields = previewProposal(kind, standing, proposal, choice)
    // What is the same already is confirmed by it: the value is the provider's from now on.
    const given = fields.filter(({ status, reason }) => status === 'will_apply' || (status === 'unchanged' && reason === null))
    const patch = Object.fromEntries(given.flatMap(({ field }) => (field in proposal.values ? [[field, proposal.values[field]]] : [])))
    const patched = applyPatch(fieldsOf(kind), record, patch, 'plugin').next
    // What a series is sorted by follows its title, unless the provider or somebody else says it.
    const next = kind === 'series' && 'title' in patch && !('titleSort' in patch) ? withSortTitle(patched) : patched
    if (!isSameRecord(record, next)) await storeRecords(trx, kind, new Map([[id, next]]))
    const changes: Changes = { values: changedValues(kind, record, next), facts: {}, coverId: null }
    for (const name of FACTS[kind]) {
      if (!given.some(({ field }) => field === name) || !proposal.facts[name]) continue
      const before = givenOf(standing, name)
      const { value, givers } = mergedOf(standing, name, proposal.facts[name] as never)
      if (isDeepStrictEqual([before.value, before.givers], [value, givers])) continue
      await writeFact(trx, kind, { id, name, before, after: { value, givers } })
      changes.facts[name] = { before: before.value, after: value, givers: before.givers }
    }
    await recordSynced(trx, kind, id, origin.idKey)
    const willHaveCover = fields.some(({ field, status }) => field === 'cover' && status === 'will_apply')
    const isChanged = Object.keys(changes.values).length + Object.keys(changes.facts).length > 0 || willHaveCover
    const applicationId = isChanged
      ? await addApplication(trx, { ...{ kind, recordId: id, changes, appliedBy: origin.userId }, ...origin })
      : null
    const names = [...Object.keys(changes.values), ...Object.keys(changes.facts)]
    if (names.length > 0) await announceRecords(trx, kind, [id], names, kind === 'series' ? origin.pluginId : undefined)
    return { fields, applicationId }
  })
}

/** Values and their sources that are different; the sources of people stand by role. */
function changedValues(kind: Kind, before: MetadataRecord, after: MetadataRecord): Changes['values'] {
  const roles = fieldsOf(kind)
    .filter(({ role }) => role !== undefined)
    .map(({ name }) => name)
  const changed: Changes['values'] = {}
  for (const { name, role } of fieldsOf(kind)) {
    if (role !== undefined) continue
    if (isDeepStrictEqual(before.values[name], after.values[name]) && before.sources[name] === after.sources[name]) continue
    const names = name === 'authors' ? [name, ...roles] : [name]
    const sources = Object.fromEntries(names.map((one) => [one, before.sources[one] ?? null]))
    changed[name] = { before: before.values[name] ?? null, after: after.values[name] ?? null, sources }
  }
  return changed
}

/**
 * Puts back what an application changed, as far as nobody has changed or locked it since.
 * @returns what was put back and what was left
 * @throws not_found, conflict when it was undone before
 */
export async function undoApplication(
  database: Knex,
  id: string,
): Promise<{ application: Application; undone: string[]; left: { field: string; reason: string }[] }> {
  return await database.transaction(async (trx) => {
    const application = (await claimApplication(trx, id)) ?? refuse('not_found', `There is no application ${id} of metadata.`)
    if (application.undoneAt !== null) refuse('conflict', 'This was undone already.')
    const { kind, recordId, changes } = application
    const record = (await loadRecords(trx, kind, [recordId])).get(recordId) ?? missing({ kind, id: recordId })
    const known = await readFacts(trx, kind, recordId)
    const undone: string[] = []
    const left: { field: string; reason: string }[] = []
    const values: Record<string, unknown> = { ...record.values }
    const sources: Record<string, Source> = { ...record.sources }
    for (const [field, change] of Object.entries(changes.values)) {
      const reason = objection(record, field, isDeepStrictEqual(record.values[field] ?? null, change.after))
      if (reason !== null) {
        left.push({ field, reason })
        continue
      }
      if (change.before === null) delete values[field]
      else values[field] = change.before
      for (const [name, source] of Object.entries(change.sources)) {
        if (source === null) delete sources[name]
        else sources[name] = source
      }
      undone.push(field)
    }
    if (undone.length > 0) await storeRecords(trx, kind, new Map([[recordId, { values, sources, locks: record.locks }]]))
    for (const [field, { before, after, givers = {} }] of Object.entries(changes.facts)) {
      const name = field as FactName
      const now = givenOf(known, name)
      const reason = objection(record, field, isDeepStrictEqual(inOrder(now.value), inOrder(after)))
      if (reason === null) {
        const restored = restoredFact(name, now, { value: before as Facts[FactName], givers })
        await writeFact(trx, kind, { id: recordId, name, before: now, after: restored })
        undone.push(field)
      } else left.push({ field, reason })
    }
    await recordUndone(trx, id)
    if (undone.length > 0) await announceRecords(trx, kind, [recordId], undone)
    return { application, undone, left }
  })
}

const givenOf = <Name extends FactName>({ facts, givers }: Pick<KnownFacts, 'facts' | 'givers'>, name: Name): GivenFact<Name> => ({
  value: facts[name],
  givers: givers[name],
})

/** Titles that were added together have no order among them. */
const inOrder = (fact: unknown): unknown => (Array.isArray(fact) ? fact.map((one) => JSON.stringify(one)).sort() : fact)

/** Why a field is left as it is; null when it may be put back. */
function objection({ locks }: MetadataRecord, field: string, isAsApplied: boolean): string | null {
  if (locks.has(field)) return 'It was locked since.'
  return isAsApplied ? null : 'It was changed since.'
}
