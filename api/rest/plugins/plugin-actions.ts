import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { PluginId, takingPluginIds } from '#api/rest/plugins/plugin-reference.ts'
import { withPictureAddresses } from '#api/views/plugin-pictures.ts'
import { capabilitiesView, failureMembers, PluginCapabilities, scopesOf } from '#api/views/plugin-view.ts'
import { searchAnswerView } from '#api/views/search-results.ts'
import { listVisibleLibraryIds } from '#core/catalog/library-name-query.ts'
import { FreeObject, Nullable, OneOf, Uuid } from '#core/foundation/schema.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { hasFailed } from '#plugins/host/plugin-calls.ts'
import { failureOf } from '#plugins/host/plugin-failure.ts'

type Services = Pick<DataServices, 'database'> & Pick<PluginServices, 'plugins' | 'pluginCalls' | 'pluginPictures'>
const endpoint = endpointOf<Services>()

const tag = 'plugins'
const Count = Type.Integer({ minimum: 0 })
/** Pages that may offer actions of plugins; no plugin offers any yet for many books at once, nor for a scan. */
const SCOPES = ['series:detail', 'series:bulk', 'book:detail', 'book:bulk', 'library:detail', 'library:scan'] as const
/** Default number of search results. */
const SEARCH_LIMIT = 20

export const pluginActionRoutes = takingPluginIds([
  endpoint({
    name: 'listPluginActions',
    method: 'GET',
    path: '/api/v1/plugins/actions',
    summary: 'List the actions of enabled plugins',
    tag,
    allow: { who: 'series-read' },
    query: Type.Object({ scope: OneOf(SCOPES), libraryId: Type.Optional(Uuid) }),
    reply: Type.Object({
      scope: Type.String(),
      actions: Type.Array(
        Type.Object({
          pluginId: Uuid,
          pluginName: Type.String(),
          pluginDisplayName: Type.String(),
          actionType: Type.String(),
          label: Type.String(),
          capabilities: PluginCapabilities,
          description: Nullable(Type.String()),
          libraryIds: Type.Array(Uuid, {
            description: 'Libraries that use the plugin, of those that the caller may see; empty means all.',
          }),
          searchUriTemplate: Nullable(
            Type.String({ description: 'Address of a page for manual search: {title} is replaced by the search text.' }),
          ),
        }),
      ),
    }),
    run: async ({ services, caller }, { query }) => {
      const plugins = await services.plugins.list()
      const named = plugins.flatMap(({ matching }) => matching.libraryIds ?? [])
      const seen = await listVisibleLibraryIds(services.database, caller, named)
      const seenOf = ({ matching }: InstalledPlugin) => (matching.libraryIds ?? []).filter((id) => seen.has(id))
      const offered = (plugin: InstalledPlugin) => {
        const isOfAll = (plugin.matching.libraryIds ?? []).length === 0
        const libraryIds = seenOf(plugin)
        const isHere =
          isOfAll || (query.libraryId === undefined ? libraryIds.length > 0 : libraryIds.includes(query.libraryId.toLowerCase()))
        return plugin.state === 'enabled' && plugin.granted !== null && isHere && scopesOf(plugin.manifest).includes(query.scope)
      }
      const actions = plugins.filter(offered).map((plugin) => ({
        pluginId: plugin.id,
        pluginName: plugin.key,
        pluginDisplayName: plugin.manifest.name,
        actionType: 'metadata_search',
        label: `Search ${escapedText(plugin.manifest.name)}`,
        capabilities: capabilitiesView(plugin.manifest),
        description: plugin.manifest.summary,
        libraryIds: seenOf(plugin),
        searchUriTemplate: plugin.manifest.capabilities.webLinks?.search ?? null,
      }))
      return { scope: query.scope, actions }
    },
  }),
  endpoint({
    name: 'executePlugin',
    method: 'POST',
    path: '/api/v1/plugins/:pluginId/execute',
    summary: 'Call a metadata function of a plugin; a failure of the plugin is a regular answer',
    tag,
    allow: { who: 'series-write' },
    params: PluginId,
    body: Type.Object({
      action: Type.Union([
        Type.Literal('ping', { description: 'Starts the plugin and does nothing else.' }),
        Type.Object({
          metadata: Type.Object({
            action: OneOf(['search', 'get', 'match']),
            contentType: OneOf(['series', 'book']),
            params: Type.Optional(FreeObject({ description: 'Parameters of the function, as in the SDK.' })),
          }),
        }),
      ]),
    }),
    reply: Type.Object({
      success: Type.Boolean(),
      latencyMs: Count,
      result: Type.Optional(Type.Unknown()),
      ...failureMembers,
      error: Nullable(Type.String()),
    }),
    run: async (call, { params, body }) => {
      const { services } = call
      if (body.action === 'ping') {
        const { success, latencyMs, message, code } = await services.plugins.test(params.pluginId)
        return { success, latencyMs, callId: null, code, error: success ? null : message }
      }
      const { action, contentType, params: input = {} } = body.action.metadata
      const method = `metadata.${contentType}.${action}`
      const plugin = await services.plugins.get(params.pluginId)
      if (action === 'search' && typeof input['limit'] !== 'number') input['limit'] = plugin.matching.searchResultsLimit ?? SEARCH_LIMIT
      const begun = performance.now()
      const attempt = await services.pluginCalls.attempt({ pluginId: params.pluginId, method, input, userId: null })
      if (!hasFailed(attempt)) {
        const result = withPictureAddresses(call, plugin, method, attempt.result)
        return {
          success: true,
          latencyMs: Math.round(attempt.wallMs),
          result: action === 'search' ? searchAnswerView(result) : result,
          callId: attempt.callId,
          code: null,
          error: null,
        }
      }
      return {
        success: false,
        latencyMs: Math.round(performance.now() - begun),
        ...failureOf(attempt.failed),
        error: attempt.failed.message,
      }
    },
  }),
])
