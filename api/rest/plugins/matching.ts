import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { idIn, KINDS } from '#api/rest/catalog/metadata-kind.ts'
import { PluginReference, takingPluginIds } from '#api/rest/plugins/plugin-reference.ts'
import {
  ApplicationRecord,
  ApplyReply,
  AutoMatchReply,
  applicationView,
  appliedView,
  autoMatchView,
  describeUndo,
  Enqueued,
  enqueued,
  Preview,
  previewView,
  Skipped,
} from '#api/views/match-view.ts'
import { pictureAddress, withPictures } from '#api/views/plugin-pictures.ts'
import { searchResultView } from '#api/views/search-results.ts'
import type { Caller } from '#core/account/caller.ts'
import { getLibraryName } from '#core/catalog/library-name-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, Nullable, Uuid } from '#core/foundation/schema.ts'
import type { Target } from '#core/matching/apply-proposal.ts'
import { listVisibleIds } from '#core/metadata/visible-records-query.ts'
import { isTestTool } from '#plugins/host/installed-plugin.ts'
import { methodsOf } from '#plugins/packages/manifest.ts'

type Services = Pick<DataServices, 'database'> & Pick<PluginServices, 'matchTasks' | 'matching' | 'pluginPictures' | 'plugins'>
const endpoint = endpointOf<Services>()

/** Per call; each becomes a task that sends several requests to a service. */
const BULK_MAX = 100
const FIELDS_MAX = 60
const ExternalId = Type.String({ minLength: 1, maxLength: 200 })

interface ServiceCall {
  services: Services
  caller: Caller
}
/** @throws not_found for unknown or hidden records, with the same message */
async function checkTargets(call: ServiceCall, kind: Target['kind'], ids: readonly string[]): Promise<string[]> {
  const visible = await listVisibleIds(call.services.database, call.caller, kind, ids)
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

const Provider = Type.Optional(PluginReference)
const ManyIds = Type.Array(Uuid, { minItems: 1, maxItems: BULK_MAX })
const PROVIDERS = 'One plugin. Default: all enabled plugins by priority, where each fills in what is still missing.'

const From = Type.Object({ pluginId: PluginReference, externalId: ExternalId })

/** What all routes of a kind share. */
const sharedBy = (kind: Target['kind']) => {
  const { many: tag, noun, idName } = KINDS[kind]
  const allow = { who: `${tag}-write` as const }
  return { noun, tag, params: Type.Object({ [idName]: Uuid }), allow, path: `/api/v1/${tag}/:${idName}/metadata` }
}

/** Preview the search query of a plugin, and the changes by its metadata. */
const previewRoutes = (kind: Target['kind']) => {
  const { noun, tag, params, allow, path } = sharedBy(kind)
  return [
    endpoint({
      name: `get${noun}MetadataSearchTitle`,
      method: 'GET',
      path: `${path}/search-title`,
      summary: `Preview the search query that a plugin would get for a ${kind}`,
      tag,
      allow,
      params,
      query: Type.Object({ pluginId: PluginReference }),
      reply: Type.Object({ originalTitle: Type.String(), searchTitle: Type.String(), rulesApplied: Type.Integer({ minimum: 0 }) }),
      run: async (call, { params, query }) =>
        await call.services.matching.searchTitle(await checkTarget(call, kind, idIn(kind, params)), query.pluginId),
    }),
    endpoint({
      name: `preview${noun}Metadata`,
      method: 'POST',
      path: `${path}/preview`,
      summary: 'Preview what applying the metadata of a plugin would change, by field',
      tag,
      allow,
      params,
      body: From,
      reply: Preview,
      run: async (call, { params, body }) => {
        const target = await checkTarget(call, kind, idIn(kind, params))
        const { provider, externalUrl, failure, fields } = await call.services.matching.preview(target, body)
        return previewView({ provider, externalUrl, failure, fields: await withPictures(call, provider.id, fields) }, body.externalId)
      },
    }),
  ]
}

/** Apply metadata of a plugin within the request. */
const applyRoutes = (kind: Target['kind']) => {
  const { noun, tag, params, allow, path } = sharedBy(kind)
  return [
    endpoint({
      name: `apply${noun}Metadata`,
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
        const applied = await call.services.matching.apply(await checkTarget(call, kind, idIn(kind, params)), from)
        return appliedView({ ...applied, fields: await withPictures(call, pluginId, applied.fields) }, dryRun)
      },
    }),
    endpoint({
      name: `autoMatch${noun}Metadata`,
      method: 'POST',
      path: `${path}/auto-match`,
      summary: `Match a ${kind} with a provider, and apply the metadata if the match is good enough`,
      tag,
      allow,
      params,
      body: Type.Object({
        pluginId: PluginReference,
        query: Type.Optional(Nullable(Type.String({ maxLength: 1_000, description: 'What to search for; skips the conditions.' }))),
      }),
      reply: AutoMatchReply,
      run: async (call, { params, body }) => {
        const plugin = await call.services.plugins.get(body.pluginId)
        const how = { pluginId: plugin.id, query: body.query ?? null, userId: call.caller.userId }
        const matched = await call.services.matching.autoMatch(await checkTarget(call, kind, idIn(kind, params)), how)
        const { match } = matched
        return autoMatchView(matched, match && searchResultView({ ...match, coverUrl: pictureAddress(call, plugin, match.coverUrl) }))
      },
    }),
  ]
}

/** Match in the background. */
const taskRoutes = (kind: Target['kind']) => {
  const { idsName } = KINDS[kind]
  const { noun, tag, params, allow, path } = sharedBy(kind)
  return [
    endpoint({
      name: `create${noun}MetadataAutoMatchTask`,
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
        const { id } = await checkTarget(call, kind, idIn(kind, params))
        const pluginIds = await providers(call, kind, body.pluginId)
        return enqueued(await call.services.matchTasks.enqueue(kind, [id], { pluginIds }), 'It')
      },
    }),
    endpoint({
      name: `bulkCreate${noun}MetadataAutoMatchTask`,
      method: 'POST',
      path: `/api/v1/${tag}/metadata/auto-match/task/bulk`,
      summary: `Match many ${tag} with a provider in the background`,
      tag,
      allow,
      body: Type.Object({ [idsName]: ManyIds, pluginId: Provider }, { description: PROVIDERS }),
      reply: Enqueued,
      run: async (call, { body }) => {
        const { [idsName]: given = [], pluginId } = body as { pluginId?: string; [ids: string]: unknown }
        const ids = await checkTargets(call, kind, given as string[])
        const pluginIds = await providers(call, kind, pluginId)
        return enqueued(await call.services.matchTasks.enqueue(kind, ids, { pluginIds }), `${ids.length} ${tag}`)
      },
    }),
  ]
}

/** Applied metadata, and undo. */
const applicationRoutes = (kind: Target['kind']) => {
  const { noun, tag, params, allow, path } = sharedBy(kind)
  return [
    endpoint({
      name: `list${noun}MetadataApplications`,
      method: 'GET',
      path: `${path}/applications`,
      summary: 'List the metadata applications of plugins, latest first',
      tag,
      allow,
      params,
      reply: Type.Object({ applications: Type.Array(ApplicationRecord) }),
      run: async (call, { params }) => {
        const applications = await call.services.matching.applications(await checkTarget(call, kind, idIn(kind, params)))
        const plugins = await call.services.plugins.list()
        return { applications: applications.map((one) => applicationView(one, plugins)) }
      },
    }),
    endpoint({
      name: `undo${noun}MetadataApplication`,
      method: 'POST',
      path: `${path}/applications/:applicationId/undo`,
      summary: 'Undo an application: restore the previous values that were not changed since',
      tag,
      allow,
      params: Type.Object({ [KINDS[kind].idName]: Uuid, applicationId: Uuid }),
      reply: Type.Object({ message: Type.String(), undoneFields: Type.Array(Type.String()), skippedFields: Skipped }),
      run: async (call, { params }) => {
        const { applicationId } = params as { applicationId: string }
        const target = await checkTarget(call, kind, idIn(kind, params))
        const known = (await call.services.matching.applications(target)).some(({ id }) => id === applicationId.toLowerCase())
        if (!known) refuse('not_found', `There is no metadata application ${applicationId} of this record.`)
        const { undone, left } = await call.services.matching.undo(applicationId)
        return { message: describeUndo(undone.length, left.length), undoneFields: undone, skippedFields: left }
      },
    }),
  ]
}

const routesOf = (kind: Target['kind']) => [...previewRoutes(kind), ...applyRoutes(kind), ...taskRoutes(kind), ...applicationRoutes(kind)]

export const matchingRoutes = takingPluginIds([
  ...routesOf('series'),
  ...routesOf('book'),
  endpoint({
    name: 'createLibraryMetadataAutoMatchTask',
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
      const { id, name } = await getLibraryName(call.services.database, call.caller, params.libraryId)
      const pluginIds = await providers(call, 'series', body.pluginId, id)
      return enqueued([await call.services.matchTasks.enqueueLibrary(id, { pluginIds })], `The series of ${name}`)
    },
  }),
])
