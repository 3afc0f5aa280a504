import Type from 'typebox'
import type { Needs } from '#api/http/services.ts'
import { withConfigFields } from '#api/views/config-fields.ts'
import { TitleRules } from '#core/conditions/title-rules.ts'
import { described, FreeJson, Noun, Nullable, OneOf, Timestamp, UNTRIMMED, Uuid } from '#core/foundation/schema.ts'
import { destinationOf } from '#plugins/credentials/plugin-auth.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { listPluginFacts, type PluginFacts } from '#plugins/host/plugin-store.ts'
import { type Manifest, methodsOf } from '#plugins/packages/manifest.ts'
import { permissionsOf } from '#plugins/packages/permissions.ts'

type Services = Needs<'database' | 'plugins'>

const Count = Type.Integer({ minimum: 0 })
const Text = Nullable(Type.String())

/** What a version asks for, or was granted. */
export const Granted = Type.Object(
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
        hostFromConfig: Type.Optional(
          Type.String({ description: 'Where host is null: the member of the configuration with the address that credentials go to.' }),
        ),
        into: Type.Optional(
          Type.String({
            description:
              'Where in a request they stand, where that is no header: `query` or `body` and a name, and what stands around them if anything does.',
          }),
        ),
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

export const HEALTH = ['unknown', 'healthy', 'degraded', 'quarantined', 'revoked', 'disabled'] as const

/** The host asks one plugin as often as its manifest and the services allow, and starts no program. */
const NO_PROGRAM = { command: '' as const, args: [], env: {}, workingDirectory: null, rateLimitRequestsPerMinute: null }

/** What a call to a plugin has where its caller does not say. */
export const INTERNAL_CONFIG = Type.Object({
  searchResultsLimit: Nullable(Type.Integer({ minimum: 1, maximum: 100 }), {
    description: 'Results of a search by hand; 20 where it is null.',
  }),
})

/** How the metadata of a plugin is used. */
export const MATCHING = {
  libraryIds: Type.Array(Uuid, { maxItems: 1_000, description: 'Libraries that it is used for; all where none is named.' }),
  metadataTargets: Nullable(
    Type.Array(Type.String({ maxLength: 100 }), {
      maxItems: 100,
      description: 'Metadata fields that are taken from it; all where it is null.',
    }),
  ),
  searchQueryTemplate: Nullable(
    Type.String({ ...UNTRIMMED, maxLength: 10_000, description: 'A template that writes what is searched for.' }),
  ),
  searchPreprocessingRules: Nullable(TitleRules),
  autoMatchConditions: Nullable(
    described(FreeJson, 'Conditions on a series or book; only those that meet them are matched by themselves.'),
  ),
  useExistingExternalId: Type.Boolean({ description: 'An identifier that is known is looked up before anything is searched for.' }),
  priority: Type.Integer({ minimum: 0, maximum: 1_000, description: 'Of several that offer a field, the lowest number is asked first.' }),
}

export const PluginCapabilities = Noun('PluginCapabilities')({
  metadataProvider: Type.Array(OneOf(['series', 'book'])),
  externalIdSource: Nullable(Type.String(), {
    description: '`idSource` of the manifest; identifiers have the key `plugin:` and this, or the id of the plugin where it is null.',
  }),
  userReadSync: Type.Boolean(),
  userRecommendationProvider: Type.Boolean(),
  releaseSource: Type.Boolean(),
})

const ConfigSchema = Type.Unknown({
  description: 'A JSON Schema, and beside it `fields`: its members as a list, with key, label, type, required, description and default.',
})

export const ShownManifest = Type.Object(
  {
    name: Type.String(),
    displayName: Type.String(),
    version: Type.String(),
    protocolVersion: Type.String({ description: 'The interface for plugins that it was made for.' }),
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
 * A plugin as administrators see it. Plugins run in isolates, so the command with arguments and environment, which the interface of earlier servers has,
 * is an empty one; instead there are what a plugin asks for, what it was granted, and the hash of what was agreed to.
 */
export const Plugin = Type.Object(
  {
    id: Uuid,
    name: Type.String({ description: 'Its own identifier, such as org.example.anilist.' }),
    displayName: Type.String(),
    description: Text,
    pluginType: OneOf(['system', 'user']),
    version: Type.String(),
    sha256: Type.String({ description: 'Of the package; consent names it.' }),
    signedBy: Type.Array(Type.String(), { description: 'Ed25519 keys, base64.' }),
    state: OneOf(['waiting', 'enabled', 'disabled', 'quarantined', 'revoked']),
    enabled: Type.Boolean(),
    disabledReason: Text,
    healthStatus: OneOf([...HEALTH]),
    failureCount: Count,
    lastFailureAt: Nullable(Timestamp),
    lastSuccessAt: Nullable(Timestamp),
    methods: Type.Array(Type.String(), { description: 'What it offers, such as metadata.series.search.' }),
    asksFor: Granted,
    granted: Nullable(Granted),
    permissions: Type.Array(Type.String(), { description: 'What it was granted, in short: its scopes of the library.' }),
    scopes: Type.Array(Type.String(), { description: 'Where it can be asked for something, as in /plugins/actions.' }),
    config: Type.Record(Type.String(), Type.Unknown()),
    privateHosts: Type.Boolean({ description: 'Whether hosts of its configuration may lie in the own network.' }),
    hasCredentials: Type.Boolean({ description: 'Of the server, for credentialsHost. They are never told.' }),
    credentialsHost: Nullable(
      Type.String({ description: 'Where they are sent, such as https://api.example.org; null where nowhere, or nobody has entered it.' }),
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
    manifest: ShownManifest,
    readme: Text,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Plugin', description: 'Runs in an isolate: the command is an empty one, and so is its environment.' },
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

export function shownCapabilities({ capabilities }: Manifest) {
  const metadata = (['series', 'book'] as const).filter((kind) => capabilities[`metadata.${kind}`] !== undefined)
  return {
    metadataProvider: metadata,
    externalIdSource: capabilities['metadata.series']?.idSource ?? capabilities['metadata.book']?.idSource ?? null,
    userReadSync: false,
    userRecommendationProvider: capabilities.recommendations !== undefined,
    releaseSource: false,
  }
}

export function shownManifest(manifest: Manifest) {
  const { auth, capabilities } = manifest
  const oauth = auth?.oauth2
  const shown = shownCapabilities(manifest)
  return {
    name: manifest.id,
    displayName: manifest.name,
    version: manifest.version,
    protocolVersion: manifest.engine.pluginApi,
    description: manifest.description ?? manifest.summary,
    author: manifest.author?.name ?? null,
    homepage: manifest.homepage ?? null,
    license: manifest.license ?? null,
    capabilities: shown,
    contentTypes: shown.metadataProvider,
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

/** What an answer says of a call that failed, beside the words for people. */
export const failureMembers = {
  code: Nullable(
    Type.String({ description: 'What the plugin did wrong, in a word, such as rate_limited; null where it did nothing wrong.' }),
  ),
  callId: Nullable(Uuid, { description: 'Of the call, as the logs of the plugin have it; null where none was made.' }),
}

/** Where a plugin can be asked for something. */
export function scopesOf({ capabilities }: Manifest): string[] {
  return [
    ...(capabilities['metadata.series'] ? ['series:detail', 'series:bulk', 'library:detail'] : []),
    ...(capabilities['metadata.book'] ? ['book:detail', 'library:detail'] : []),
  ].filter((scope, index, all) => all.indexOf(scope) === index)
}

const NO_FACTS: Omit<PluginFacts, 'id'> = { failureCount: 0, lastFailureAt: null, userCount: 0, hasCredentials: false }

function showOne(services: Services, plugin: InstalledPlugin, facts: Omit<PluginFacts, 'id'> = NO_FACTS) {
  const { manifest, state, matching } = plugin
  const offersMetadata = shownCapabilities(manifest).metadataProvider.length > 0
  return {
    id: plugin.id,
    name: plugin.key,
    displayName: manifest.name,
    description: manifest.summary,
    pluginType: offersMetadata ? ('system' as const) : ('user' as const),
    version: plugin.version,
    sha256: plugin.sha256,
    signedBy: plugin.signedBy,
    state,
    enabled: state === 'enabled',
    disabledReason: plugin.stateReason,
    healthStatus: services.plugins.healthOf(plugin),
    failureCount: facts.failureCount,
    lastFailureAt: facts.lastFailureAt?.toISOString() ?? null,
    lastSuccessAt: plugin.lastSuccessAt?.toISOString() ?? null,
    methods: methodsOf(manifest),
    asksFor: permissionsOf(manifest),
    granted: plugin.granted,
    permissions: plugin.granted?.library ?? [],
    scopes: scopesOf(manifest),
    config: plugin.config,
    privateHosts: plugin.privateHosts,
    hasCredentials: facts.hasCredentials,
    credentialsHost: destinationOf(services.plugins.authOf(plugin)),
    credentialDelivery: 'host' as const,
    ...NO_PROGRAM,
    internalConfig: { searchResultsLimit: matching.searchResultsLimit ?? null },
    userCount: facts.userCount,
    libraryIds: matching.libraryIds ?? [],
    metadataTargets: matching.metadataTargets ?? null,
    searchQueryTemplate: matching.searchQueryTemplate ?? null,
    searchPreprocessingRules: matching.searchPreprocessingRules ?? null,
    autoMatchConditions: matching.autoMatchConditions ?? null,
    useExistingExternalId: matching.useExistingExternalId ?? true,
    priority: matching.priority ?? 100,
    manifest: shownManifest(manifest),
    readme: plugin.readme,
    createdAt: plugin.createdAt.toISOString(),
    updatedAt: plugin.updatedAt.toISOString(),
  }
}

/** Credentials that were given for another address than that of the configuration go nowhere. */
async function factsOf(services: Services, plugin: InstalledPlugin, all: ReadonlyMap<string, PluginFacts>) {
  const facts = all.get(plugin.id)
  if (facts?.hasCredentials !== true || plugin.manifest.auth?.bind?.hostFrom === undefined) return facts
  return { ...facts, hasCredentials: (await services.plugins.authStatus(plugin, null)) !== 'missing' }
}

export async function showPlugin(services: Services, plugin: InstalledPlugin) {
  return showOne(services, plugin, await factsOf(services, plugin, await listPluginFacts(services.database, plugin.id)))
}

export async function showPlugins(services: Services, plugins: readonly InstalledPlugin[]) {
  const facts = await listPluginFacts(services.database, null)
  return await Promise.all(plugins.map(async (plugin) => showOne(services, plugin, await factsOf(services, plugin, facts))))
}
