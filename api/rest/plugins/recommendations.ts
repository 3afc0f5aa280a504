import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import { PluginReference, takingPluginIds } from '#api/rest/plugins/plugin-reference.ts'
import { pictureAddress } from '#api/views/plugin-pictures.ts'
import { described, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { RecommendationView } from '#core/recommendations/item-view.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'

type Services = Pick<DataServices, 'settings'> & Pick<PluginServices, 'pluginPictures' | 'plugins' | 'recommendations'>
const endpoint = endpointOf<Services>()

const tag = 'recommendations'
// Recommendations name what the user has read and rated.
const read = { who: 'progress-read', also: ['series-read'] } as const
const write = { who: 'progress-write', also: ['progress-read', 'series-read'] } as const
const WhichPlugin = Type.Object({
  pluginId: Type.Optional({
    ...PluginReference,
    description: 'A plugin that the user has enabled; default: the first of them by name, without test tools.',
  }),
})
const REASON_LENGTH_MAX = 200

const Recommendation = Type.Object(
  {
    ...RecommendationView.properties,
    coverUrl: Type.Optional(Type.String({ description: 'Path of the picture on this server, valid for a day for this user.' })),
    codexSeriesId: Type.Optional(described(Uuid, 'Same as serviceSeriesId; only with compatibility.legacyNames.')),
    inCodex: Type.Optional(Type.Boolean({ description: 'Same as inService; only with compatibility.legacyNames.' })),
  },
  { title: 'Recommendation' },
)

/** With the addresses that the plugin may still give, and the names that older clients know, if the settings enable them. */
function recommendationView(
  call: Call<Services>,
  { plugin, ownId }: { plugin: InstalledPlugin; ownId: string | null },
  { coverUrl, externalUrl, ...rest }: RecommendationView,
) {
  const { pluginPictures, settings } = call.services
  const picture = ownId === null ? null : pictureAddress(call, plugin, coverUrl, ownId)
  const link = pluginPictures.linkOf(externalUrl, plugin)
  const item = { ...rest, ...(link !== null && { externalUrl: link }), ...(picture !== null && { coverUrl: picture }) }
  if (!settings.compatibility.legacyNames) return item
  return { ...item, inCodex: item.inService, ...(item.serviceSeriesId !== undefined && { codexSeriesId: item.serviceSeriesId }) }
}

export const recommendationRoutes = takingPluginIds([
  endpoint({
    name: 'listMyRecommendations',
    method: 'GET',
    path: '/api/v1/user/recommendations',
    summary: 'Get my recommendations from a plugin; returns the stored list at once and, if it is old, starts a task that makes a new one',
    tag,
    allow: read,
    query: WhichPlugin,
    reply: Type.Object(
      {
        recommendations: Type.Array(Recommendation),
        pluginId: Uuid,
        pluginName: Type.String(),
        cached: Type.Boolean({ description: 'False if there is no list yet.' }),
        generatedAt: Type.Optional(Timestamp),
        taskId: Type.Optional(Uuid),
        taskStatus: Type.Optional(OneOf(['pending', 'running'])),
        lastError: Type.Optional(
          Type.Object(
            {
              code: Type.String({ description: 'Error code; docs/recommendations.md lists them.' }),
              message: Type.String(),
              at: Timestamp,
            },
            { description: 'Why the last refresh failed; absent if it succeeded, or if another one is waiting or running.' },
          ),
        ),
      },
      { title: 'Recommendations' },
    ),
    run: async (call, { query }) => {
      const { services } = call
      const list = await services.recommendations.get(call.caller, query.pluginId ?? null)
      const { provider, items, generatedAt, task, lastError } = list
      const plugin = await services.plugins.get(provider.id)
      const ownId = await services.pluginPictures.ownIdOf({ pluginId: provider.id, userId: call.caller.userId })
      return {
        recommendations: items.map((item) => recommendationView(call, { plugin, ownId }, item)),
        pluginId: provider.id,
        pluginName: provider.name,
        cached: generatedAt !== null,
        ...(generatedAt !== null && { generatedAt: generatedAt.toISOString() }),
        ...task,
        ...(lastError !== null && { lastError: { ...lastError, at: lastError.at.toISOString() } }),
      }
    },
  }),
  endpoint({
    name: 'refreshMyRecommendations',
    method: 'POST',
    path: '/api/v1/user/recommendations/refresh',
    summary: 'Refresh my recommendations from a plugin now',
    tag,
    allow: write,
    status: 202,
    query: WhichPlugin,
    reply: Type.Object({ taskId: Uuid, message: Type.String() }),
    run: async (call, { query }) => {
      const { taskId, provider } = await call.services.recommendations.refresh(call.caller, query.pluginId ?? null)
      return { taskId, message: `${quotedText(provider.name)} is refreshing your recommendations.` }
    },
  }),
  endpoint({
    name: 'dismissMyRecommendation',
    method: 'POST',
    path: '/api/v1/user/recommendations/:externalId/dismiss',
    summary: 'Dismiss a recommendation permanently; 404 if it is neither in the list nor dismissed already',
    tag,
    allow: write,
    params: Type.Object({ externalId: Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000-\\u001f]+$' }) }),
    query: WhichPlugin,
    bodyOptional: true,
    body: Type.Object({
      reason: Type.Optional(
        Nullable(Type.String({ maxLength: REASON_LENGTH_MAX }), { description: 'Such as not_interested, already_read or already_owned.' }),
      ),
    }),
    reply: Type.Object({ dismissed: Type.Boolean() }),
    run: async (call, { params, query, body }) => {
      const dismissal = { externalId: params.externalId, reason: body.reason ?? null }
      await call.services.recommendations.dismiss(call.caller, query.pluginId ?? null, dismissal)
      return { dismissed: true }
    },
  }),
])
