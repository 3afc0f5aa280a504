import type { Knex } from 'knex'
import type { Context } from '#core/conditions/context.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { isPlainIdentifier } from '#core/fields/identifier-form.ts'
import { refuse } from '#core/foundation/errors.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { type Application, listApplications } from '#core/matching/application-store.ts'
import type { Applied, ProposalPreview, Proposals, Target } from '#core/matching/apply-proposal.ts'
import { findRecord } from '#core/matching/find-record.ts'
import { type Choice, proposable } from '#core/matching/proposal.ts'
import type { SearchResult } from '#core/matching/provider-answers.ts'
import { idKeyOf, type Provider, type ProviderClient, type ProviderFailure } from '#core/matching/provider-client.ts'
import { CONFIDENCE_MIN } from '#core/matching/rank-results.ts'
import { type SearchTitle, searchTitle, titleOf } from '#core/matching/search-title.ts'
import { findTargetLibrary } from '#core/matching/target-query.ts'
import { undoApplication } from '#core/matching/undo-application.ts'
import { listBookContexts, listSeriesContexts } from '#core/templates/context-query.ts'
import type { RenderTemplate } from '#core/templates/render-template.ts'

/** Reason code for records that were not matched. */
type MatchSkip =
  | 'plugin_not_found'
  | 'plugin_disabled'
  | 'no_matching_targets'
  | 'library_conditions_not_met'
  | 'plugin_conditions_not_met'
  | 'no_match'
  | 'low_confidence'
  | 'provider_failed'

export interface Matched extends Applied {
  match: SearchResult | null
  confidence: number | null
  skipped: MatchSkip | null
  /** How long the provider requests to wait. */
  retryAfterSeconds: number | null
}

interface ProviderPreview extends ProposalPreview {
  provider: Provider
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

interface MatchingDependencies {
  database: Knex
  providers: ProviderClient
  proposals: Proposals
  settings: { dataFolder: string }
  render: RenderTemplate
  rules: Rules
}

/** Finds series and books at providers, and applies their data. */
export class Matching {
  readonly #dependencies: MatchingDependencies

  constructor(dependencies: MatchingDependencies) {
    this.#dependencies = dependencies
  }

  async #getProvider(id: string): Promise<Provider> {
    return (await this.#dependencies.providers.find(id)) ?? refuse('not_found', `There is no plugin ${id}.`)
  }

  async #contextOf({ kind, id }: Target): Promise<Context> {
    const contexts: Map<string, Context> =
      kind === 'series'
        ? await listSeriesContexts(this.#dependencies.database, null, [id])
        : await listBookContexts(this.#dependencies.database, null, [id])
    return contexts.get(id) ?? refuse('not_found', `There is no ${kind} ${id}.`)
  }

  /** Why a provider does not match this record automatically; null if it does. */
  async #objection(target: Target, provider: Provider, context: Context): Promise<MatchSkip | null> {
    const library = await findTargetLibrary(this.#dependencies.database, target.kind, target.id)
    const { libraryIds = [], autoMatchConditions } = provider.matching
    if (library === null) return 'no_matching_targets'
    if (libraryIds.length > 0 && !libraryIds.includes(library.libraryId)) return 'no_matching_targets'
    if (library.autoMatchConditions && !(await this.#dependencies.rules.passes(library.autoMatchConditions, context)))
      return 'library_conditions_not_met'
    if (autoMatchConditions && !(await this.#dependencies.rules.passes(autoMatchConditions, context))) return 'plugin_conditions_not_met'
    return null
  }

  /** @throws not_found */
  async searchTitle(target: Target, pluginId: string): Promise<SearchTitle> {
    const provider = await this.#getProvider(pluginId)
    return await searchTitle(this.#dependencies, provider.matching, await this.#contextOf(target))
  }

  /** Previews the changes. A failure of the provider is a reason, without a proposal. @throws not_found, conflict */
  async preview(target: Target, { pluginId, externalId }: { pluginId: string; externalId: string }): Promise<ProviderPreview> {
    const provider = await this.#getProvider(pluginId)
    return {
      provider,
      ...(await this.#dependencies.proposals.preview(target, { provider, externalId }, choiceOf(provider, { fields: null }))),
    }
  }

  /** @throws not_found, conflict */
  async apply(
    target: Target,
    from: { pluginId: string; externalId: string; fields: readonly string[] | null; dryRun: boolean; userId: string | null },
  ): Promise<Applied> {
    const { pluginId, externalId, fields, dryRun, userId } = from
    const provider = await this.#getProvider(pluginId)
    const unknown = fields?.find((field) => !proposable(target.kind).includes(field))
    if (unknown !== undefined)
      refuse(
        'invalid_value',
        `"${unknown.slice(0, 60)}" is not a field that can be applied. There are: ${proposable(target.kind).join(', ')}.`,
      )
    const choice = choiceOf(provider, { fields })
    const applied = await this.#dependencies.proposals.apply(
      target,
      { provider, externalId },
      { choice, userId, dryRun, checksCover: true },
    )
    if ('answer' in applied) return applied.answer
    const { failure } = applied
    return { success: false, message: failure.message, fields: [], applicationId: null, externalUrl: null, failure }
  }

  /**
   * Finds the record at the provider and applies its data, if the match is good enough.
   * @param how.query text from a user; skips the conditions
   * @throws not_found
   */
  async autoMatch(target: Target, how: AutoMatch): Promise<Matched> {
    const provider = await this.#dependencies.providers.find(how.pluginId)
    if (provider === null) return skip('plugin_not_found', `There is no plugin ${how.pluginId}.`)
    const { name, state, methods } = provider
    if (state !== 'enabled') return skip('plugin_disabled', `${quotedText(name)} is ${state}.`)
    if (!methods.includes(`metadata.${target.kind}.get`))
      return skip('no_matching_targets', `${quotedText(name)} has no metadata of ${target.kind === 'book' ? 'books' : 'series'}.`)
    const context = await this.#contextOf(target)
    const reason = how.query ? null : await this.#objection(target, provider, context)
    if (reason !== null) return skip(reason, `${titleOf(context)} is not matched automatically: ${reason.replaceAll('_', ' ')}.`)
    const choice = choiceOf(provider, { fields: how.fields ?? null, gapsOnly: how.gapsOnly ?? false })
    const { userId, dryRun, signal } = how
    const apply = (externalId: string) =>
      this.#dependencies.proposals.apply(target, { provider, externalId }, { choice, userId, dryRun, signal })
    const known = context.externalIds[idKeyOf(provider, target.kind)]
    if (!how.query && provider.matching.useExistingExternalId !== false && known && isPlainIdentifier(known.id)) {
      const applied = await apply(known.id)
      if ('answer' in applied) return { ...applied.answer, ...SURE }
      // A missing record may have moved; other failures are temporary.
      if (applied.failure.code !== 'not_found') return failed(applied.failure)
    }
    if (how.existingIdsOnly) return skip('no_match', `No identifier of ${quotedText(name)} is known.`)
    const best = await findRecord(this.#dependencies, provider, { kind: target.kind, context }, how)
    if ('failure' in best) return failed(best.failure)
    if (best.answer === null) return skip('no_match', `${quotedText(name)} has no similar record.`)
    const { result: match, confidence } = best.answer
    if (confidence < CONFIDENCE_MIN)
      return skip(
        'low_confidence',
        `${quotedText(match.title)} may be the record, but the confidence is too low (${confidence.toFixed(2)} of ${CONFIDENCE_MIN}).`,
        { match, confidence },
      )
    const applied = await apply(match.externalId)
    if ('failure' in applied) return failed(applied.failure)
    return { ...applied.answer, match, confidence, skipped: null, retryAfterSeconds: null }
  }

  applications({ kind, id }: Target): Promise<Application[]> {
    return listApplications(this.#dependencies.database, kind, id)
  }

  /** @throws not_found, conflict */
  undo(applicationId: string): ReturnType<typeof undoApplication> {
    return undoApplication(this.#dependencies, applicationId)
  }
}

function choiceOf({ matching }: Provider, { fields, gapsOnly = false }: { fields: readonly string[] | null; gapsOnly?: boolean }): Choice {
  return {
    fields,
    gapsOnly,
    targets: matching.metadataTargets ?? null,
  }
}

function skip(skipped: MatchSkip, message: string, more: Partial<Matched> = {}): Matched {
  return {
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
