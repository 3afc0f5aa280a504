import { isDeepStrictEqual } from 'node:util'
import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { PluginId, takingPluginIds } from '#api/rest/plugins/plugin-reference.ts'
import { installationMessage, newReviewView, PluginReview, pluginReviewView } from '#api/views/plugin-review-view.ts'
import { CONFIRMED_ORIGIN, PluginSignatureView } from '#api/views/plugin-signature-view.ts'
import { GrantedView, INTERNAL_CONFIG, MATCHING, Plugin, pluginView, pluginViews } from '#api/views/plugin-view.ts'
import { BOOK_LOCKS } from '#core/fields/book-metadata.ts'
import { SERIES_LOCKS } from '#core/fields/series-metadata.ts'
import { refuse } from '#core/foundation/errors.ts'
import { AnyInteger, FreeJson, FreeObject, Noun, Nullable, Timestamp } from '#core/foundation/schema.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import { SETS } from '#core/metadata/metadata-set.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { describeNeeds, needsOf } from '#plugins/host/plugin-needs.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import { PACKAGE_BYTES_MAX } from '#plugins/packages/zip.ts'

type Services = Pick<DataServices, 'database'> &
  Pick<PluginServices, 'plugins' | 'pluginCredentials' | 'pluginLifecycle'> &
  TemplateServices
const endpoint = endpointOf<Services>()

const tag = 'plugins'
/** More than any plugin needs, and longer than any key of a service. */
const CREDENTIALS_MAX = 50
const CREDENTIAL_LENGTH_MAX = 10_000

const allow = { who: 'system-admin' } as const
const Count = Type.Integer({ minimum: 0 })

/** Size of a form around its file: boundary and part headers. */
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

/** @param tried the result of a test start, if there was one */
async function status(
  services: Services,
  plugin: InstalledPlugin,
  message: string,
  tried?: Awaited<ReturnType<Services['plugins']['test']>>,
) {
  return {
    plugin: await pluginView(services, plugin),
    message,
    healthCheckPerformed: tried !== undefined,
    healthCheckPassed: tried?.success ?? null,
    healthCheckLatencyMs: tried?.latencyMs ?? null,
    healthCheckError: tried === undefined || tried.success ? null : tried.message,
  }
}

/** Fields that plugins can fill, by kind. */
const TARGETS = new Set<string>([...SERIES_LOCKS, ...BOOK_LOCKS, ...SETS.series, ...SETS.book])

/** @throws invalid_value with the path of the invalid member */
async function checkMatching(services: Services, given: MatchingSettings): Promise<void> {
  const wrong = (path: string, message: string): never =>
    refuse('invalid_value', `${path.slice(1)} ${message}`, { details: [{ path, message }] })
  const unknownAt = given.metadataTargets?.findIndex((target) => !TARGETS.has(target)) ?? -1
  if (unknownAt !== -1) wrong(`/metadataTargets/${unknownAt}`, `is not a metadata field. The fields are ${[...TARGETS].join(', ')}.`)
  if (given.searchPreprocessingRules) await services.rules.checkTitleRules(given.searchPreprocessingRules)
  if (given.autoMatchConditions) await services.rules.checkCondition(given.autoMatchConditions, '/autoMatchConditions')
  if (!given.searchQueryTemplate) return
  const outline = await services.templates.read(given.searchQueryTemplate)
  if ('error' in outline) wrong('/searchQueryTemplate', `is not a valid template: ${outline.error.message}`)
}

/** Members that the package and the consent determine. Clients may send them; different values are ignored and listed in the answer. */
const Words = Type.Array(Type.String({ maxLength: 200 }), { maxItems: 100 })
const Line = Type.String({ maxLength: 10_000 })
const SETTLED = {
  permissions: Nullable(Words, { description: 'Determined by consent; see leftAlone.' }),
  scopes: Nullable(Words, { description: 'Determined by the manifest; see leftAlone.' }),
  displayName: Nullable(Line),
  description: Nullable(Line),
  command: Nullable(Line),
  args: Nullable(Words),
  env: FreeJson,
  workingDirectory: Nullable(Line),
  credentialDelivery: Nullable(Line),
  rateLimitRequestsPerMinute: Nullable(AnyInteger()),
}
const EditedPlugin = Type.Object(
  {
    ...Plugin.properties,
    leftAlone: Type.Array(Type.String(), {
      description:
        'Members of the request that differ from the plugin and were ignored, because only its package and consent can change them.',
    }),
  },
  { title: 'EditedPlugin' },
)

/** Members of a request that were ignored. Null and empty values request nothing. */
function ignoredMembers(body: Readonly<Record<string, unknown>>, current: Readonly<Record<string, unknown>>): string[] {
  const isNothing = (value: unknown) => value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
  const sorted = (value: unknown) => (Array.isArray(value) ? [...value].sort() : value)
  return Object.keys(SETTLED).filter((name) => !isNothing(body[name]) && !isDeepStrictEqual(sorted(body[name]), sorted(current[name])))
}

/** Null counts as absent for members that cannot be null. */
const isPresent = (name: string, value: unknown) =>
  value !== undefined && !(value === null && (name === 'libraryIds' || name === 'useExistingExternalId'))
const MATCHING_NAMES = Object.keys(MATCHING) as (keyof typeof MATCHING & keyof MatchingSettings)[]

export const pluginRoutes = takingPluginIds([
  endpoint({
    name: 'listPlugins',
    method: 'GET',
    path: '/api/v1/admin/plugins',
    summary: 'List the plugins',
    tag,
    allow,
    reply: Type.Object({ plugins: Type.Array(Plugin), total: Count }),
    run: async ({ services }) => {
      const plugins = await pluginViews(services, await services.plugins.list())
      return { plugins, total: plugins.length }
    },
  }),
  endpoint({
    name: 'installPlugin',
    method: 'POST',
    path: '/api/v1/admin/plugins',
    summary: 'Install a package, or update to it; it runs after consent to its permissions',
    tag,
    allow,
    status: 201,
    upload: {
      description: 'A .plugin package, at most 10 MB.',
      otherwise:
        'A plugin is installed from its package: send the .plugin file as a form (multipart/form-data with one file in it), or install it from a repository by POST /api/v1/admin/plugin-repositories/{repositoryId}/install. Then consent to its permissions. This server does not run plugins as commands.',
    },
    bodyBytesMax,
    reply: Type.Object({
      ...Status.properties,
      version: Type.String({
        description: 'The installed version, which plugin describes too; plugin.runningVersion is the one that runs.',
      }),
      waitsFor: Type.Array(Type.String(), {
        description: 'What needs consent before this version runs; empty if it runs already.',
      }),
      sha256: Type.String({ description: 'SHA-256 of the installed package, which consent refers to.' }),
      signature: PluginSignatureView,
      review: PluginReview,
    }),
    query: Type.Object(CONFIRMED_ORIGIN),
    run: async (call, { upload, query }) => {
      const { services, caller } = call
      const options = { userId: caller.userId, ...query }
      const installed = await services.pluginLifecycle.install(upload.bytes, options)
      const { plugin, offered, version, sha256, waitsFor, signature } = installed
      const { name } = offered.manifest
      call.created(`/api/v1/admin/plugins/${plugin.id}`)
      const message = installationMessage(quotedText(name), installed)
      const view = await pluginView(services, offered, plugin)
      return {
        ...(await status(services, plugin, message)),
        plugin: view,
        version,
        waitsFor,
        sha256,
        signature,
        review: newReviewView(installed),
      }
    },
  }),
  endpoint({
    name: 'getPlugin',
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId',
    summary: 'Get a plugin',
    tag,
    allow,
    params: PluginId,
    reply: Plugin,
    run: async ({ services }, { params }) => pluginView(services, await services.plugins.get(params.pluginId)),
  }),
  endpoint({
    name: 'patchPlugin',
    method: 'PATCH',
    path: '/api/v1/admin/plugins/:pluginId',
    summary: 'Change the configuration, credentials and matching options of a plugin',
    tag,
    allow,
    params: PluginId,
    body: Type.Partial(
      Type.Object({
        config: FreeObject({
          description: 'Replaces the whole configuration; validated against its schema.',
        }),
        privateHosts: Type.Boolean({
          description:
            'True: the hosts in config, or without config those that are entered, may be in the local network; see privateOrigins. The default of an author is never among them: enter it to allow it. A host that is entered later needs it again. False: none may.',
        }),
        credentials: Nullable(
          Type.Record(Type.String(), Type.String({ maxLength: CREDENTIAL_LENGTH_MAX }), {
            maxProperties: CREDENTIALS_MAX,
            description:
              'Credentials of the server, by the keys of manifest.requiredCredentials. They replace the previous ones; null deletes them.',
          }),
        ),
        credentialsHost: Type.String({
          maxLength: 300,
          description: 'The expected destination of the credentials, as in credentialsHost; 409 if it has changed meanwhile.',
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
        ...Object.fromEntries(MATCHING_NAMES.flatMap((name) => (isPresent(name, body[name]) ? [[name, body[name]]] : []))),
        ...(internalConfig !== undefined && { searchResultsLimit: internalConfig?.searchResultsLimit ?? null }),
      }
      await checkMatching(services, given)
      const plugin = await services.plugins.edit(params.pluginId, {
        config,
        privateHosts,
        credentialsHost,
        credentials: credentials === null ? {} : credentials,
        ...(Object.keys(given).length > 0 && { matchingMembers: given }),
      })
      const current = await pluginView(services, plugin)
      return { ...current, leftAlone: ignoredMembers(body, current) }
    },
  }),
  endpoint({
    name: 'deletePlugin',
    method: 'DELETE',
    path: '/api/v1/admin/plugins/:pluginId',
    summary: 'Uninstall a plugin with all its data',
    tag,
    allow,
    status: 204,
    params: PluginId,
    run: ({ services }, { params }) => services.pluginLifecycle.uninstall(params.pluginId),
  }),
  endpoint({
    name: 'getPluginReview',
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/review',
    summary: 'Get everything that one package asks for, and how that differs from what was agreed to',
    tag,
    allow,
    params: PluginId,
    query: Type.Object({
      sha256: Type.Optional(
        Type.String({
          pattern: '^[0-9a-f]{64}$',
          maxLength: 64,
          description: 'SHA-256 of a stored package; default: the newest that is not revoked.',
        }),
      ),
    }),
    reply: PluginReview,
    run: async ({ services }, { params, query }) => {
      const { plugin, version, review } = await services.plugins.review(params.pluginId, query.sha256)
      return pluginReviewView(plugin, review, version)
    },
  }),
  endpoint({
    name: 'consentToPlugin',
    method: 'POST',
    path: '/api/v1/admin/plugins/:pluginId/consent',
    summary: 'Consent to the newest package as its review shows it, and run it; 409 if another is the newest',
    tag,
    allow,
    params: PluginId,
    body: Type.Object({
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$', maxLength: 64, description: 'SHA-256 of the package that you have reviewed.' }),
    }),
    reply: Status,
    run: async ({ services, caller }, { params, body }) => {
      const plugin = await services.pluginLifecycle.consent(params.pluginId, { ...body, userId: caller.userId })
      const needs = describeNeeds(plugin, await needsOf(services.plugins, plugin))
      const message = `${quotedText(plugin.manifest.name)} ${plugin.version} ${needs === '' ? 'runs' : 'is enabled'}.${needs}`
      return await status(services, plugin, message, await services.plugins.test(plugin.id))
    },
  }),
  ...(['enable', 'disable'] as const).map((verb) =>
    endpoint({
      name: `${verb}Plugin`,
      method: 'POST',
      path: `/api/v1/admin/plugins/:pluginId/${verb}`,
      summary: verb === 'enable' ? 'Enable a plugin' : 'Disable a plugin; keeps its data',
      tag,
      allow,
      params: PluginId,
      reply: Status,
      run: async ({ services }, { params }) => {
        const plugin = await services.pluginLifecycle.setEnabled(params.pluginId, verb === 'enable')
        const tried = verb === 'enable' ? await services.plugins.test(plugin.id) : undefined
        return await status(services, plugin, `${quotedText(plugin.manifest.name)} is ${plugin.state}.`, tried)
      },
    }),
  ),
  endpoint({
    name: 'resetPlugin',
    method: 'POST',
    path: '/api/v1/admin/plugins/:pluginId/reset',
    summary: 'Reset the failures of a plugin; a quarantined one can be enabled then',
    tag,
    allow,
    params: PluginId,
    reply: Status,
    run: async ({ services }, { params }) => {
      const plugin = await services.pluginLifecycle.reset(params.pluginId)
      return await status(services, plugin, `Reset the failures of ${quotedText(plugin.manifest.name)}; it is ${plugin.state}.`)
    },
  }),
  endpoint({
    name: 'rollBackPlugin',
    method: 'POST',
    path: '/api/v1/admin/plugins/:pluginId/rollback',
    summary: 'Run a stored older version with its own data',
    tag,
    allow,
    params: PluginId,
    bodyOptional: true,
    body: Type.Object({
      sha256: Type.Optional(
        Type.String({
          pattern: '^[0-9a-f]{64}$',
          maxLength: 64,
          description: 'SHA-256 of its package; default: the version that ran before.',
        }),
      ),
    }),
    reply: Status,
    run: async ({ services }, { params, body: { sha256 } }) => {
      const plugin = await services.pluginLifecycle.rollBack(params.pluginId, sha256 === undefined ? {} : { sha256 })
      return await status(services, plugin, `${quotedText(plugin.manifest.name)} ${plugin.version} runs again.`)
    },
  }),
  endpoint({
    name: 'listPluginVersions',
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/versions',
    summary: 'List the stored versions of a plugin, newest first',
    tag,
    allow,
    params: PluginId,
    reply: Type.Array(
      Type.Object({
        version: Type.String(),
        sha256: Type.String(),
        signedBy: Type.Array(Type.String()),
        running: Type.Boolean(),
        revoked: Nullable(Type.String({ description: 'Why the version is revoked and must not run.' })),
        rolledBackAt: Nullable(Timestamp, { description: 'When an earlier version replaced this one; null when that did not happen.' }),
        asksFor: GrantedView,
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
        revoked: one.revoked,
        rolledBackAt: one.rolledBackAt?.toISOString() ?? null,
        asksFor: requestedPermissions(one.manifest),
        installedAt: one.installedAt.toISOString(),
      }))
    },
  }),
])
