import Type from 'typebox'
import type { PluginServices } from '#api/areas/plugins.ts'
import { ConfigField, type ConfigSchemaShape, configFields } from '#api/views/config-fields.ts'
import { DifferenceLines, linesOf, RecordDifference } from '#api/views/plugin-review-view.ts'
import { capabilitiesView } from '#api/views/plugin-view.ts'
import { Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { differencesOf } from '#plugins/consent/differences.ts'
import type { UserRecord } from '#plugins/consent/record.ts'
import { describeDifference } from '#plugins/consent/record-lines.ts'
import { destinationOf } from '#plugins/credentials/plugin-auth.ts'
import type { OfferedPlugin, OwnPlugin } from '#plugins/host/user-plugins.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { withoutSecrets } from '#plugins/packages/plugin-config.ts'

const Text = Nullable(Type.String())
const Summary = Nullable(
  Type.String({ description: 'Words of the author of the plugin, which may change without a new consent; consent says what it may do.' }),
)

const Capabilities = Type.Object({
  readSync: Type.Boolean({ description: 'Always false: no plugin syncs reading progress yet.' }),
  userRecommendationProvider: Type.Boolean(),
})
const Settings = Type.Object(
  {
    description: Text,
    fields: Type.Array(ConfigField),
    schema: Type.Unknown({ description: 'The same fields as a JSON Schema.' }),
  },
  { title: 'UserConfigSchema' },
)
const Consent = Type.Object(
  {
    sha256: Type.String({ description: 'Of the record: enabling the plugin with it agrees to exactly this.' }),
    lines: Type.Array(Type.String(), {
      description:
        'What the plugin asks of you, in lines of less than 80 columns: those that administrators see, except what only they answer for. Lines that begin with > are words of its author.',
    }),
    record: Type.Unknown({ description: 'The same as data.' }),
  },
  { title: 'UserPluginConsent' },
)
const Agreed = Type.Object(
  {
    sha256: Type.String(),
    at: Timestamp,
    differences: Type.Array(RecordDifference, { description: 'From what you have agreed to, to what the plugin asks for now.' }),
    differenceLines: DifferenceLines,
  },
  { title: 'UserPluginAgreement' },
)
export const UserPluginView = Type.Object(
  {
    id: Uuid,
    pluginId: Uuid,
    pluginName: Type.String({ description: 'Identifier of the plugin, such as org.example.anilist.' }),
    pluginDisplayName: Type.String(),
    pluginType: Type.String(),
    description: Summary,
    enabled: Type.Boolean(),
    connected: Type.Boolean({ description: 'Whether the plugin has the credentials that it needs from the user; true if it needs none.' }),
    healthStatus: Type.String({ description: '`unhealthy`: the service refused the credentials of the user.' }),
    capabilities: Capabilities,
    config: Type.Record(Type.String(), Type.Unknown(), { description: 'My settings, without the secret ones.' }),
    secretsSet: Type.Array(Type.String(), { description: 'The secret settings that have a value, which is never returned.' }),
    userConfigSchema: Nullable(Settings),
    requiresOauth: Type.Boolean(),
    oauthConfigured: Type.Boolean({ description: 'Whether an administrator has configured the OAuth client of this server.' }),
    credentialType: Nullable(Type.String({ description: 'Credentials that the user can give: apiKey, basic or oauth2.' })),
    credentialsHost: Nullable(
      Type.String({
        description: 'Where they are sent, such as https://api.example.org; null if nowhere, or if the address is not configured yet.',
      }),
    ),
    externalUsername: Text,
    externalAvatarUrl: Text,
    userSetupInstructions: Text,
    lastSuccessAt: Nullable(Timestamp),
    lastSyncAt: Nullable(Timestamp),
    lastSyncResult: Type.Unknown(),
    createdAt: Timestamp,
    consent: Consent,
    agreed: Agreed,
    pause: Nullable(OneOf(['disabled', 'changed', 'data', 'stopped']), {
      description:
        'Why it does not run for you; null when it may. `changed`: it asks for something else than you have agreed to. `data`: it has not yet converted your data. Both until you enable it again. `stopped`: it runs for nobody until an administrator enables it.',
    }),
  },
  { title: 'UserPlugin' },
)
export const AvailablePluginView = Type.Object(
  {
    pluginId: Uuid,
    name: Type.String(),
    displayName: Type.String(),
    description: Summary,
    capabilities: Capabilities,
    requiresOauth: Type.Boolean(),
    oauthConfigured: Type.Boolean(),
    userSetupInstructions: Text,
    consent: Consent,
  },
  { title: 'AvailablePlugin' },
)

const capabilitiesOf = (manifest: Manifest) => {
  const { userReadSync, userRecommendationProvider } = capabilitiesView(manifest)
  return { readSync: userReadSync, userRecommendationProvider }
}
const credentialTypeOf = ({ auth }: Manifest) => (auth !== undefined && auth.scope === 'user' && auth.type !== 'none' ? auth.type : null)

/** Form fields from the schema of a manifest, which was checked at installation. */
function settingsOf({ userConfig }: Manifest) {
  if (userConfig === undefined) return null
  const schema = userConfig as ConfigSchemaShape
  return { description: schema.description ?? null, fields: configFields(schema), schema: userConfig }
}

const consentView = ({ plugin, consent: { sha256, record } }: Pick<OfferedPlugin, 'plugin' | 'consent'>) => ({
  sha256,
  lines: linesOf(record, plugin.manifest),
  record,
})

export function userPluginView(
  plugins: PluginServices['plugins'],
  { own, plugin, authStatus, signInReady, secretsSet, consent, pause }: OwnPlugin,
) {
  const { manifest } = plugin
  return {
    id: own.id,
    pluginId: plugin.id,
    pluginName: plugin.key,
    pluginDisplayName: manifest.name,
    pluginType: 'user',
    description: manifest.summary,
    enabled: own.enabled,
    connected: own.authFailedAt === null && (authStatus === 'connected' || authStatus === 'none'),
    healthStatus: own.authFailedAt === null ? plugins.healthOf(plugin) : 'unhealthy',
    capabilities: capabilitiesOf(manifest),
    config: withoutSecrets(manifest.userConfig, own.config),
    secretsSet,
    userConfigSchema: settingsOf(manifest),
    requiresOauth: credentialTypeOf(manifest) === 'oauth2',
    oauthConfigured: signInReady,
    credentialType: credentialTypeOf(manifest),
    credentialsHost: credentialTypeOf(manifest) === null ? null : destinationOf(plugins.authOf(plugin)),
    externalUsername: own.externalUsername,
    externalAvatarUrl: null,
    userSetupInstructions: manifest.description ?? null,
    lastSuccessAt: own.lastSuccessAt?.toISOString() ?? null,
    lastSyncAt: null,
    lastSyncResult: null,
    createdAt: own.createdAt.toISOString(),
    consent: consentView({ plugin, consent }),
    agreed: {
      sha256: own.agreedSha256,
      at: own.agreedAt.toISOString(),
      differences: differencesOf(own.agreedRecord as object, consent.record),
      differenceLines: describeDifference(own.agreedRecord as UserRecord, consent.record),
    },
    pause,
  }
}

export const offeredPluginView = ({ plugin, signInReady, consent }: OfferedPlugin) => ({
  pluginId: plugin.id,
  name: plugin.key,
  displayName: plugin.manifest.name,
  description: plugin.manifest.summary,
  capabilities: capabilitiesOf(plugin.manifest),
  requiresOauth: credentialTypeOf(plugin.manifest) === 'oauth2',
  oauthConfigured: signInReady,
  userSetupInstructions: plugin.manifest.description ?? null,
  consent: consentView({ plugin, consent }),
})
