import type { Knex } from 'knex'
import type { Kind } from '#core/fields/record-kind.ts'
import type { AppError } from '#core/foundation/errors.ts'
import type { MatchAnswer, MetadataAnswers, Recommendation, SearchAnswer } from '#core/matching/provider-answers.ts'
import type {
  Answered,
  MatchQuery,
  PluginUser,
  Provider,
  ProviderClient,
  ProviderFailure,
  Recommender,
  SearchQuery,
} from '#core/matching/provider-client.ts'
import { type InstalledPlugin, isTestTool } from '#plugins/host/installed-plugin.ts'
import { hasFailed, type PluginCall, type PluginCalls } from '#plugins/host/plugin-calls.ts'
import { failureOf } from '#plugins/host/plugin-failure.ts'
import { findPlugin } from '#plugins/host/plugin-store.ts'
import type { Plugins } from '#plugins/host/plugins.ts'
import { pauseOf } from '#plugins/host/user-consent.ts'
import { findUserPlugin, listUserPlugins, updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { isOffered, nameOf } from '#plugins/host/user-plugins.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'

/** A plugin as a provider for matching and recommendations. */
export function providerOf(plugin: Pick<InstalledPlugin, 'id' | 'key' | 'version' | 'state' | 'manifest' | 'matching'>): Provider {
  const { id, key, version, state, manifest, matching } = plugin
  const { 'metadata.series': series, 'metadata.book': book, recommendations } = manifest.capabilities
  return {
    id,
    key,
    name: manifest.name,
    version,
    state,
    matching,
    methods: methodsOf(manifest),
    idSources: {
      series: series?.idSource ?? key,
      book: book?.idSource ?? key,
      recommendations: recommendations?.idSource ?? series?.idSource ?? key,
    },
    isTestTool: isTestTool(plugin),
  }
}

const providerFailureOf = (error: AppError): ProviderFailure => ({
  ...failureOf(error),
  message: error.message,
  retryAfterSeconds: error.retryAfterSeconds ?? null,
})

interface ProviderClientOptions {
  database: Knex
  plugins: Plugins
  pluginCalls: PluginCalls
}

export class PluginProviders implements ProviderClient {
  readonly #options: ProviderClientOptions

  constructor(options: ProviderClientOptions) {
    this.#options = options
  }

  async list(): Promise<Provider[]> {
    return (await this.#options.plugins.list()).map(providerOf)
  }

  async find(id: string): Promise<Provider | null> {
    const plugin = await findPlugin(this.#options.database, id)
    return plugin && providerOf(plugin)
  }

  search(id: string, kind: Kind, query: SearchQuery, signal?: AbortSignal): Promise<Answered<SearchAnswer>> {
    return this.#callForServer(id, `metadata.${kind}.search`, query, signal)
  }

  match(id: string, kind: Kind, query: MatchQuery, signal?: AbortSignal): Promise<Answered<MatchAnswer>> {
    return this.#callForServer(id, `metadata.${kind}.match`, query, signal)
  }

  get<K extends Kind>(id: string, kind: K, externalId: string, signal?: AbortSignal): Promise<Answered<MetadataAnswers[K]>> {
    return this.#callForServer(id, `metadata.${kind}.get`, { externalId }, signal)
  }

  async listRecommenders(userId: string): Promise<Recommender[]> {
    const mine = (await listUserPlugins(this.#options.database, userId)).filter(({ enabled }) => enabled)
    const all = mine.length === 0 ? [] : await this.#options.plugins.list()
    return mine
      .flatMap((own) => {
        const plugin = all.find(({ id }) => id === own.pluginId)
        return plugin !== undefined && isOffered(plugin) && pauseOf(plugin, own) === null ? [{ plugin, config: own.config }] : []
      })
      .sort((a, b) => (nameOf(a.plugin) < nameOf(b.plugin) ? -1 : 1))
      .map(({ plugin, config }): Recommender => ({ provider: providerOf(plugin), config }))
  }

  async isEnabledFor(user: PluginUser): Promise<boolean> {
    const own = await findUserPlugin(this.#options.database, user)
    return own !== null && pauseOf(await this.#options.plugins.get(user.pluginId), own) === null
  }

  async recommend(
    user: PluginUser,
    { limit, exclude }: { limit: number; exclude: readonly string[] },
    { onProgress, signal }: { onProgress: (fraction: number, text: string | null) => void; signal: AbortSignal },
  ): Promise<Answered<readonly Recommendation[]>> {
    const { manifest } = await this.#options.plugins.get(user.pluginId)
    const isRefreshed = manifest.capabilities.recommendations?.methods.includes('refresh') === true
    const answer = await this.#ask<{ recommendations: Recommendation[] }>({
      ...user,
      ...(isRefreshed
        ? { method: 'recommendations.refresh', input: { limit } }
        : { method: 'recommendations.get', input: { limit, exclude } }),
      onProgress,
      signal,
    })
    if ('failure' in answer) {
      if (answer.failure.code === 'auth') await this.#markRefused(user)
      return answer
    }
    await updateUserPlugin(this.#options.database, user, { authFailedAt: null, lastSuccessAt: new Date() })
    return { answer: answer.answer.recommendations }
  }

  async dismiss(
    user: PluginUser,
    { externalId, reason }: { externalId: string; reason: string | null },
    signal: AbortSignal,
  ): Promise<Answered<null>> {
    const { manifest } = await this.#options.plugins.get(user.pluginId)
    if (!manifest.capabilities.recommendations?.methods.includes('dismiss')) return { answer: null }
    return await this.#ask<null>({ ...user, method: 'recommendations.dismiss', input: { externalId, reason }, signal })
  }

  /** @typeParam Answer the type of the method's answer schema */
  async #ask<Answer>(call: PluginCall): Promise<Answered<Answer>> {
    const attempt = await this.#options.pluginCalls.attempt(call)
    return hasFailed(attempt) ? { failure: providerFailureOf(attempt.failed) } : { answer: attempt.result as Answer }
  }

  #callForServer<Answer>(pluginId: string, method: string, input: unknown, signal: AbortSignal | undefined) {
    return this.#ask<Answer>({ pluginId, method, input, userId: null, ...(signal && { signal }) })
  }

  /** The user's connection is broken, not the plugin. Without a connection there is nothing to mark. */
  async #markRefused(user: PluginUser): Promise<void> {
    const status = await this.#options.plugins.authStatus(await this.#options.plugins.get(user.pluginId), user.userId)
    if (status !== 'missing' && status !== 'none') await updateUserPlugin(this.#options.database, user, { authFailedAt: new Date() })
  }
}
