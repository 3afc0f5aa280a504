import Type from 'typebox'
import { endpoint } from '#api/routes/route.ts'
import { refuse } from '#core/errors.ts'
import { listFailures } from '#core/plugin/plugin-store.ts'
import { Nullable, OneOf, Timestamp, Uuid } from '#core/schema.ts'
import { type Manifest, methodsOf } from '#plugins/manifest.ts'
import { PACKAGE_BYTES_MAX } from '#plugins/package/zip.ts'
import { type Permissions, permissionsOf } from '#plugins/permissions.ts'
import type { InstalledPlugin } from '#plugins/plugin-host.ts'

const tag = 'plugins'
const allow = { who: 'system-admin' } as const
const PluginId = Type.Object({ pluginId: Uuid })
const Count = Type.Integer({ minimum: 0 })

/** A form around a package: its boundary and the head of the part. */
const FORM_BYTES = 64 * 1024
const bodyBytesMax = PACKAGE_BYTES_MAX + FORM_BYTES
/** Failures are looked at a page at a time. */
const FAILURES_MAX = 500

const Granted = Type.Object(
  {
    network: Type.Array(Type.Object({ host: Type.String(), methods: Type.Array(Type.String()), reason: Type.String() })),
    networkFromConfig: Type.Array(Type.String(), { description: 'Members of the configuration that hold addresses of further hosts.' }),
    library: Type.Array(Type.String(), { description: 'What it may read of the library of a reader.' }),
    storageKB: Count,
    auth: Nullable(
      Type.Object({
        type: Type.String(),
        scope: Type.String(),
        host: Nullable(Type.String()),
        loginHost: Nullable(Type.String({ description: 'Where readers are sent to sign in.' })),
        tokenHost: Nullable(Type.String({ description: 'Where the server redeems that.' })),
      }),
    ),
    heapMB: Count,
    cpuMs: Count,
    wallMs: Count,
  },
  { title: 'PluginPermissions' },
)

/**
 * A plugin as administrators see it. Plugins run in isolates, so there is no command with arguments and environment here, as the interface of
 * earlier servers has; instead there are what a plugin asks for, what it was granted, and the hash of what was agreed to.
 */
const Plugin = Type.Object(
  {
    id: Uuid,
    name: Type.String({ description: 'Its own identifier, such as org.example.anilist.' }),
    displayName: Type.String(),
    description: Nullable(Type.String()),
    version: Type.String(),
    sha256: Type.String({ description: 'Of the package; consent names it.' }),
    signedBy: Type.Array(Type.String(), { description: 'Ed25519 keys, base64.' }),
    state: OneOf(['waiting', 'enabled', 'disabled', 'quarantined']),
    enabled: Type.Boolean(),
    disabledReason: Nullable(Type.String()),
    methods: Type.Array(Type.String(), { description: 'What it offers, such as metadata.series.search.' }),
    asksFor: Granted,
    granted: Nullable(Granted),
    config: Type.Record(Type.String(), Type.Unknown()),
    readme: Nullable(Type.String()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Plugin', description: 'Runs in an isolate: there is neither a command nor an environment.' },
)

function shown(plugin: InstalledPlugin) {
  const { manifest, state } = plugin
  return {
    id: plugin.id,
    name: plugin.key,
    displayName: manifest.name,
    description: manifest.summary,
    version: plugin.version,
    sha256: plugin.sha256,
    signedBy: plugin.signedBy,
    state,
    enabled: state === 'enabled',
    disabledReason: plugin.stateReason,
    methods: methodsOf(manifest),
    asksFor: permissionsOf(manifest) as Permissions,
    granted: plugin.granted,
    config: plugin.config,
    readme: plugin.readme,
    createdAt: plugin.createdAt.toISOString(),
    updatedAt: plugin.updatedAt.toISOString(),
  }
}

const Status = Type.Object({ plugin: Plugin, message: Type.String() })
const status = (plugin: InstalledPlugin, message: string) => ({ plugin: shown(plugin), message })

const CONTENT = { series: 'metadata.series', book: 'metadata.book' } as const

export const pluginRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/admin/plugins',
    summary: 'All plugins',
    tag,
    allow,
    reply: Type.Object({ plugins: Type.Array(Plugin), total: Count }),
    run: async ({ services }) => {
      const plugins = (await services.plugins.list()).map(shown)
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
    upload: { description: 'A .plugin package, 10 MB at most.' },
    bodyBytesMax,
    reply: Type.Object({
      plugin: Plugin,
      version: Type.String({ description: 'The one that was installed.' }),
      waitsFor: Type.Array(Type.String(), {
        description: 'What somebody has to agree to before this version runs; empty when it runs already.',
      }),
      sha256: Type.String({ description: 'Of the package that was installed: what consent is given to.' }),
      message: Type.String(),
    }),
    run: async ({ services, caller }, { upload }) => {
      const { plugin, version, waitsFor } = await services.plugins.install(upload.bytes, caller?.userId ?? null)
      const installed = (await services.plugins.versions(plugin.id)).find((one) => one.version === version)
      const message =
        waitsFor.length === 0
          ? `${plugin.manifest.name} ${version} runs.`
          : `${plugin.manifest.name} ${version} waits for consent: it ${waitsFor.join(', ')}.`
      return { plugin: shown(plugin), version, waitsFor, sha256: installed?.sha256 ?? plugin.sha256, message }
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
    run: async ({ services }, { params }) => shown(await services.plugins.get(params.pluginId)),
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/admin/plugins/:pluginId',
    summary: 'Change the configuration of a plugin',
    tag,
    allow,
    params: PluginId,
    body: Type.Object({ config: Type.Record(Type.String(), Type.Unknown()) }),
    reply: Plugin,
    run: async ({ services }, { params, body }) => shown(await services.plugins.configure(params.pluginId, body.config)),
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
    body: Type.Object({ sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of the package that was looked at.' }) }),
    reply: Status,
    run: async ({ services }, { params, body }) => {
      const plugin = await services.plugins.consent(params.pluginId, body)
      return status(plugin, `${plugin.manifest.name} ${plugin.version} runs.`)
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
        return status(plugin, `${plugin.manifest.name} is ${plugin.state}.`)
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
      return status(plugin, `The failures of ${plugin.manifest.name} are forgotten; it is ${plugin.state}.`)
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
  endpoint({
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/failures',
    summary: 'What went wrong with a plugin, the last first',
    tag,
    allow,
    params: PluginId,
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: FAILURES_MAX })),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    }),
    reply: Type.Object({
      failures: Type.Array(
        Type.Object({
          id: Uuid,
          version: Type.String(),
          method: Type.String(),
          errorCode: Type.String(),
          errorMessage: Type.String(),
          callId: Uuid,
          occurredAt: Timestamp,
        }),
      ),
      total: Count,
    }),
    run: async ({ services }, { params, query }) => {
      const { id } = await services.plugins.get(params.pluginId)
      const { items, total } = await listFailures(services.database, id, { offset: query.offset ?? 0, limit: query.limit ?? 50 })
      const failures = items.map(({ code, message, occurredAt, ...rest }) => ({
        ...rest,
        errorCode: code,
        errorMessage: message,
        occurredAt: occurredAt.toISOString(),
      }))
      return { failures, total }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/plugins/actions',
    summary: 'What the plugins that run can be asked to do',
    tag,
    allow: { who: 'user' },
    query: Type.Object({ scope: OneOf(['series:detail', 'series:bulk', 'library:detail', 'book:detail']) }),
    reply: Type.Object({
      scope: Type.String(),
      actions: Type.Array(
        Type.Object({
          pluginId: Uuid,
          pluginName: Type.String(),
          pluginDisplayName: Type.String(),
          actionType: Type.String(),
          label: Type.String(),
        }),
      ),
    }),
    run: async ({ services }, { query }) => {
      const capability = query.scope.startsWith('book') ? CONTENT.book : CONTENT.series
      const running = (await services.plugins.list()).filter(({ state, granted }) => state === 'enabled' && granted !== null)
      const actions = running
        .filter(({ manifest }) => methodsOf(manifest).includes(`${capability}.search`))
        .map(({ id, key, manifest }) => ({
          pluginId: id,
          pluginName: key,
          pluginDisplayName: manifest.name,
          actionType: 'metadata_search',
          label: `Search ${manifest.name}`,
        }))
      return { scope: query.scope, actions }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/plugins/:pluginId/execute',
    summary: 'Call a metadata function of a plugin',
    tag,
    allow: { who: 'series-write' },
    params: PluginId,
    body: Type.Object({
      action: Type.Object({
        metadata: Type.Object({
          action: OneOf(['search', 'get', 'match']),
          contentType: OneOf(['series', 'book']),
          params: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'What the function takes, as the SDK says.' })),
        }),
      }),
    }),
    reply: Type.Object({ success: Type.Boolean(), latencyMs: Type.Integer({ minimum: 0 }), result: Type.Unknown(), callId: Uuid }),
    run: async ({ services }, { params, body }) => {
      const { action, contentType, params: input = {} } = body.action.metadata
      const method = `${CONTENT[contentType]}.${action}`
      if (action === 'search' && typeof input['limit'] !== 'number') input['limit'] = 20
      const { result, callId, wallMs } = await services.plugins.call({ pluginId: params.pluginId, method, input, userId: null })
      return { success: true, latencyMs: Math.round(wallMs), result: result ?? refuse('unavailable'), callId }
    },
  }),
]
