import type { Knex } from 'knex'
import { dropCover, keepCover } from '#core/catalog/choose-cover.ts'
import type { Context } from '#core/conditions/context.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { type Application, forgetIfEmpty, listApplications, recordCover } from '#core/matching/application-store.ts'
import { applyProposal, previewOn, type Target, undoApplication } from '#core/matching/apply-proposal.ts'
import { idKeyOf, openRecordFinder } from '#core/matching/find-record.ts'
import { type Choice, type FieldPreview, type Proposal, proposable } from '#core/matching/proposal.ts'
import type { SearchResult } from '#core/matching/provider-answers.ts'
import type { DownloadCover, Provider, ProviderClient, ProviderFailure } from '#core/matching/provider-client.ts'
import { CONFIDENCE_MIN } from '#core/matching/rank-results.ts'
import { type SearchTitle, searchTitle, titleOf } from '#core/matching/search-title.ts'
import { findTargetLibrary } from '#core/matching/target-query.ts'
import type { DrawCover } from '#core/metadata/cover.ts'
import { listBookContexts, listSeriesContexts } from '#core/templates/context-query.ts'
import type { RenderTemplate } from '#core/templates/render-template.ts'

export type { Target } from '#core/matching/apply-proposal.ts'

/** Reason code for records that were not matched. */
export type MatchSkip =
  | 'plugin_not_found'
  | 'plugin_disabled'
  | 'no_matching_targets'
  | 'library_conditions_not_met'
  | 'plugin_conditions_not_met'
  | 'no_match'
  | 'low_confidence'
  | 'provider_failed'

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

export interface Matched extends Applied {
  match: SearchResult | null
  confidence: number | null
  skipped: MatchSkip | null
  /** How long the provider requests to wait. */
  retryAfterSeconds: number | null
}

export interface Matching {
  /** @throws not_found */
  searchTitle(target: Target, pluginId: string): Promise<SearchTitle>
  /** Previews the changes. A failure of the provider is a reason, without a proposal. @throws not_found, conflict */
  preview(
    target: Target,
    from: { pluginId: string; externalId: string },
  ): Promise<{ provider: Provider; externalUrl: string | null; fields: FieldPreview[]; failure: ProviderFailure | null }>
  /** @throws not_found, conflict */
  apply(
    target: Target,
    from: { pluginId: string; externalId: string; fields: readonly string[] | null; dryRun: boolean; userId: string | null },
  ): Promise<Applied>
  /**
   * Finds the record at the provider and applies its data, if the match is good enough.
   * @param how.query text from a user; skips the conditions
   * @throws not_found
   */
  autoMatch(target: Target, how: AutoMatch): Promise<Matched>
  applications(target: Target): Promise<Application[]>
  /** @throws not_found, conflict */
  undo(applicationId: string): ReturnType<typeof undoApplication>
}

export interface AutoMatch {
  pluginId: string
  query?: string | null
  userId: string | null
  /** Keeps all existing values, for providers after the first. */
  gapsOnly?: boolean
  /** Further limits the fields, besides the settings of the plugin. */
  fields?: readonly string[] | null
  /** Only looks up known identifiers, without searching. */
  existingIdsOnly?: boolean
  /** Previews the changes without making them. */
  dryRun?: boolean
  signal?: AbortSignal
}

export interface MatchingParts {
  database: Knex
  providers: ProviderClient
  render: RenderTemplate
  rules: Rules
  downloadCover: DownloadCover
  drawCover: DrawCover
  settings: { dataFolder: string }
  log: Log
}

const NOTHING: Proposal = { values: {}, sets: {}, coverUrl: null }

export function openMatching(parts: MatchingParts): Matching {
  return new ProviderMatching(parts)
}

class ProviderMatching implements Matching {
  readonly #parts: MatchingParts
  readonly #records

  constructor(parts: MatchingParts) {
    this.#parts = parts
    this.#records = openRecordFinder(parts)
  }

  async #getProvider(id: string): Promise<Provider> {
    return (await this.#parts.providers.find(id)) ?? refuse('not_found', `There is no plugin ${id}.`)
  }

  async #contextOf({ kind, id }: Target): Promise<Context> {
    const contexts: Map<string, Context> =
      kind === 'series'
        ? await listSeriesContexts(this.#parts.database, null, [id])
        : await listBookContexts(this.#parts.database, null, [id])
    return contexts.get(id) ?? refuse('not_found', `There is no ${kind} ${id}.`)
  }

  /** Fetches the proposed cover; if that fails, the other changes stay. */
  async #bringCover(target: Target, provider: Provider, url: string, applicationId: string, signal: AbortSignal): Promise<string | null> {
    const told = (code: string, message: string): string => {
      this.#parts.log.warn({ plugin: provider.key, code, target }, `A cover could not be had: ${message}`)
      return message
    }
    try {
      const picture = await this.#parts.downloadCover({ url, caller: provider.key, signal })
      if ('failure' in picture) return told(picture.failure.code, picture.failure.message)
      const { id } = await keepCover(this.#parts, {
        owner: target,
        bytes: picture.bytes,
        source: `plugin:${provider.key}`,
        giver: 'plugin',
      })
      if (await recordCover(this.#parts.database, applicationId, id)) return null
      await dropCover(this.#parts, { owner: target, coverId: id, by: 'user' })
      return 'All of this was undone before the cover came.'
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return told(error.code, error.message)
    }
  }

  async #applyFrom(
    target: Target,
    provider: Provider,
    found: { proposal: Proposal; externalUrl: string | null; externalId: string },
    how: { choice: Choice; userId: string | null; dryRun?: boolean | undefined; signal?: AbortSignal | undefined },
  ): Promise<Applied> {
    const { proposal, externalUrl, externalId } = found
    const origin = { pluginId: provider.id, pluginKey: provider.key, idKey: idKeyOf(provider, target.kind), externalId, userId: how.userId }
    if (how.dryRun) {
      const fields = await previewOn(this.#parts.database, target, proposal, how.choice)
      return { success: true, message: 'Nothing was changed: this was a dry run.', fields, applicationId: null, externalUrl, failure: null }
    }
    const { fields, applicationId: id } = await applyProposal(this.#parts.database, target, proposal, { choice: how.choice, origin })
    let applicationId = id
    const cover = fields.find(({ field, status }) => field === 'cover' && status === 'will_apply')
    if (cover && applicationId !== null && proposal.coverUrl !== null) {
      const problem = await this.#bringCover(target, provider, proposal.coverUrl, applicationId, how.signal ?? new AbortController().signal)
      if (problem !== null) Object.assign(cover, { status: 'not_provided', reason: problem })
      if (problem !== null && (await forgetIfEmpty(this.#parts.database, applicationId))) applicationId = null
    }
    const count = fields.filter(({ status }) => status === 'will_apply').length
    const message =
      count === 0 ? 'Nothing had to be changed.' : `${count} ${count === 1 ? 'field was' : 'fields were'} taken from ${provider.name}.`
    return { success: true, message, fields, applicationId, externalUrl, failure: null }
  }

  /** Why a provider does not match this record automatically; null if it does. */
  async #objection(target: Target, provider: Provider, context: Context): Promise<MatchSkip | null> {
    const library = await findTargetLibrary(this.#parts.database, target.kind, target.id)
    const { libraryIds = [], autoMatchConditions } = provider.matching
    if (library === null) return 'no_matching_targets'
    if (libraryIds.length > 0 && !libraryIds.includes(library.libraryId)) return 'no_matching_targets'
    if (library.autoMatchConditions && !(await this.#parts.rules.passes(library.autoMatchConditions, context)))
      return 'library_conditions_not_met'
    if (autoMatchConditions && !(await this.#parts.rules.passes(autoMatchConditions, context))) return 'plugin_conditions_not_met'
    return null
  }

  async searchTitle(target: Target, pluginId: string): Promise<SearchTitle> {
    const provider = await this.#getProvider(pluginId)
    return await searchTitle(this.#parts, provider.matching, await this.#contextOf(target))
  }

  async preview(
    target: Target,
    { pluginId, externalId }: { pluginId: string; externalId: string },
  ): Promise<{ provider: Provider; externalUrl: string | null; fields: FieldPreview[]; failure: ProviderFailure | null }> {
    const provider = await this.#getProvider(pluginId)
    const found = await this.#records.propose(target.kind, provider, externalId)
    const choice = choiceOf(provider, { fields: null })
    if ('answer' in found) {
      const { proposal, externalUrl } = found.answer
      return { provider, externalUrl, fields: await previewOn(this.#parts.database, target, proposal, choice), failure: null }
    }
    const fields = await previewOn(this.#parts.database, target, NOTHING, choice)
    const { failure } = found
    return { provider, externalUrl: null, fields: fields.map((field) => ({ ...field, reason: failure.message })), failure }
  }

  async apply(
    target: Target,
    {
      pluginId,
      externalId,
      fields,
      dryRun,
      userId,
    }: { pluginId: string; externalId: string; fields: readonly string[] | null; dryRun: boolean; userId: string | null },
  ): Promise<Applied> {
    const provider = await this.#getProvider(pluginId)
    const stranger = fields?.find((field) => !proposable(target.kind).includes(field))
    if (stranger !== undefined)
      refuse(
        'invalid_value',
        `"${stranger.slice(0, 60)}" is no field that can be applied. There are: ${proposable(target.kind).join(', ')}.`,
      )
    const found = await this.#records.propose(target.kind, provider, externalId)
    if ('failure' in found) {
      const { failure } = found
      return { success: false, message: failure.message, fields: [], applicationId: null, externalUrl: null, failure }
    }
    const choice = choiceOf(provider, { fields })
    return await this.#applyFrom(target, provider, { ...found.answer, externalId }, { choice, userId, dryRun })
  }

  async autoMatch(target: Target, how: AutoMatch): Promise<Matched> {
    const provider = await this.#parts.providers.find(how.pluginId)
    if (provider === null) return skip('plugin_not_found', `There is no plugin ${how.pluginId}.`)
    const { name, state, methods } = provider
    if (state !== 'enabled') return skip('plugin_disabled', `${name} is ${state}.`)
    if (!methods.includes(`metadata.${target.kind}.get`))
      return skip('no_matching_targets', `${name} has no metadata of ${target.kind === 'book' ? 'books' : 'series'}.`)
    const context = await this.#contextOf(target)
    const reason = how.query ? null : await this.#objection(target, provider, context)
    if (reason !== null) return skip(reason, `${titleOf(context)} is not matched by itself: ${reason.replaceAll('_', ' ')}.`)
    const choice = choiceOf(provider, { fields: how.fields ?? null, gapsOnly: how.gapsOnly ?? false })
    const source = idKeyOf(provider, target.kind)
    const known = context.externalIds[source]
    if (!how.query && provider.matching.useExistingExternalId !== false && known) {
      const found = await this.#records.propose(target.kind, provider, known.id, how.signal)
      if ('answer' in found)
        return {
          ...(await this.#applyFrom(
            target,
            provider,
            { ...found.answer, externalId: known.id },
            { choice, userId: how.userId, dryRun: how.dryRun, signal: how.signal },
          )),
          ...SURE,
        }
      // A missing record may have moved; other failures are temporary.
      if (found.failure.code !== 'not_found') return failed(found.failure)
    }
    if (how.existingIdsOnly) return skip('no_match', `No identifier of ${name} is known.`)
    const best = await this.#records.find(target.kind, provider, context, how)
    if ('failure' in best) return failed(best.failure)
    if (best.answer === null) return skip('no_match', `${name} knows nothing like it.`)
    const { result: match, confidence } = best.answer
    if (confidence < CONFIDENCE_MIN)
      return skip(
        'low_confidence',
        `"${match.title}" may be it, but that is not certain enough (${confidence.toFixed(2)} of ${CONFIDENCE_MIN}).`,
        { match, confidence },
      )
    const found = await this.#records.propose(target.kind, provider, match.externalId, how.signal)
    if ('failure' in found) return failed(found.failure)
    const applied = await this.#applyFrom(
      target,
      provider,
      { ...found.answer, externalId: match.externalId },
      { choice, userId: how.userId, dryRun: how.dryRun, signal: how.signal },
    )
    return { ...applied, match, confidence, skipped: null, retryAfterSeconds: null }
  }

  applications({ kind, id }: Target): Promise<Application[]> {
    return listApplications(this.#parts.database, kind, id)
  }

  async undo(applicationId: string): ReturnType<typeof undoApplication> {
    const undone = await undoApplication(this.#parts.database, applicationId)
    const { kind, recordId: id, changes } = undone.application
    if (changes.coverId === null) return undone
    try {
      await dropCover(this.#parts, { owner: { kind, id }, coverId: changes.coverId, by: 'plugin' })
      return { ...undone, undone: [...undone.undone, 'cover'] }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // The plugin was uninstalled meanwhile.
      if (error.code === 'not_found') return undone
      return { ...undone, left: [...undone.left, { field: 'cover', reason: error.message }] }
    }
  }
}

function choiceOf({ matching }: Provider, { fields, gapsOnly = false }: { fields: readonly string[] | null; gapsOnly?: boolean }): Choice {
  return {
    ...{ fields, gapsOnly },
    // The identifier of the source is always taken, whatever fields are selected.
    targets: matching.metadataTargets ? [...matching.metadataTargets, 'externalIds', 'externalLinks', 'externalRatings'] : null,
  }
}

function skip(skipped: MatchSkip, message: string, more: Partial<Matched> = {}): Matched {
  return {
    ...{
      success: false,
      message,
      fields: [],
      applicationId: null,
      externalUrl: null,
      match: null,
      confidence: null,
      retryAfterSeconds: null,
      failure: null,
      skipped,
    },
    ...more,
  }
}

function failed(failure: ProviderFailure): Matched {
  return skip('provider_failed', failure.message, {
    failure,
    retryAfterSeconds: failure.code === 'rate_limited' ? (failure.retryAfterSeconds ?? RATE_LIMIT_SECONDS) : null,
  })
}

/** The score of a known identifier, which needs no search. */
const SURE = { match: null, confidence: 1, skipped: null, retryAfterSeconds: null }
/** Used if a service requests a wait without a duration. */
const RATE_LIMIT_SECONDS = 30
