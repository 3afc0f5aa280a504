import type { Knex } from 'knex'
import { dropCover, keepCover } from '#core/catalog/edit-covers.ts'
import { findCoverRow } from '#core/covers/chosen-cover-store.ts'
import type { DrawCover } from '#core/covers/cover.ts'
import { announceRecords } from '#core/events/event-store.ts'
import { isPlainIdentifier } from '#core/fields/identifier-form.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { pluginKey } from '#core/fields/source-key.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { cutText } from '#core/foundation/text.ts'
import { proposalOf } from '#core/matching/answer-to-proposal.ts'
import { addApplication, forgetIfEmpty, recordCover } from '#core/matching/application-store.ts'
import {
  type Choice,
  COVER,
  type FieldPreview,
  type FieldStatus,
  isTarget,
  type Proposal,
  proposable,
  withinTargets,
} from '#core/matching/proposal.ts'
import {
  type Answered,
  type DownloadCover,
  idKeyOf,
  type Provider,
  type ProviderClient,
  type ProviderFailure,
} from '#core/matching/provider-client.ts'
import { recordSynced } from '#core/matching/target-query.ts'
import { applyChange, type MetadataChange, type MetadataState } from '#core/metadata/apply-change.ts'
import { applySet } from '#core/metadata/apply-set.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import { emptySet, isNames, type MetadataSet, SET_RULES, SETS, type SetName, valueOfSet } from '#core/metadata/metadata-set.ts'
import { loadStates, readStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { differenceOf } from '#core/metadata/undo-change.ts'

/** The record; the caller has checked that the user may see it. */
export interface Target {
  kind: Kind
  id: string
}

/** The provider, and the user who applies the proposal. */
interface Origin {
  pluginId: string
  pluginKey: string
  externalId: string
  /** The key of its identifiers. */
  idKey: string
  /** Null if a task applies it. */
  userId: string | null
}

export interface Applied {
  success: boolean
  message: string
  fields: FieldPreview[]
  /** Id for undo; null if nothing changed. */
  applicationId: string | null
  externalUrl: string | null
  /** Failure of the provider. */
  failure: ProviderFailure | null
}

/** One of the records of a provider. */
interface From {
  provider: Provider
  externalId: string
}

interface ApplyOptions {
  choice: Choice
  /** Null if a task applies it. */
  userId: string | null
  /** Only returns what would change. */
  dryRun?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** What applying a provider's record would change. */
export interface ProposalPreview {
  externalUrl: string | null
  fields: FieldPreview[]
  /** Failure of the provider. */
  failure: ProviderFailure | null
}

interface ProposalDependencies {
  database: Knex
  providers: Pick<ProviderClient, 'get'>
  downloadCover: DownloadCover
  drawCover: DrawCover
  settings: { dataFolder: string }
  log: Log
}

interface Found {
  proposal: Proposal
  externalUrl: string | null
}

const noIdentifier = (name: string, externalId: string): ProviderFailure => ({
  code: 'not_found',
  callId: null,
  retryAfterSeconds: null,
  message: `${quotedText(cutText(externalId, 100))} is not an identifier that ${quotedText(name)} may get: it must be letters, digits, spaces and - _ . ~ : only.`,
})

const NOTHING: Proposal = { values: {}, sets: {}, coverUrl: null }

/** Proposes the data of provider records for records of the library. */
export class Proposals {
  readonly #dependencies: ProposalDependencies

  constructor(dependencies: ProposalDependencies) {
    this.#dependencies = dependencies
  }

  async #propose({ kind }: Target, { provider, externalId }: From, choice: Choice, signal?: AbortSignal): Promise<Answered<Found>> {
    const idKey = idKeyOf(provider, kind)
    // Other plugins may write identifiers of a shared service.
    if (idKey !== pluginKey(provider.key) && !isPlainIdentifier(externalId)) return { failure: noIdentifier(provider.name, externalId) }
    const got = await this.#dependencies.providers.get(provider.id, kind, externalId, signal)
    if ('failure' in got) return got
    const idNames = await listIdNames(this.#dependencies.database)
    const proposal = withinTargets(proposalOf(kind, got.answer, { idKey, pluginKey: provider.key, idNames }), choice, idKey)
    return { answer: { proposal, externalUrl: got.answer.externalUrl ?? null } }
  }

  /** Fetches the proposed cover; if that fails, the other changes stay. */
  async #fetchCover(
    target: Target,
    provider: Provider,
    url: string,
    applicationId: string,
    { userId, signal }: ApplyOptions,
  ): Promise<string | null> {
    const failed = (code: string, message: string): string => {
      this.#dependencies.log.warn({ plugin: provider.key, code, target }, `Could not fetch a cover: ${message}`)
      return message
    }
    try {
      const picture = await this.#dependencies.downloadCover({
        url,
        pluginId: provider.id,
        userId,
        signal: signal ?? new AbortController().signal,
      })
      if ('failure' in picture) return failed(picture.failure.code, picture.failure.message)
      const { id } = await keepCover(this.#dependencies, {
        owner: target,
        bytes: picture.bytes,
        source: `plugin:${provider.key}`,
        giver: 'plugin',
      })
      if (await recordCover(this.#dependencies.database, applicationId, id)) return null
      await dropCover(this.#dependencies, { owner: target, coverId: id, by: 'user' })
      return 'The application was undone before the cover was fetched.'
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return failed(error.code, error.message)
    }
  }

  /** Previews what applying would change. If the provider fails, nothing is proposed and each field has the failure as its reason. @throws not_found */
  async preview(target: Target, from: From, choice: Choice): Promise<ProposalPreview> {
    const found = await this.#propose(target, from, choice)
    if ('answer' in found) {
      const { proposal, externalUrl } = found.answer
      return { externalUrl, fields: await previewOn(this.#dependencies.database, target, proposal, choice), failure: null }
    }
    const fields = await previewOn(this.#dependencies.database, target, NOTHING, choice)
    const { failure } = found
    return { externalUrl: null, fields: fields.map((field) => ({ ...field, reason: failure.message })), failure }
  }

  /** Gets the record from the provider and applies it, with its cover. @throws not_found */
  async apply(target: Target, from: From, options: ApplyOptions): Promise<Answered<Applied>> {
    const found = await this.#propose(target, from, options.choice, options.signal)
    return 'failure' in found ? found : { answer: await this.#applyFound(target, from, found.answer, options) }
  }

  async #applyFound(target: Target, { provider, externalId }: From, { proposal, externalUrl }: Found, how: ApplyOptions): Promise<Applied> {
    const origin = { pluginId: provider.id, pluginKey: provider.key, idKey: idKeyOf(provider, target.kind), externalId, userId: how.userId }
    if (how.dryRun) {
      const fields = await previewOn(this.#dependencies.database, target, proposal, how.choice)
      return { success: true, message: 'Nothing was changed: this was a dry run.', fields, applicationId: null, externalUrl, failure: null }
    }
    const { fields, applicationId: id } = await applyProposal(this.#dependencies.database, target, proposal, { choice: how.choice, origin })
    let applicationId = id
    const cover = fields.find(({ field, status }) => field === 'cover' && status === 'will_apply')
    if (cover && applicationId !== null && proposal.coverUrl !== null) {
      const problem = await this.#fetchCover(target, provider, proposal.coverUrl, applicationId, how)
      if (problem !== null) Object.assign(cover, { status: 'not_provided', reason: problem })
      if (problem !== null && (await forgetIfEmpty(this.#dependencies.database, applicationId))) applicationId = null
    }
    const count = fields.filter(({ status }) => status === 'will_apply').length
    const message =
      count === 0
        ? 'Nothing had to be changed.'
        : `${count} ${count === 1 ? 'field was' : 'fields were'} taken from ${quotedText(provider.name)}.`
    return { success: true, message, fields, applicationId, externalUrl, failure: null }
  }
}

const missing = ({ kind, id }: Target): never => refuse('not_found', `There is no ${kind} ${id}.`)

/** Previews what applying would change. @throws not_found */
async function previewOn(database: Knex, target: Target, proposal: Proposal, choice: Choice): Promise<FieldPreview[]> {
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
async function applyProposal(
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
        ? await addApplication(trx, { kind, recordId: id, changes, appliedBy: origin.userId, ...origin })
        : null
    if (names.length > 0) await announceRecords(trx, kind, [id], names, kind === 'series' ? origin.pluginId : undefined)
    return { fields, applicationId }
  })
}

/** A record before a proposal is applied. */
interface CurrentRecord {
  state: MetadataState
  /** Whether a user has selected a cover, or a plugin has added one. */
  hasChosenCover: boolean
}

/** The change for some fields and sets of a proposal. Genres and tags replace those that machines gave before; entries of other sets are added. */
function changeOf(proposal: Proposal, fields: ReadonlySet<string>): MetadataChange {
  const isChosen = ([name]: [string, unknown]) => fields.has(name)
  const setChange = ([name, add]: [string, unknown]) => [name, { add, ...(isNames(name as SetName) && { remove: 'others' }) }]
  return {
    values: Object.fromEntries(Object.entries(proposal.values).filter(isChosen)),
    sets: Object.fromEntries(Object.entries(proposal.sets).filter(isChosen).map(setChange)),
  }
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

/** What a proposal would change, every field with its reason. Pure: applying does exactly what this returns. */
function previewProposal(kind: Kind, { state, hasChosenCover }: CurrentRecord, proposal: Proposal, choice: Choice): FieldPreview[] {
  return proposable(kind).map((field) => {
    const { current, given, proposed } = valuesOfField(kind, state, proposal, field)
    const preview = (
      status: FieldStatus,
      reason: string | null = null,
      currentValue = current,
      proposedValue = proposed,
    ): FieldPreview => ({
      field,
      status,
      reason,
      currentValue: currentValue ?? null,
      proposedValue: proposedValue ?? null,
    })
    if (isNothing(given)) return preview('not_provided', 'The provider has no value for it.', current, null)
    if (!isTarget(choice, field)) return preview('no_permission', 'This provider is not used for this field.')
    if (choice.fields !== null && !choice.fields.includes(field)) return preview('no_permission', 'It was not chosen.')
    if (choice.gapsOnly && (field === COVER ? hasChosenCover : !isNothing(current) && !isFromName(state, field)))
      return preview('unchanged', 'It has a value already.')
    const lock = field in SET_RULES ? SET_RULES[field as SetName].lock[kind] : field
    if (lock !== null && state.locks.has(lock)) return preview('locked', 'It is locked.')
    if (field === COVER) return hasChosenCover ? preview('locked', 'A cover has been chosen.') : preview('will_apply')
    const [outcome] = applyChange(kind, state, changeOf(proposal, new Set([field])), 'plugin').outcomes
    if (outcome?.result === 'outranked') return preview('locked', BY_USER)
    if (outcome?.result === 'locked') return preview('locked', 'It is locked.')
    return preview(outcome?.result === 'unchanged' ? 'unchanged' : 'will_apply')
  })
}

/** The current value of a field, the provider's value, and the value after applying it. */
function valuesOfField(
  kind: Kind,
  state: MetadataState,
  proposal: Proposal,
  field: string,
): { current: unknown; given: unknown; proposed: unknown } {
  if (field === COVER) return { current: null, given: proposal.coverUrl, proposed: proposal.coverUrl }
  const values: Readonly<Record<string, unknown>> = proposal.values
  const given = field in SET_RULES ? proposal.sets[field as SetName] : values[field]
  if (!(field in SET_RULES)) return { current: state.values[field], given, proposed: given }
  const name = field as SetName
  const set: MetadataSet = state.sets[name] ?? emptySet()
  const { add = [], remove } = changeOf(proposal, new Set([name])).sets?.[name] ?? {}
  const { next } = applySet(name, set, { add, ...(remove && { remove }) }, { kind, id: state.id, giver: 'plugin' })
  const listed = ({ entries }: MetadataSet) =>
    valueOfSet(
      name,
      [...entries].map(([key, { value }]) => [key, value] as const),
    )
  return { current: listed(set), given, proposed: listed(next) }
}

const BY_USER = 'A user has entered another value.'
/** A title that is only the name of a folder or file counts as missing. */
const isFromName = ({ sources }: MetadataState, field: string): boolean => sources[field] === 'file_name'
