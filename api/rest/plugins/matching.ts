import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { pictureAddress, withPictures } from '#api/views/plugin-pictures.ts'
import { failureMembers } from '#api/views/plugin-view.ts'
import { searchResultView } from '#api/views/search-results.ts'
import type { Caller } from '#core/account/caller.ts'
import { getLibrary } from '#core/catalog/library-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import type { Application } from '#core/matching/application-store.ts'
import type { Applied, Target } from '#core/matching/matching.ts'
import { FIELD_STATUSES, type FieldPreview } from '#core/matching/proposal.ts'
import type { ProviderFailure } from '#core/matching/provider-client.ts'
import { listVisibleBookIds } from '#core/metadata/book-metadata-query.ts'
import { listVisibleSeriesIds } from '#core/metadata/series-metadata-query.ts'
import { type InstalledPlugin, isTestTool } from '#plugins/host/installed-plugin.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'

type Services = Needs<'database' | 'matchTasks' | 'matching' | 'pluginPictures' | 'plugins'>
const endpoint = endpointOf<Services>()

const Count = Type.Integer({ minimum: 0 })
/** Per call; each becomes a task that sends several requests to a service. */
const BULK_MAX = 100
const FIELDS_MAX = 60
const ExternalId = Type.String({ minLength: 1, maxLength: 200 })

const Preview = Noun('MetadataPreview')({
  pluginId: Uuid,
  pluginName: Type.String(),
  externalId: Type.String(),
  externalUrl: Nullable(Type.String()),
  error: Nullable(Type.String({ description: 'Why the provider failed; there is no proposal then.' })),
  ...failureMembers,
  fields: Type.Array(
    Type.Object({
      field: Type.String(),
      currentValue: Type.Unknown(),
      proposedValue: Type.Unknown(),
      status: OneOf([...FIELD_STATUSES]),
      reason: Nullable(Type.String()),
    }),
  ),
  summary: Type.Object({ willApply: Count, locked: Count, noPermission: Count, unchanged: Count, notProvided: Count }),
})
export const SkippedField = Noun('SkippedField')({ field: Type.String(), reason: Type.String() })
const Skipped = Type.Array(SkippedField)
const outcome = {
  success: Type.Boolean({ description: 'False if the provider failed; nothing was changed then.' }),
  message: Type.String(),
  appliedFields: Type.Array(Type.String()),
  skippedFields: Skipped,
  ...failureMembers,
  applicationId: Nullable(Uuid, { description: 'Id to undo the change; null if nothing was changed.' }),
}
const ApplyReply = Noun('MetadataApplied')({
  ...outcome,
  dryRunReport: Nullable(
    Type.Object({ changes: Type.Array(Type.Object({ field: Type.String(), before: Type.Unknown(), after: Type.Unknown() })) }),
  ),
})
const AutoMatchReply = Noun('AutoMatchOutcome')({
  ...outcome,
  externalUrl: Nullable(Type.String()),
  confidence: Nullable(Type.Number({ minimum: 0, maximum: 1 })),
  skippedReason: Nullable(Type.String({ description: 'Code for why nothing was matched.' })),
  matchedResult: Nullable(
    Type.Object({
      externalId: Type.String(),
      title: Type.String(),
      alternateTitles: Type.Array(Type.String()),
      year: Nullable(Type.Integer()),
      coverUrl: Nullable(Type.String()),
      relevanceScore: Nullable(Type.Number()),
      preview: Nullable(Type.Unknown()),
    }),
  ),
})
const Enqueued = Noun('TasksEnqueued')({ success: Type.Boolean(), message: Type.String(), tasksEnqueued: Count, taskIds: Type.Array(Uuid) })
const ApplicationRecord = Noun('MetadataApplication')({
  id: Uuid,
  pluginId: Nullable(Uuid),
  pluginKey: Type.String({ description: 'Identifier of the plugin.' }),
  pluginDisplayName: Nullable(Type.String({ description: 'Null if the plugin was uninstalled since.' })),
  externalId: Type.String(),
  appliedBy: Nullable(Uuid, { description: 'The user who applied it; null if a task did.' }),
  fields: Type.Array(Type.String()),
  createdAt: Timestamp,
  undoneAt: Nullable(Timestamp),
})

const applicationView = (
  { id, pluginId, pluginKey, externalId, appliedBy, changes, createdAt, undoneAt }: Application,
  plugins: readonly InstalledPlugin[],
) => ({
  ...{ id, pluginId, pluginKey, externalId, appliedBy },
  pluginDisplayName: plugins.find((plugin) => plugin.id === pluginId)?.manifest.name ?? null,
  fields: [...Object.keys(changes.values), ...Object.keys(changes.sets), ...(changes.coverId === null ? [] : ['cover'])],
  createdAt: createdAt.toISOString(),
  undoneAt: undoneAt?.toISOString() ?? null,
})
const fieldCount = (count: number) => `${count} ${count === 1 ? 'field' : 'fields'}`
/** What an undo did. A field that was changed since keeps its value. */
function describeUndo(undone: number, left: number): string {
  const kept = left === 0 ? '' : `${fieldCount(left)} could not be restored completely; skippedFields says why.`
  return undone === 0 ? kept || 'There was nothing to restore.' : `Restored ${fieldCount(undone)}. ${kept}`.trim()
}
const failureView = (failure: ProviderFailure | null) => ({ code: failure?.code ?? null, callId: failure?.callId ?? null })
const appliedOf = (fields: readonly FieldPreview[]) => ({
  appliedFields: fields.filter(({ status }) => status === 'will_apply').map(({ field }) => field),
  skippedFields: fields
    .filter(({ status }) => status !== 'will_apply')
    .map(({ field, reason }) => ({ field, reason: reason ?? 'The field already has this value.' })),
})

interface ServiceCall {
  services: Services
  caller: Caller
}
/** @throws not_found for unknown or hidden records, with the same message */
async function checkTargets(call: ServiceCall, kind: Target['kind'], ids: readonly string[]): Promise<string[]> {
  const list = kind === 'series' ? listVisibleSeriesIds : listVisibleBookIds
  const visible = await list(call.services.database, call.caller, ids)
  const own = [...new Set(ids.map((id) => id.toLowerCase()))]
  const hidden = own.find((id) => !visible.has(id))
  if (hidden !== undefined) refuse('not_found', `There is no ${kind} ${hidden}, or you may not see it.`)
  return own
}
const checkTarget = async (call: ServiceCall, kind: Target['kind'], id: string): Promise<Target> => {
  const [own] = await checkTargets(call, kind, [id])
  return { kind, id: own as string }
}

/** The given plugin, or all enabled ones for this purpose except test tools, by priority. @throws conflict if there is none */
async function providers(
  { services }: ServiceCall,
  kind: Target['kind'],
  pluginId: string | undefined,
  libraryId?: string,
): Promise<string[]> {
  if (pluginId !== undefined) return [(await services.plugins.get(pluginId)).id]
  const used = (await services.plugins.list())
    .filter((plugin) => {
      const { state, granted, manifest } = plugin
      const { libraryIds = [] } = plugin.matching
      const isHere = libraryId === undefined || libraryIds.length === 0 || libraryIds.includes(libraryId)
      return (
        state === 'enabled' && granted !== null && !isTestTool(plugin) && isHere && methodsOf(manifest).includes(`metadata.${kind}.get`)
      )
    })
    .sort((a, b) => (a.matching.priority ?? 100) - (b.matching.priority ?? 100) || (a.key < b.key ? -1 : 1))
  if (used.length === 0) refuse('conflict', `No enabled plugin provides metadata of ${kind === 'book' ? 'books' : 'series'} here.`)
  return used.map(({ id }) => id)
}

const enqueued = (taskIds: string[], what: string) => ({
  ...{ success: true, tasksEnqueued: taskIds.length, taskIds },
  message: `${what} will be matched in the background.`,
})
const Provider = Type.Optional(Uuid)
const ManyIds = Type.Array(Uuid, { minItems: 1, maxItems: BULK_MAX })
const PROVIDERS = 'One plugin. Default: all enabled plugins by priority, where each fills in what is still missing.'

/** How series and books differ in the API: the names of their ids. */
const IDS = {
  series: {
    one: Type.Object({ seriesId: Uuid }),
    application: Type.Object({ seriesId: Uuid, applicationId: Uuid }),
    many: Type.Object({ seriesIds: ManyIds, pluginId: Provider }, { description: PROVIDERS }),
  },
  book: {
    one: Type.Object({ bookId: Uuid }),
    application: Type.Object({ bookId: Uuid, applicationId: Uuid }),
    many: Type.Object({ bookIds: ManyIds, pluginId: Provider }, { description: PROVIDERS }),
  },
} as const
const idOf = (params: { seriesId: string } | { bookId: string }) => ('seriesId' in params ? params.seriesId : params.bookId)
const idsOf = (body: { seriesIds: string[] } | { bookIds: string[] }) => ('seriesIds' in body ? body.seriesIds : body.bookIds)

const From = Type.Object({ pluginId: Uuid, externalId: ExternalId })

/** What all routes of a kind share. */
const sharedBy = (kind: Target['kind']) => {
  const tag = kind === 'series' ? 'series' : 'books'
  const params: (typeof IDS)['series' | 'book']['one'] = IDS[kind].one
  const allow = { who: kind === 'series' ? ('series-write' as const) : ('books-write' as const) }
  return { tag, params, allow, path: `/api/v1/${tag}/:${kind}Id/metadata` } as const
}

/** Preview the search query of a plugin, and the changes by its metadata. */
const previewRoutes = (kind: Target['kind']) => {
  const { tag, params, allow, path } = sharedBy(kind)
  return [
    endpoint({
      method: 'GET',
      path: `${path}/search-title`,
      summary: `Preview the search query that a plugin would get for a ${kind === 'book' ? 'book' : 'series'}`,
      tag,
      allow,
      params,
      query: Type.Object({ pluginId: Uuid }),
      reply: Type.Object({ originalTitle: Type.String(), searchTitle: Type.String(), rulesApplied: Count }),
      run: async (call, { params, query }) =>
        await call.services.matching.searchTitle(await checkTarget(call, kind, idOf(params)), query.pluginId),
    }),
    endpoint({
      method: 'POST',
      path: `${path}/preview`,
      summary: 'Preview what applying the metadata of a plugin would change, by field',
      tag,
      allow,
      params,
      body: From,
      reply: Preview,
      run: async (call, { params, body }) => {
        const target = await checkTarget(call, kind, idOf(params))
        const { provider, externalUrl, failure, fields } = await call.services.matching.preview(target, body)
        const count = (status: FieldPreview['status']) => fields.filter((field) => field.status === status).length
        return {
          ...{ pluginId: provider.id, pluginName: provider.name, externalId: body.externalId, externalUrl },
          ...{ error: failure?.message ?? null, ...failureView(failure), fields: await withPictures(call, provider.id, fields) },
          summary: {
            willApply: count('will_apply'),
            locked: count('locked'),
            noPermission: count('no_permission'),
            unchanged: count('unchanged'),
            notProvided: count('not_provided'),
          },
        }
      },
    }),
  ]
}

function appliedView({ success, message, applicationId, failure, fields }: Applied, dryRun: boolean) {
  const changes = fields
    .filter(({ status }) => status === 'will_apply')
    .map(({ field, currentValue, proposedValue }) => ({ field, before: currentValue, after: proposedValue }))
  return {
    success,
    message,
    applicationId,
    ...failureView(failure),
    ...appliedOf(fields),
    dryRunReport: dryRun && success ? { changes } : null,
  }
}

/** Apply metadata of a plugin within the request. */
const applyRoutes = (kind: Target['kind']) => {
  const { tag, params, allow, path } = sharedBy(kind)
  return [
    endpoint({
      method: 'POST',
      path: `${path}/apply`,
      summary: 'Apply the metadata of a plugin; keeps locked fields and values that users have entered',
      tag,
      allow,
      params,
      body: Noun('MetadataToApply')({
        ...From.properties,
        fields: Type.Optional(
          Nullable(Type.Array(Type.String({ maxLength: 60 }), { maxItems: FIELDS_MAX, description: 'Null means all fields.' })),
        ),
        dryRun: Type.Optional(Type.Boolean()),
      }),
      reply: ApplyReply,
      run: async (call, { params, body }) => {
        const { pluginId, externalId, fields = null, dryRun = false } = body
        const from = { pluginId, externalId, fields, dryRun, userId: call.caller.userId }
        const applied = await call.services.matching.apply(await checkTarget(call, kind, idOf(params)), from)
        return appliedView({ ...applied, fields: await withPictures(call, pluginId, applied.fields) }, dryRun)
      },
    }),
    endpoint({
      method: 'POST',
      path: `${path}/auto-match`,
      summary: `Match a ${kind} with a provider, and apply the metadata if the match is good enough`,
      tag,
      allow,
      params,
      body: Type.Object({
        pluginId: Uuid,
        query: Type.Optional(Nullable(Type.String({ maxLength: 1_000, description: 'What to search for; skips the conditions.' }))),
      }),
      reply: AutoMatchReply,
      run: async (call, { params, body }) => {
        const plugin = await call.services.plugins.get(body.pluginId)
        const how = { pluginId: plugin.id, query: body.query ?? null, userId: call.caller.userId }
        const matched = await call.services.matching.autoMatch(await checkTarget(call, kind, idOf(params)), how)
        const { success, message, applicationId, externalUrl, confidence, skipped, failure, match } = matched
        return {
          ...{ success, message, applicationId, externalUrl, confidence, skippedReason: skipped },
          ...failureView(failure),
          ...appliedOf(matched.fields),
          matchedResult: match && searchResultView({ ...match, coverUrl: pictureAddress(call, plugin, match.coverUrl) }),
        }
      },
    }),
  ]
}

/** Match in the background. */
const taskRoutes = (kind: Target['kind']) => {
  const { tag, params, allow, path } = sharedBy(kind)
  return [
    endpoint({
      method: 'POST',
      path: `${path}/auto-match/task`,
      summary: `Match a ${kind} with a provider in the background`,
      tag,
      allow,
      params,
      bodyOptional: true,
      body: Type.Object({ pluginId: Provider }, { description: PROVIDERS }),
      reply: Enqueued,
      run: async (call, { params, body }) => {
        const { id } = await checkTarget(call, kind, idOf(params))
        const pluginIds = await providers(call, kind, body.pluginId)
        return enqueued(await call.services.matchTasks.enqueue(kind, [id], { pluginIds }), 'It')
      },
    }),
    endpoint({
      method: 'POST',
      path: `/api/v1/${tag}/metadata/auto-match/task/bulk`,
      summary: `Match many ${tag} with a provider in the background`,
      tag,
      allow,
      body: IDS[kind].many as (typeof IDS)['series' | 'book']['many'],
      reply: Enqueued,
      run: async (call, { body }) => {
        const ids = await checkTargets(call, kind, idsOf(body))
        const pluginIds = await providers(call, kind, body.pluginId)
        return enqueued(await call.services.matchTasks.enqueue(kind, ids, { pluginIds }), `${ids.length} ${tag}`)
      },
    }),
  ]
}

/** Applied metadata, and undo. */
const applicationRoutes = (kind: Target['kind']) => {
  const { tag, params, allow, path } = sharedBy(kind)
  return [
    endpoint({
      method: 'GET',
      path: `${path}/applications`,
      summary: 'List the metadata applications of plugins, latest first',
      tag,
      allow,
      params,
      reply: Type.Object({ applications: Type.Array(ApplicationRecord) }),
      run: async (call, { params }) => {
        const applications = await call.services.matching.applications(await checkTarget(call, kind, idOf(params)))
        const plugins = await call.services.plugins.list()
        return { applications: applications.map((one) => applicationView(one, plugins)) }
      },
    }),
    endpoint({
      method: 'POST',
      path: `${path}/applications/:applicationId/undo`,
      summary: 'Undo an application: restore the previous values that were not changed since',
      tag,
      allow,
      params: IDS[kind].application as (typeof IDS)['series' | 'book']['application'],
      reply: Type.Object({ message: Type.String(), undoneFields: Type.Array(Type.String()), skippedFields: Skipped }),
      run: async (call, { params }) => {
        const target = await checkTarget(call, kind, idOf(params))
        const known = (await call.services.matching.applications(target)).some(({ id }) => id === params.applicationId.toLowerCase())
        if (!known) refuse('not_found', `There is no metadata application ${params.applicationId} of this record.`)
        const { undone, left } = await call.services.matching.undo(params.applicationId)
        return { message: describeUndo(undone.length, left.length), undoneFields: undone, skippedFields: left }
      },
    }),
  ]
}

const routesOf = (kind: Target['kind']) => [...previewRoutes(kind), ...applyRoutes(kind), ...taskRoutes(kind), ...applicationRoutes(kind)]

export const matchingRoutes = [
  ...routesOf('series'),
  ...routesOf('book'),
  endpoint({
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/metadata/auto-match/task',
    summary: 'Match all series of a library in the background, as one task with progress',
    tag: 'libraries',
    allow: { who: 'series-write' },
    params: Type.Object({ libraryId: Uuid }),
    bodyOptional: true,
    body: Type.Object({ pluginId: Provider }, { description: PROVIDERS }),
    reply: Enqueued,
    run: async (call, { params, body }) => {
      const { id, name } = await getLibrary(call.services.database, call.caller, params.libraryId)
      const pluginIds = await providers(call, 'series', body.pluginId, id)
      return enqueued([await call.services.matchTasks.enqueueLibrary(id, { pluginIds })], `The series of ${name}`)
    },
  }),
]
