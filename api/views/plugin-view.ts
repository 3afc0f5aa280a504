import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { withConfigFields } from '#api/views/config-fields.ts'
import { GivenCondition } from '#core/conditions/condition-schema.ts'
import { TitleRules } from '#core/conditions/title-rules.ts'
import { Noun, Nullable, OneOf, Timestamp, UNTRIMMED, Uuid } from '#core/foundation/schema.ts'
import { escapedLines } from '#core/foundation/stranger-text.ts'
import { destinationOf } from '#plugins/credentials/plugin-auth.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { listPluginStatuses, type PluginStatus } from '#plugins/host/plugin-store.ts'
import { type Manifest, methodsOf } from '#plugins/packages/manifest.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import { withoutSecrets } from '#plugins/packages/plugin-config.ts'

type Services = Pick<DataServices, 'database'> & Pick<PluginServices, 'plugins' | 'pluginCredentials'>

const Count = Type.Integer({ minimum: 0 })
const Text = Nullable(Type.String())

/** The permissions that a version requests or has. */
export const GrantedView = Type.Object(
  {
    network: Type.Array(Type.Object({ host: Type.String(), methods: Type.Array(Type.String()), reason: Type.String() })),
    networkFromConfig: Type.Array(Type.String(), { description: 'Configuration members with addresses of further hosts.' }),
    hostDefaults: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'Of these members, the origins that the author proposes as their defaults, such as https://api.example.org. Consent confirms them: until an administrator enters another host, the plugin connects there.',
      }),
    ),
    library: Type.Array(Type.String(), { description: 'Data that it may read from the libraries of users.' }),
    storageKB: Count,
    auth: Nullable(
      Type.Object({
        type: Type.String(),
        scope: Type.String(),
        host: Nullable(Type.String()),
        hostFromConfig: Type.Optional(
          Type.String({ description: 'If host is null: the configuration member with the address that credentials are sent to.' }),
        ),
        into: Type.Optional(
          Type.String({
            description: 'Their place in a request if it is not a header: `query` or `body` with a name, and the text around them, if any.',
          }),
        ),
        loginHost: Nullable(Type.String({ description: 'Host where users sign in.' })),
        tokenHost: Nullable(Type.String({ description: 'Host where the server exchanges the authorization code for tokens.' })),
      }),
    ),
    heapMB: Count,
    cpuMs: Count,
    wallMs: Count,
  },
  { title: 'PluginPermissions' },
)

export const HEALTH = ['unknown', 'healthy', 'degraded', 'quarantined', 'revoked', 'disabled'] as const

/** The rate limits come from the manifest and the services, and no program is started. */
const NO_PROGRAM = { command: '' as const, args: [], env: {}, workingDirectory: null, rateLimitRequestsPerMinute: null }

/** Defaults for calls to a plugin. */
export const INTERNAL_CONFIG = Type.Object({
  searchResultsLimit: Nullable(Type.Integer({ minimum: 1, maximum: 100 }), {
    description: 'Results of a manual search; null means 20.',
  }),
})

/** How the metadata of a plugin is used. */
export const MATCHING = {
  libraryIds: Type.Array(Uuid, { maxItems: 1_000, description: 'Libraries that use the plugin; empty means all.' }),
  metadataTargets: Nullable(
    Type.Array(Type.String({ maxLength: 100 }), {
      maxItems: 100,
      description:
        'Metadata fields to take from the plugin; null means all. Its own identifier is always taken, because later matches use it.',
    }),
  ),
  searchQueryTemplate: Nullable(Type.String({ ...UNTRIMMED, maxLength: 10_000, description: 'A template for the search query.' })),
  searchPreprocessingRules: Nullable(TitleRules),
  autoMatchConditions: Nullable(GivenCondition, {
    description: 'Conditions on a series or book; only those that meet them are matched automatically.',
  }),
  useExistingExternalId: Type.Boolean({ description: 'Looks up a known identifier before searching.' }),
  priority: Type.Integer({ minimum: 0, maximum: 1_000, description: 'If several plugins offer a field, the lowest number comes first.' }),
}

export const PluginCapabilities = Noun('PluginCapabilities')({
  metadataProvider: Type.Array(OneOf(['series', 'book'])),
  externalIdSource: Nullable(Type.String(), {
    description: '`idSource` of the manifest. Identifiers have the key `plugin:` followed by it, or by the id of the plugin if it is null.',
  }),
  userReadSync: Type.Boolean(),
  userRecommendationProvider: Type.Boolean(),
  releaseSource: Type.Boolean(),
})

const ConfigSchema = Type.Unknown({
  description:
    'A JSON Schema with an additional member `fields`: a list with key, label, type, required, description and default of each member.',
})

export const ManifestView = Type.Object(
  {
    name: Type.String(),
    displayName: Type.String(),
    version: Type.String(),
    protocolVersion: Type.String({ description: 'Version of the plugin API that it was made for.' }),
    description: Text,
    author: Text,
    homepage: Text,
    license: Text,
    capabilities: PluginCapabilities,
    contentTypes: Type.Array(Type.String()),
    searchUriTemplate: Text,
    configSchema: Nullable(ConfigSchema),
    userConfigSchema: Nullable(ConfigSchema),
    requiredCredentials: Type.Array(
      Type.Object({
        key: Type.String(),
        label: Type.String(),
        required: Type.Boolean(),
        sensitive: Type.Boolean(),
        credentialType: Type.String(),
        description: Text,
      }),
    ),
    oauth: Nullable(
      Type.Object({ authorizationUrl: Type.String(), tokenUrl: Type.String(), scopes: Type.Array(Type.String()), pkce: Type.Boolean() }),
    ),
    scopes: Type.Array(Type.String()),
  },
  { title: 'PluginManifest' },
)

/**
 * A plugin as administrators see it. Plugins run in isolates, so the command, arguments and environment that earlier servers had are empty.
 * Instead it has the requested and granted permissions, and the hash of the package that an administrator consented to.
 */
export const Plugin = Type.Object(
  {
    id: Uuid,
    name: Type.String({ description: 'Identifier of the plugin, such as org.example.anilist.' }),
    displayName: Type.String(),
    description: Text,
    pluginType: OneOf(['system', 'user']),
    version: Type.String({
      description:
        'This version is described by sha256, signedBy, methods, asksFor, manifest and readme: the one that runs, or the newest before the first consent.',
    }),
    runningVersion: Nullable(Type.String(), { description: 'The version that runs; null before the first consent.' }),
    sha256: Type.String({
      description: 'SHA-256 of the package of this version. A newer one may wait for consent: consent to the SHA-256 of its review.',
    }),
    signedBy: Type.Array(Type.String(), { description: 'Ed25519 keys, base64.' }),
    state: OneOf(['waiting', 'enabled', 'disabled', 'quarantined', 'revoked']),
    enabled: Type.Boolean(),
    disabledReason: Text,
    healthStatus: OneOf([...HEALTH]),
    failureCount: Count,
    lastFailureAt: Nullable(Timestamp),
    lastSuccessAt: Nullable(Timestamp),
    methods: Type.Array(Type.String(), { description: 'Functions of the plugin, such as metadata.series.search.' }),
    asksFor: GrantedView,
    granted: Nullable(GrantedView),
    permissions: Type.Array(Type.String(), { description: 'The granted library scopes.' }),
    scopes: Type.Array(Type.String(), { description: 'Pages that offer its actions, as in /plugins/actions.' }),
    config: Type.Record(Type.String(), Type.Unknown()),
    privateHosts: Type.Boolean({ description: 'Whether any host of its configuration may be in the local network.' }),
    privateOrigins: Type.Array(Type.String(), {
      description: 'These hosts, as scheme, name and port. Another host, also one that an update proposes, is not among them.',
    }),
    hasCredentials: Type.Boolean({
      description: 'Whether the server has credentials for credentialsHost. Their values are never returned.',
    }),
    credentialsHost: Nullable(
      Type.String({
        description: 'Where they are sent, such as https://api.example.org; null if nowhere, or if the address is not configured yet.',
      }),
    ),
    credentialDelivery: OneOf(['host']),
    command: OneOf(['']),
    args: Type.Array(Type.String(), { maxItems: 0 }),
    env: Type.Object({}),
    workingDirectory: Type.Null(),
    rateLimitRequestsPerMinute: Type.Null(),
    internalConfig: INTERNAL_CONFIG,
    userCount: Count,
    ...MATCHING,
    manifest: ManifestView,
    readme: Nullable(
      Type.String({
        description:
          'README.md of its author, a stranger: show it as text or through a sanitizer, never as HTML of your page. Controls, direction marks and other characters that show nothing are escaped, such as \\u202e.',
      }),
    ),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Plugin', description: 'Plugins run in isolates, so command, args and env are empty.' },
)

const CREDENTIALS = {
  none: [],
  apiKey: [{ key: 'token', label: 'Token', sensitive: true }],
  basic: [
    { key: 'username', label: 'User name', sensitive: false },
    { key: 'password', label: 'Password', sensitive: true },
  ],
  oauth2: [
    { key: 'clientId', label: 'Client id', sensitive: false },
    { key: 'clientSecret', label: 'Client secret', sensitive: true },
  ],
} as const

export function capabilitiesView({ capabilities }: Manifest) {
  const metadata = (['series', 'book'] as const).filter((kind) => capabilities[`metadata.${kind}`] !== undefined)
  return {
    metadataProvider: metadata,
    externalIdSource: capabilities['metadata.series']?.idSource ?? capabilities['metadata.book']?.idSource ?? null,
    userReadSync: false,
    userRecommendationProvider: capabilities.recommendations !== undefined,
    releaseSource: false,
  }
}

export function manifestView(manifest: Manifest) {
  const { auth, capabilities } = manifest
  const oauth = auth?.oauth2
  const capabilityView = capabilitiesView(manifest)
  return {
    name: manifest.id,
    displayName: manifest.name,
    version: manifest.version,
    protocolVersion: manifest.engine.pluginApi,
    description: manifest.description ?? manifest.summary,
    author: manifest.author?.name ?? null,
    homepage: manifest.homepage ?? null,
    license: manifest.license ?? null,
    capabilities: capabilityView,
    contentTypes: capabilityView.metadataProvider,
    searchUriTemplate: capabilities.webLinks?.search ?? null,
    configSchema: withConfigFields(manifest.config),
    userConfigSchema: withConfigFields(manifest.userConfig),
    requiredCredentials: CREDENTIALS[auth?.type ?? 'none'].map((field) => ({
      ...field,
      required: field.key !== 'clientSecret',
      credentialType: 'text',
      description: null,
    })),
    oauth: oauth
      ? { authorizationUrl: oauth.authorizeUrl, tokenUrl: oauth.tokenUrl, scopes: oauth.scopes ?? [], pkce: oauth.pkce !== false }
      : null,
    scopes: scopesOf(manifest),
  }
}

/** Members of an answer that identify a failed call, besides the message. */
export const failureMembers = {
  code: Nullable(Type.String({ description: 'Error code of the plugin, such as rate_limited; null if the plugin did not fail.' })),
  callId: Nullable(Uuid, { description: 'Id of the call in the logs of the plugin; null if no call was made.' }),
}

/** The pages that offer actions of a plugin. */
export function scopesOf({ capabilities }: Manifest): string[] {
  return [
    ...(capabilities['metadata.series'] ? ['series:detail', 'series:bulk', 'library:detail'] : []),
    ...(capabilities['metadata.book'] ? ['book:detail', 'library:detail'] : []),
  ].filter((scope, index, all) => all.indexOf(scope) === index)
}

const NO_STATE: Omit<PluginStatus, 'id'> = { failureCount: 0, lastFailureAt: null, userCount: 0, hasCredentials: false }

function viewOf(
  services: Services,
  plugin: InstalledPlugin,
  status: Omit<PluginStatus, 'id'> = NO_STATE,
  running: Pick<InstalledPlugin, 'runningVersionId' | 'version'> = plugin,
) {
  const { manifest, state, matching } = plugin
  const offersMetadata = capabilitiesView(manifest).metadataProvider.length > 0
  return {
    id: plugin.id,
    name: plugin.key,
    displayName: manifest.name,
    description: manifest.summary,
    pluginType: offersMetadata ? ('system' as const) : ('user' as const),
    version: plugin.version,
    runningVersion: running.runningVersionId === null ? null : running.version,
    sha256: plugin.sha256,
    signedBy: plugin.signedBy,
    state,
    enabled: state === 'enabled',
    disabledReason: plugin.stateReason,
    healthStatus: services.plugins.healthOf(plugin),
    failureCount: status.failureCount,
    lastFailureAt: status.lastFailureAt?.toISOString() ?? null,
    lastSuccessAt: plugin.lastSuccessAt?.toISOString() ?? null,
    methods: methodsOf(manifest),
    asksFor: requestedPermissions(manifest),
    granted: plugin.granted,
    permissions: plugin.granted?.library ?? [],
    scopes: scopesOf(manifest),
    config: withoutSecrets(manifest.config, plugin.config),
    privateHosts: plugin.privateOrigins.length > 0,
    privateOrigins: plugin.privateOrigins,
    hasCredentials: status.hasCredentials,
    credentialsHost: destinationOf(services.plugins.authOf(plugin)),
    credentialDelivery: 'host' as const,
    ...NO_PROGRAM,
    internalConfig: { searchResultsLimit: matching.searchResultsLimit ?? null },
    userCount: status.userCount,
    libraryIds: matching.libraryIds ?? [],
    metadataTargets: matching.metadataTargets ?? null,
    searchQueryTemplate: matching.searchQueryTemplate ?? null,
    searchPreprocessingRules: matching.searchPreprocessingRules ?? null,
    autoMatchConditions: matching.autoMatchConditions ?? null,
    useExistingExternalId: matching.useExistingExternalId ?? true,
    priority: matching.priority ?? 100,
    manifest: manifestView(manifest),
    readme: plugin.readme === null ? null : escapedLines(plugin.readme),
    createdAt: plugin.createdAt.toISOString(),
    updatedAt: plugin.updatedAt.toISOString(),
  }
}

/** By plugin. Credentials that were entered for other hosts than the present ones do not count: they are not usable. */
async function listStates(services: Services, plugins: readonly InstalledPlugin[]): Promise<Map<string, PluginStatus>> {
  const stored = await listPluginStatuses(services.database, plugins.length === 1 ? (plugins[0] as InstalledPlugin).id : null)
  const bound = plugins.filter(({ id, manifest }) => stored.get(id)?.hasCredentials && manifest.auth?.bind !== undefined)
  if (bound.length === 0) return stored
  const credentials = await services.pluginCredentials.stored({ userId: null, pluginId: null })
  for (const plugin of bound) {
    const owner = { pluginId: plugin.id, userId: null }
    const auth = services.plugins.authOf(plugin)
    // Where users have their own, the server has the client id with which they sign in.
    const hasCredentials =
      auth?.scope === 'user' ? credentials.fields(owner, auth).length > 0 : credentials.status(owner, auth) !== 'missing'
    stored.set(plugin.id, { ...(stored.get(plugin.id) as PluginStatus), hasCredentials })
  }
  return stored
}

/** @param running the same plugin with the version that runs, if that is another */
export async function pluginView(services: Services, plugin: InstalledPlugin, running: InstalledPlugin = plugin) {
  return viewOf(services, plugin, (await listStates(services, [plugin])).get(plugin.id), running)
}

/** By two or three statements, however many plugins there are. */
export async function pluginViews(services: Services, plugins: readonly InstalledPlugin[]) {
  const states = await listStates(services, plugins)
  return plugins.map((plugin) => viewOf(services, plugin, states.get(plugin.id)))
}
