import type { Knex } from 'knex'
import { dropCover, keepCover } from '#core/catalog/edit-covers.ts'
import { findCoverRow } from '#core/covers/chosen-cover-store.ts'
import type { DrawCover } from '#core/covers/cover.ts'
import { announceRecords } from '#core/events/event-store.ts'
import { isPlainIdentifier } from '#core/fields/identifier-form.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { pluginKey } from '#core/fields/source-key.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { cutText } from '#core/foundation/text.ts'
import { proposalOf } from '#core/matching/answer-to-proposal.ts'
import { addApplication, forgetIfEmpty, recordCover } from '#core/matching/application-store.ts'
import { planProposal } from '#core/matching/plan-proposal.ts'
import { type Choice, COVER, type FieldPreview, type Proposal, withinTargets } from '#core/matching/proposal.ts'
import {
  type Answered,
  type DownloadCover,
  idKeyOf,
  type Provider,
  type ProviderClient,
  type ProviderFailure,
} from '#core/matching/provider-client.ts'
import { recordSynced } from '#core/matching/target-query.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import { SETS } from '#core/metadata/metadata-set.ts'
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
  /** Whether a dry run fetches the cover, to say whether it can be applied. */
  checksCover?: boolean
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

/** Codes of covers that stay refused. */
const REFUSED: ReadonlySet<string> = new Set(['invalid_address', 'permission', 'not_found', 'not_a_picture', 'too_large'])
/** How long a preview waits for a cover. */
const CHECK_MS = 5_000

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

  /** A cover that applying would refuse is not previewed as applied. A service that is slow or fails now may answer then. */
  async #checkCover(fields: FieldPreview[], { id: pluginId }: Provider, url: string | null): Promise<FieldPreview[]> {
    const cover = fields.find(({ field, status }) => field === COVER && status === 'will_apply')
    if (cover === undefined || url === null) return fields
    const signal = AbortSignal.timeout(CHECK_MS)
    const picture = await this.#dependencies.downloadCover({ url, pluginId, userId: null, signal }).catch((error: unknown) => {
      if (signal.aborted || error instanceof AppError) return null
      throw error
    })
    const refusal = picture !== null && 'failure' in picture && REFUSED.has(picture.failure.code) ? picture.failure.message : null
    return refusal === null
      ? fields
      : fields.map((field) => (field === cover ? { ...cover, status: 'not_provided', reason: refusal } : field))
  }

  /** Previews what applying would change. If the provider fails, nothing is proposed and each field has the failure as its reason. @throws not_found */
  async preview(target: Target, from: From, choice: Choice): Promise<ProposalPreview> {
    const found = await this.#propose(target, from, choice)
    if ('answer' in found) {
      const { proposal, externalUrl } = found.answer
      const fields = await previewOn(this.#dependencies.database, target, proposal, choice)
      return { externalUrl, fields: await this.#checkCover(fields, from.provider, proposal.coverUrl), failure: null }
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
      const planned = await previewOn(this.#dependencies.database, target, proposal, how.choice)
      const fields = how.checksCover === true ? await this.#checkCover(planned, provider, proposal.coverUrl) : planned
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
  return planProposal(kind, { state, hasChosenCover: await hasChosenCover(database, target) }, proposal, choice).fields
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
    const { fields, next } = planProposal(kind, { state: before, hasChosenCover: await hasChosenCover(trx, target) }, proposal, choice)
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
