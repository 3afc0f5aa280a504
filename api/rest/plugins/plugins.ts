import { isDeepStrictEqual } from 'node:util'
import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { Granted, INTERNAL_CONFIG, MATCHING, Plugin, showPlugin, showPlugins } from '#api/views/plugin-view.ts'
import { refuse } from '#core/foundation/errors.ts'
import { FreeJson, FreeObject, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import { BOOK_LOCKS } from '#core/metadata/book-metadata.ts'
import { SERIES_LOCKS } from '#core/metadata/series-metadata.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { permissionsOf } from '#plugins/packages/permissions.ts'
import { PACKAGE_BYTES_MAX } from '#plugins/packages/zip.ts'

type Services = Needs<'database' | 'plugins' | 'rules' | 'templates'>
const endpoint = endpointOf<Services>()

const tag = 'plugins'
/** More than any plugin asks for, and longer than any key of a service. */
const CREDENTIALS_MAX = 50
const CREDENTIAL_LENGTH_MAX = 10_000

const allow = { who: 'system-admin' } as const
const PluginId = Type.Object({ pluginId: Uuid })
const Count = Type.Integer({ minimum: 0 })

/** A form around a package: its boundary and the head of the part. */
const FORM_BYTES = 64 * 1024
const bodyBytesMax = PACKAGE_BYTES_MAX + FORM_BYTES

const Status = Noun('PluginStatus')({
  plugin: Plugin,
  message: Type.String(),
  healthCheckPerformed: Type.Boolean(),
  healthCheckPassed: Nullable(Type.Boolean()),
  healthCheckLatencyMs: Nullable(Count),
  healthCheckError: Nullable(Type.String()),
})

/** @param tried what came of starting it, where that was done */
async function status(services: Services, plugin: InstalledPlugin, message: string, tried?: Awaited<ReturnType<PluginHost['test']>>) {
  return {
    plugin: await showPlugin(services, plugin),
    message,
    healthCheckPerformed: tried !== undefined,
    healthCheckPassed: tried?.success ?? null,
    healthCheckLatencyMs: tried?.latencyMs ?? null,
    healthCheckError: tried === undefined || tried.success ? null : tried.message,
  }
}

/** Fields that a plugin may be told to fill, by its content. */
const TARGETS = new Set<string>([...SERIES_LOCKS, ...BOOK_LOCKS])

/** @throws invalid_value with the path of what cannot be used */
async function checkMatching(services: Services, given: MatchingSettings): Promise<void> {
  const wrong = (path: string, message: string): never =>
    refuse('invalid_value', `${path.slice(1)} ${message}`, { details: [{ path, message }] })
  const stranger = given.metadataTargets?.findIndex((target) => !TARGETS.has(target)) ?? -1
  if (stranger !== -1) wrong(`/metadataTargets/${stranger}`, `is no field of metadata. There are: ${[...TARGETS].join(', ')}.`)
  if (given.searchPreprocessingRules) await services.rules.checkTitleRules(given.searchPreprocessingRules)
  if (given.autoMatchConditions) await services.rules.checkCondition(given.autoMatchConditions, '/autoMatchConditions')
  if (!given.searchQueryTemplate) return
  const outline = await services.templates.read(given.searchQueryTemplate)
  if ('error' in outline) wrong('/searchQueryTemplate', `is no template: ${outline.error.message}`)
}

/** Members of a plugin that its package and the consent to it settle. Clients send them along: what they say otherwise is left alone, and named in the answer. */
const Words = Type.Array(Type.String({ maxLength: 200 }), { maxItems: 100 })
const Line = Type.String({ maxLength: 10_000 })
const SETTLED = {
  permissions: Nullable(Words, { description: 'What it may do is agreed to by consent; see leftAlone.' }),
  scopes: Nullable(Words, { description: 'Where it can be asked is said by its manifest; see leftAlone.' }),
  ...{ displayName: Nullable(Line), description: Nullable(Line), command: Nullable(Line), args: Nullable(Words), env: FreeJson },
  ...{ workingDirectory: Nullable(Line), credentialDelivery: Nullable(Line), rateLimitRequestsPerMinute: Nullable(Count) },
}
const EditedPlugin = Type.Object(
  {
    ...Plugin.properties,
    leftAlone: Type.Array(Type.String(), {
      description:
        'Members of the request that say something else than the plugin has, and that nobody changes here: its package and the consent to it do.',
    }),
  },
  { title: 'EditedPlugin' },
)

/** What a request says that stays otherwise. Null and what is empty ask for nothing. */
function leftAloneOf(body: Readonly<Record<string, unknown>>, shown: Readonly<Record<string, unknown>>): string[] {
  const isNothing = (value: unknown) => value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
  const sorted = (value: unknown) => (Array.isArray(value) ? [...value].sort() : value)
  return Object.keys(SETTLED).filter((name) => !isNothing(body[name]) && !isDeepStrictEqual(sorted(body[name]), sorted(shown[name])))
}

/** Null where a member cannot be null says nothing. */
const isSaid = (name: string, value: unknown) =>
  value !== undefined && !(value === null && (name === 'libraryIds' || name === 'useExistingExternalId'))
const MATCHING_NAMES = Object.keys(MATCHING) as (keyof typeof MATCHING & keyof MatchingSettings)[]

export const pluginRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/admin/plugins',
    summary: 'All plugins',
    tag,
    allow,
    reply: Type.Object({ plugins: Type.Array(Plugin), total: Count }),
    run: async ({ services }) => {
      const plugins = await showPlugins(services, await services.plugins.list())
      return { plugins, total: plugins.length }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/admin/plugins',
    summary: 'Install a package, or a new version of one; it runs when somebody has agreed to what it asks for',
    tag,
    allow,
    status: 201,
    upload: {
      description: 'A .plugin package, 10 MB at most.',
      otherwise:
        'A plugin is installed from its package: send the .plugin file as a form (multipart/form-data with one file in it), or install it from a repository by POST /api/v1/admin/plugin-repositories/{repositoryId}/install. Then agree to what it asks for. Commands with arguments are not run here.',
    },
    bodyBytesMax,
    reply: Type.Object({
      ...Status.properties,
      version: Type.String({ description: 'The one that was installed.' }),
      waitsFor: Type.Array(Type.String(), {
        description: 'What somebody has to agree to before this version runs; empty when it runs already.',
      }),
      sha256: Type.String({ description: 'Of the package that was installed: what consent is given to.' }),
    }),
    query: Type.Object({
      trustNewKey: Type.Optional(Type.Boolean({ description: 'Takes an update that is signed by somebody else than the version before.' })),
    }),
    run: async (call, { upload, query }) => {
      const { services, caller } = call
      const options = { userId: caller.userId, trustNewKey: query.trustNewKey === true }
      const { plugin, version, sha256, waitsFor } = await services.plugins.install(upload.bytes, options)
      const { name } = plugin.manifest
      call.created(`/api/v1/admin/plugins/${plugin.id}`)
      const message = waitsFor.length === 0 ? `${name} ${version} runs.` : `${name} ${version} waits: it ${waitsFor.join(', ')}.`
      return { ...(await status(services, plugin, message)), version, waitsFor, sha256 }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId',
    summary: 'One plugin',
    tag,
    allow,
    params: PluginId,
    reply: Plugin,
    run: async ({ services }, { params }) => showPlugin(services, await services.plugins.get(params.pluginId)),
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/admin/plugins/:pluginId',
    summary: 'Change the configuration of a plugin, its credentials, and how its metadata is used',
    tag,
    allow,
    params: PluginId,
    body: Type.Partial(
      Type.Object({
        config: FreeObject({
          description: 'Takes the place of the whole configuration; checked against its schema.',
        }),
        privateHosts: Type.Boolean({ description: 'Lets hosts of the configuration lie in the own network.' }),
        credentials: Nullable(
          Type.Record(Type.String(), Type.String({ maxLength: CREDENTIAL_LENGTH_MAX }), {
            maxProperties: CREDENTIALS_MAX,
            description:
              'Of the server, by the keys of manifest.requiredCredentials. They take the place of those before; null forgets them.',
          }),
        ),
        credentialsHost: Type.String({
          maxLength: 300,
          description:
            'Where these credentials are to go, as credentialsHost of the plugin says; 409 where they would go elsewhere by now.',
        }),
        ...MATCHING,
        libraryIds: Nullable(MATCHING.libraryIds),
        useExistingExternalId: Nullable(MATCHING.useExistingExternalId),
        internalConfig: Nullable(Type.Partial(INTERNAL_CONFIG)),
        ...SETTLED,
      }),
    ),
    reply: EditedPlugin,
    run: async ({ services }, { params, body }) => {
      const { config, privateHosts, credentials, credentialsHost, internalConfig } = body
      const given: MatchingSettings = {
        ...Object.fromEntries(MATCHING_NAMES.flatMap((name) => (isSaid(name, body[name]) ? [[name, body[name]]] : []))),
        ...(internalConfig !== undefined && { searchResultsLimit: internalConfig?.searchResultsLimit ?? null }),
      }
      await checkMatching(services, given)
      const plugin = await services.plugins.edit(params.pluginId, {
        ...{ config, privateHosts, credentialsHost },
        credentials: credentials === null ? {} : credentials,
        ...(Object.keys(given).length > 0 && { matchingMembers: given }),
      })
      const shown = await showPlugin(services, plugin)
      return { ...shown, leftAlone: leftAloneOf(body, shown) }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/admin/plugins/:pluginId',
    summary: 'Take a plugin away, with all that it keeps',
    tag,
    allow,
    status: 204,
    params: PluginId,
    run: async ({ services }, { params }) => {
      await services.plugins.uninstall(params.pluginId)
      return undefined
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/admin/plugins/:pluginId/consent',
    summary: 'Agree to what a version asks for, and run it; a kept older version too',
    tag,
    allow,
    params: PluginId,
    body: Type.Object({
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$', maxLength: 64, description: 'Of the package that was looked at.' }),
    }),
    reply: Status,
    run: async ({ services }, { params, body }) => {
      const plugin = await services.plugins.consent(params.pluginId, body)
      return await status(services, plugin, `${plugin.manifest.name} ${plugin.version} runs.`, await services.plugins.test(plugin.id))
    },
  }),
  ...(['enable', 'disable'] as const).map((verb) =>
    endpoint({
      method: 'POST',
      path: `/api/v1/admin/plugins/:pluginId/${verb}`,
      summary: verb === 'enable' ? 'Let a plugin run' : 'Stop a plugin; what it keeps stays',
      tag,
      allow,
      params: PluginId,
      reply: Status,
      run: async ({ services }, { params }) => {
        const plugin = await services.plugins.setEnabled(params.pluginId, verb === 'enable')
        const tried = verb === 'enable' ? await services.plugins.test(plugin.id) : undefined
        return await status(services, plugin, `${plugin.manifest.name} is ${plugin.state}.`, tried)
      },
    }),
  ),
  endpoint({
    method: 'POST',
    path: '/api/v1/admin/plugins/:pluginId/reset',
    summary: 'Forget the failures of a plugin; one in quarantine may be enabled again',
    tag,
    allow,
    params: PluginId,
    reply: Status,
    run: async ({ services }, { params }) => {
      const plugin = await services.plugins.reset(params.pluginId)
      return await status(services, plugin, `The failures of ${plugin.manifest.name} are forgotten; it is ${plugin.state}.`)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/admin/plugins/:pluginId/rollback',
    summary: 'Run an older version that is kept, with the data that it left',
    tag,
    allow,
    params: PluginId,
    bodyOptional: true,
    body: Type.Object({
      sha256: Type.Optional(
        Type.String({ pattern: '^[0-9a-f]{64}$', maxLength: 64, description: 'Of its package; the version that ran before, unless said.' }),
      ),
    }),
    reply: Status,
    run: async ({ services }, { params, body: { sha256 } }) => {
      const plugin = await services.plugins.rollBack(params.pluginId, sha256 === undefined ? {} : { sha256 })
      return await status(services, plugin, `${plugin.manifest.name} ${plugin.version} runs again.`)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/versions',
    summary: 'The versions of a plugin that are kept, the newest first',
    tag,
    allow,
    params: PluginId,
    reply: Type.Array(
      Type.Object({
        version: Type.String(),
        sha256: Type.String(),
        signedBy: Type.Array(Type.String()),
        running: Type.Boolean(),
        asksFor: Granted,
        installedAt: Timestamp,
      }),
    ),
    run: async ({ services }, { params }) => {
      const plugin = await services.plugins.get(params.pluginId)
      return (await services.plugins.versions(plugin.id)).map((one) => ({
        version: one.version,
        sha256: one.sha256,
        signedBy: one.signedBy,
        running: one.id === plugin.runningVersionId,
        asksFor: permissionsOf(one.manifest as Manifest),
        installedAt: one.installedAt.toISOString(),
      }))
    },
  }),
]
