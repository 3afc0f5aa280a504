import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { SERIES_STATUSES } from '#core/metadata/series-metadata.ts'
import type { ShownItem } from '#core/recommendations/item-view.ts'

type Services = Needs<'recommendations' | 'settings'>
const endpoint = endpointOf<Services>()

const tag = 'recommendations'
const allow = { who: 'user' } as const
const Text = Type.Optional(Type.String())
const Count = Type.Optional(Type.Integer({ minimum: 0 }))
/** A series of this library. */
const SeriesId = (description: string) => Type.Optional(Type.String({ format: 'uuid', description }))
const WhichPlugin = Type.Object({
  pluginId: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'One that the reader has enabled; the first of them by name unless said, test tools left out.',
    }),
  ),
})
const REASON_LENGTH_MAX = 200

const Recommendation = Type.Object(
  {
    externalId: Type.String(),
    title: Type.String(),
    externalUrl: Text,
    coverUrl: Text,
    summary: Text,
    genres: Type.Array(Type.String()),
    tags: Type.Array(
      Type.Object(
        { category: Type.String(), name: Type.String(), rank: Type.Integer({ minimum: 0, maximum: 100 }) },
        { title: 'RecommendationTag' },
      ),
    ),
    score: Type.Number({ minimum: 0, maximum: 1 }),
    reason: Type.String(),
    basedOn: Type.Array(Type.String(), { description: 'Titles that led to it.' }),
    serviceSeriesId: SeriesId('The series of this library that it is, where the reader may see one.'),
    inService: Type.Boolean({ description: 'Whether there is such a series.' }),
    inLibrary: Type.Boolean({ description: "In the reader's library, as the plugin says." }),
    status: Type.Optional(OneOf([...SERIES_STATUSES])),
    format: Text,
    countryOfOrigin: Text,
    startYear: Type.Optional(Type.Integer()),
    rating: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
    popularity: Count,
    totalVolumeCount: Count,
    totalChapterCount: Type.Optional(Type.Number({ minimum: 0 })),
    codexSeriesId: SeriesId('Same as serviceSeriesId; only with compatibility.legacyNames.'),
    inCodex: Type.Optional(Type.Boolean({ description: 'Same as inService; only with compatibility.legacyNames.' })),
  },
  { title: 'Recommendation' },
)

/** With the names that older clients know, where that is switched on. */
const shown = (item: ShownItem, withLegacyNames: boolean) =>
  withLegacyNames
    ? { ...item, inCodex: item.inService, ...(item.serviceSeriesId !== undefined && { codexSeriesId: item.serviceSeriesId }) }
    : item

export const recommendationRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/user/recommendations',
    summary: 'What a plugin recommends to oneself; an old list is answered at once, and a task makes the next one',
    tag,
    allow,
    query: WhichPlugin,
    reply: Type.Object(
      {
        recommendations: Type.Array(Recommendation),
        pluginId: Uuid,
        pluginName: Type.String(),
        cached: Type.Boolean({ description: 'False where no list was made yet.' }),
        generatedAt: Type.Optional(Timestamp),
        taskId: Type.Optional(Uuid),
        taskStatus: Type.Optional(OneOf(['pending', 'running'])),
        lastError: Type.Optional(
          Type.Object(
            {
              code: Type.String({ description: 'What went wrong, in a word: docs/recommendations.md names them.' }),
              message: Type.String(),
              at: Timestamp,
            },
            { description: 'Why the last run has failed; there only where it did and no other waits or runs.' },
          ),
        ),
      },
      { title: 'Recommendations' },
    ),
    run: async (call, { query }) => {
      const { services } = call
      const list = await services.recommendations.get(call.caller, query.pluginId ?? null)
      const { provider, items, generatedAt, task, lastError } = list
      return {
        recommendations: items.map((item) => shown(item, services.settings.compatibility.legacyNames)),
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
    method: 'POST',
    path: '/api/v1/user/recommendations/refresh',
    summary: 'Let a plugin look for recommendations now',
    tag,
    allow,
    status: 202,
    query: WhichPlugin,
    reply: Type.Object({ taskId: Uuid, message: Type.String() }),
    run: async (call, { query }) => {
      const { taskId, provider } = await call.services.recommendations.refresh(call.caller, query.pluginId ?? null)
      return { taskId, message: `${provider.name} looks for recommendations.` }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/user/recommendations/:externalId/dismiss',
    summary: 'Never see a recommendation of the list again; 404 for what is neither in it nor dismissed already',
    tag,
    allow,
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
]
