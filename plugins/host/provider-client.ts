import type { Knex } from 'knex'
import type { CarrelError } from '#core/foundation/errors.ts'
import type { Recommendation } from '#core/matching/provider-answers.ts'
import type { Answered, PluginReader, Provider, ProviderClient, ProviderFailure, Recommender } from '#core/matching/provider-client.ts'
import { type InstalledPlugin, isTestTool } from '#plugins/host/installed-plugin.ts'
import { hasFailed, type PluginCall } from '#plugins/host/plugin-calls.ts'
import { failureOf } from '#plugins/host/plugin-failure.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import { findPlugin } from '#plugins/host/plugin-store.ts'
import { findUserPlugin, listUserPlugins, updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { isOffered, nameOf } from '#plugins/host/user-plugins.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'

/** A plugin as matching and recommendations know it. */
export function providerOf(plugin: Pick<InstalledPlugin, 'id' | 'key' | 'version' | 'state' | 'manifest' | 'matching'>): Provider {
  const { id, key, version, state, manifest, matching } = plugin
  const { 'metadata.series': series, 'metadata.book': book, recommendations } = manifest.capabilities
  return {
    ...{ id, key, name: manifest.name, version, state, matching },
    methods: methodsOf(manifest),
    idSources: {
      series: series?.idSource ?? key,
      book: book?.idSource ?? key,
      recommendations: recommendations?.idSource ?? series?.idSource ?? key,
    },
    isTestTool: isTestTool(plugin),
  }
}

const providerFailureOf = (error: CarrelError): ProviderFailure => ({
  ...failureOf(error),
  message: error.message,
  retryAfterSeconds: error.retryAfterSeconds ?? null,
})

/** Plugins as the providers of the rest of the server. */
export function openProviderClient({ database, plugins }: { database: Knex; plugins: PluginHost }): ProviderClient {
  /** @typeParam Answer what the schema of the method's answers says */
  async function ask<Answer>(call: PluginCall): Promise<Answered<Answer>> {
    const attempt = await plugins.attempt(call)
    return hasFailed(attempt) ? { failure: providerFailureOf(attempt.failed) } : { answer: attempt.result as Answer }
  }
  const askForServer = <Answer>(pluginId: string, method: string, input: unknown, signal: AbortSignal | undefined) =>
    ask<Answer>({ pluginId, method, input, userId: null, ...(signal && { signal }) })

  /** The connection is broken, not the plugin; and where there is none, nothing was refused. */
  async function markRefused(reader: PluginReader): Promise<void> {
    const status = await plugins.authStatus(await plugins.get(reader.pluginId), reader.userId)
    if (status !== 'missing' && status !== 'none') await updateUserPlugin(database, reader, { authFailedAt: new Date() })
  }

  return {
    list: async () => (await plugins.list()).map(providerOf),
    async find(id) {
      const plugin = await findPlugin<InstalledPlugin>(database, id)
      return plugin && providerOf(plugin)
    },

    search: (id, kind, query, signal) => askForServer(id, `metadata.${kind}.search`, query, signal),
    match: (id, kind, query, signal) => askForServer(id, `metadata.${kind}.match`, query, signal),
    get: (id, kind, externalId, signal) => askForServer(id, `metadata.${kind}.get`, { externalId }, signal),

    async listRecommenders(userId) {
      const mine = (await listUserPlugins(database, userId)).filter(({ enabled }) => enabled)
      const all = mine.length === 0 ? [] : await plugins.list()
      return mine
        .flatMap(({ pluginId, config }) => {
          const plugin = all.find(({ id }) => id === pluginId)
          return plugin !== undefined && isOffered(plugin) ? [{ plugin, config }] : []
        })
        .sort((a, b) => (nameOf(a.plugin) < nameOf(b.plugin) ? -1 : 1))
        .map(({ plugin, config }): Recommender => ({ provider: providerOf(plugin), config }))
    },

    isEnabledFor: async (reader) => (await findUserPlugin(database, reader))?.enabled === true,

    async recommend(reader, { limit, exclude }, { onProgress, signal }) {
      const { manifest } = await plugins.get(reader.pluginId)
      const isRefreshed = manifest.capabilities.recommendations?.methods.includes('refresh') === true
      const asked = await ask<{ recommendations: Recommendation[] }>({
        ...reader,
        ...(isRefreshed
          ? { method: 'recommendations.refresh', input: { limit } }
          : { method: 'recommendations.get', input: { limit, exclude } }),
        onProgress,
        signal,
      })
      if ('failure' in asked) {
        if (asked.failure.code === 'auth') await markRefused(reader)
        return asked
      }
      await updateUserPlugin(database, reader, { authFailedAt: null, lastSuccessAt: new Date() })
      return { answer: asked.answer.recommendations }
    },

    async dismiss(reader, { externalId, reason }, signal) {
      const { manifest } = await plugins.get(reader.pluginId)
      if (!manifest.capabilities.recommendations?.methods.includes('dismiss')) return { answer: null }
      return await ask<null>({ ...reader, method: 'recommendations.dismiss', input: { externalId, reason }, signal })
    },
  }
}
