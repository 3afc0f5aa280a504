import Type from 'typebox'
import { type Call, endpointOf, streamOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { ConfigField, type ConfigSchemaShape, configFields } from '#api/views/config-fields.ts'
import { capabilitiesView } from '#api/views/plugin-view.ts'
import { signInPage } from '#api/views/sign-in-page.ts'
import { refuse } from '#core/foundation/errors.ts'
import { FreeObject, Noun, Nullable, OneOf, Secret, Timestamp, UNTRIMMED, Uuid } from '#core/foundation/schema.ts'
import { findLastRefresh } from '#core/recommendations/recommendation-store.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { differencesOf } from '#plugins/consent/differences.ts'
import { describeForUser } from '#plugins/consent/user-words.ts'
import { destinationOf } from '#plugins/credentials/plugin-auth.ts'
import { SignInError, signInCookieName } from '#plugins/credentials/sign-in.ts'
import type { OfferedPlugin, OwnPlugin } from '#plugins/host/user-plugins.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

type Services = Needs<'database' | 'plugins' | 'settings' | 'userPlugins'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const tag = 'plugins'
// Plugins of a user read the user's progress and act on it, and their settings and results are data of the same kind.
const read = { who: 'progress-read' } as const
const write = { who: 'progress-write', also: ['progress-read'] } as const
const PluginId = Type.Object({ pluginId: Uuid })
const Text = Nullable(Type.String())
const Count = Type.Integer({ minimum: 0 })
const path = '/api/v1/user/plugins'
const CALLBACK = `${path}/oauth/callback`
const TEXT_LENGTH_MAX = 10_000

/** SameSite=Lax: a service redirects the browser back from another site. The path limits the cookie to the end of the sign-in. */
const signInCookie = (name: string, { key, seconds, isSecure }: { key: string; seconds: number; isSecure: boolean }): string =>
  `${name}=${key}; Path=${CALLBACK}; HttpOnly; SameSite=Lax; Max-Age=${seconds}${isSecure ? '; Secure' : ''}`

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
        'What the plugin asks of you, in lines of at most 80 columns where they have words of its author, which begin with a mark.',
    }),
    record: Type.Unknown({ description: 'The same as data.' }),
  },
  { title: 'UserPluginConsent' },
)
const Agreed = Type.Object(
  {
    sha256: Type.String(),
    at: Timestamp,
    differences: Type.Array(
      Type.Object({
        path: Type.String({ description: 'JSON pointer into the record.' }),
        kind: OneOf(['added', 'removed', 'changed']),
        before: Type.Optional(Type.Unknown()),
        after: Type.Optional(Type.Unknown()),
      }),
      { description: 'From what you have agreed to, to what the plugin asks for now.' },
    ),
  },
  { title: 'UserPluginAgreement' },
)
const UserPlugin = Type.Object(
  {
    id: Uuid,
    pluginId: Uuid,
    pluginName: Type.String({ description: 'Identifier of the plugin, such as org.example.anilist.' }),
    pluginDisplayName: Type.String(),
    pluginType: Type.String(),
    description: Text,
    enabled: Type.Boolean(),
    connected: Type.Boolean({ description: 'Whether the plugin has the credentials that it needs from the user; true if it needs none.' }),
    healthStatus: Type.String({ description: '`unhealthy`: the service refused the credentials of the user.' }),
    capabilities: Capabilities,
    config: Type.Record(Type.String(), Type.Unknown()),
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
    pause: Nullable(OneOf(['disabled', 'changed', 'data']), {
      description:
        'Why it does not run for you; null when it may. `changed`: it asks for something else than you have agreed to. `data`: it has not yet converted your data. Both until you enable it again.',
    }),
  },
  { title: 'UserPlugin' },
)
const AvailablePlugin = Type.Object(
  {
    pluginId: Uuid,
    name: Type.String(),
    displayName: Type.String(),
    description: Text,
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

const consentView = ({ sha256, record }: OfferedPlugin['consent']) => ({
  sha256,
  lines: describeForUser(record, record.configuredHosts),
  record,
})

function userPluginView({ services }: Call<Services>, { own, plugin, authStatus, signInReady, consent, pause }: OwnPlugin) {
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
    healthStatus: own.authFailedAt === null ? services.plugins.healthOf(plugin) : 'unhealthy',
    capabilities: capabilitiesOf(manifest),
    config: own.config,
    userConfigSchema: settingsOf(manifest),
    requiresOauth: credentialTypeOf(manifest) === 'oauth2',
    oauthConfigured: signInReady,
    credentialType: credentialTypeOf(manifest),
    credentialsHost: credentialTypeOf(manifest) === null ? null : destinationOf(services.plugins.authOf(plugin)),
    externalUsername: own.externalUsername,
    externalAvatarUrl: null,
    userSetupInstructions: manifest.description ?? null,
    lastSuccessAt: own.lastSuccessAt?.toISOString() ?? null,
    lastSyncAt: null,
    lastSyncResult: null,
    createdAt: own.createdAt.toISOString(),
    consent: consentView(consent),
    agreed: {
      sha256: own.agreedSha256,
      at: own.agreedAt.toISOString(),
      differences: differencesOf(own.agreedRecord as object, consent.record),
    },
    pause,
  }
}

const offeredPluginView = ({ plugin, signInReady, consent }: OfferedPlugin) => ({
  pluginId: plugin.id,
  name: plugin.key,
  displayName: plugin.manifest.name,
  description: plugin.manifest.summary,
  capabilities: capabilitiesOf(plugin.manifest),
  requiresOauth: credentialTypeOf(plugin.manifest) === 'oauth2',
  oauthConfigured: signInReady,
  userSetupInstructions: plugin.manifest.description ?? null,
  consent: consentView(consent),
})

const Destination = {
  credentialsHost: Type.Optional(
    Type.String({
      maxLength: 300,
      description: 'The expected destination of the credentials, as in credentialsHost; 409 if it has changed meanwhile.',
    }),
  ),
}

/** Documents the shape for client authors, although no plugin syncs progress yet. */
const SyncStatus = Noun('SyncStatus')({
  ...{ pluginId: Uuid, pluginName: Type.String(), enabled: Type.Boolean(), connected: Type.Boolean(), healthStatus: Type.String() },
  ...{ failureCount: Count, lastFailureAt: Nullable(Timestamp), lastSuccessAt: Nullable(Timestamp), lastSyncAt: Nullable(Timestamp) },
  ...{ externalCount: Nullable(Count), pendingPull: Nullable(Count), pendingPush: Nullable(Count), conflicts: Nullable(Count) },
  liveError: Text,
})

export const userPluginRoutes = [
  endpoint({
    method: 'GET',
    path,
    summary: 'List the plugins that I have enabled or could enable',
    tag,
    allow: read,
    reply: Type.Object({ enabled: Type.Array(UserPlugin), available: Type.Array(AvailablePlugin) }),
    run: async (call) => {
      const { enabled, available } = await call.services.userPlugins.list(call.caller.userId)
      return { enabled: enabled.map((one) => userPluginView(call, one)), available: available.map(offeredPluginView) }
    },
  }),
  stream({
    path: CALLBACK,
    changes: 'credentials at a service',
    takesAnyQuery: true,
    summary: 'Complete the sign-in at a service, which redirects the browser here; a page that closes itself',
    tag,
    // The state and the browser's key prove it together. The session cookie identifies the user, if somebody is signed in.
    allow: { who: 'public', cookie: true },
    query: Type.Object({
      state: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX })),
      code: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX })),
      error: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX })),
    }),
    mediaTypes: ['text/html'],
    untagged: true,
    refusesWithPage: true,
    run: async ({ services, caller, cookie, setHeader }, { query }) => {
      try {
        const { state, code, error } = query
        const cookieName = signInCookieName(state ?? '')
        const browserKey = cookie(cookieName)
        if (browserKey !== null)
          setHeader('Set-Cookie', signInCookie(cookieName, { key: '', seconds: 0, isSecure: services.settings.cookieSecure }))
        const { name } = await services.userPlugins.finishSignIn({ state, code, error, browserKey, userId: caller?.userId ?? null })
        return signInPage({ connected: name })
      } catch (failure) {
        if (failure instanceof SignInError) return signInPage({ failure: failure.message })
        throw failure
      }
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/:pluginId`,
    summary: 'Get one of my plugins',
    tag,
    allow: read,
    params: PluginId,
    reply: UserPlugin,
    run: async (call, { params }) => userPluginView(call, await call.services.userPlugins.get(call.caller.userId, params.pluginId)),
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/:pluginId`,
    summary: 'Disconnect a plugin and delete all its data about me',
    tag,
    allow: write,
    status: 204,
    params: PluginId,
    run: async (call, { params }) => {
      await call.services.userPlugins.disconnect(call.caller.userId, params.pluginId)
      return undefined
    },
  }),
  endpoint({
    method: 'POST',
    path: `${path}/:pluginId/enable`,
    summary: 'Enable a plugin for me: I agree to what it asks for',
    tag,
    allow: write,
    params: PluginId,
    body: Type.Object({
      sha256: Type.Optional(
        Type.String({
          pattern: '^[0-9a-f]{64}$',
          maxLength: 64,
          description:
            'The sha256 of the consent that I have read; 409 if it is another by now. Without it the first time, I agree to what GET shows; it is required when the plugin asks for something else than I agreed to.',
        }),
      ),
    }),
    bodyOptional: true,
    reply: UserPlugin,
    run: async (call, { params, body }) =>
      userPluginView(call, await call.services.userPlugins.enable(call.caller.userId, params.pluginId, body.sha256)),
  }),
  endpoint({
    method: 'POST',
    path: `${path}/:pluginId/disable`,
    summary: 'Disable a plugin for me; keeps its data',
    tag,
    allow: write,
    params: PluginId,
    reply: UserPlugin,
    run: async (call, { params }) => userPluginView(call, await call.services.userPlugins.disable(call.caller.userId, params.pluginId)),
  }),
  endpoint({
    method: 'PATCH',
    path: `${path}/:pluginId/config`,
    summary: 'Set my configuration of a plugin; replaces the whole configuration',
    tag,
    allow: write,
    params: PluginId,
    body: Type.Object({ config: FreeObject() }),
    reply: UserPlugin,
    run: async (call, { params, body }) =>
      userPluginView(call, await call.services.userPlugins.configure(call.caller.userId, params.pluginId, body.config)),
  }),
  endpoint({
    method: 'POST',
    path: `${path}/:pluginId/credentials`,
    summary: 'Set my credentials for the service of a plugin; they are stored encrypted and never returned',
    tag,
    allow: write,
    params: PluginId,
    body: Type.Union([
      Type.Object({
        accessToken: Secret({ maxLength: TEXT_LENGTH_MAX, description: 'A token that you have created manually.' }),
        ...Destination,
      }),
      Type.Object({
        ...{ username: Type.String({ ...UNTRIMMED, maxLength: TEXT_LENGTH_MAX }), password: Secret({ maxLength: TEXT_LENGTH_MAX }) },
        ...Destination,
      }),
    ]),
    reply: UserPlugin,
    run: async (call, { params, body: { credentialsHost, ...given } }) =>
      userPluginView(call, await call.services.userPlugins.setCredentials(call.caller.userId, params.pluginId, given, credentialsHost)),
  }),
  endpoint({
    method: 'POST',
    path: `${path}/:pluginId/oauth/start`,
    summary: 'Start a sign-in at the service of a plugin: returns the address to open; only this browser can complete it',
    tag,
    allow: write,
    params: PluginId,
    reply: Type.Object({ redirectUrl: Type.String() }),
    run: async (call, { params }) => {
      const { userId } = call.caller
      const origin = call.origin ?? refuse('invalid_request', 'The request has no Host header, so the address of this server is unknown.')
      const { redirectUrl, cookieName, browserKey, seconds } = await call.services.userPlugins.beginSignIn(
        userId,
        params.pluginId,
        `${origin}${CALLBACK}`,
      )
      const isSecure = call.services.settings.cookieSecure || origin.startsWith('https:')
      call.setHeader('Set-Cookie', signInCookie(cookieName, { key: browserKey, seconds, isSecure }))
      return { redirectUrl }
    },
  }),
  endpoint({
    method: 'POST',
    path: `${path}/:pluginId/sync`,
    summary: 'Sync reading progress to a service: refused, since no plugin supports it yet',
    tag,
    allow: write,
    params: PluginId,
    reply: Type.Object({ taskId: Uuid, message: Type.String() }),
    run: async (call, { params }) => {
      const { plugin } = await call.services.userPlugins.get(call.caller.userId, params.pluginId)
      return refuse('conflict', `${plugin.manifest.name} does not sync reading progress; no plugin of this server does.`)
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/:pluginId/sync/status`,
    summary: 'Get the state of syncing reading progress: 404, since no plugin supports it yet',
    tag,
    allow: read,
    params: PluginId,
    query: Type.Object({ live: Type.Optional(Type.Boolean({ description: 'Also query the service.' })) }),
    reply: SyncStatus,
    run: async (call, { params }) => {
      const { plugin } = await call.services.userPlugins.get(call.caller.userId, params.pluginId)
      return refuse('not_found', `${plugin.manifest.name} does not sync reading progress, so it has no sync status.`)
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/:pluginId/tasks`,
    summary: 'Get the last task of a plugin for me',
    tag,
    allow: read,
    params: PluginId,
    query: Type.Object({ type: Type.Optional(Type.String({ maxLength: 100 })) }),
    reply: Type.Object({
      taskId: Uuid,
      taskType: Type.String(),
      status: Type.String(),
      createdAt: Timestamp,
      startedAt: Nullable(Timestamp),
      completedAt: Nullable(Timestamp),
      error: Text,
      result: Type.Unknown(),
    }),
    run: async (call, { params, query }) => {
      const { userId } = call.caller
      const { plugin } = await call.services.userPlugins.get(userId, params.pluginId)
      const isMatch = query.type === undefined || query.type === 'refresh_recommendations'
      const taskId = isMatch ? await findLastRefresh(call.services.database, { userId, pluginId: plugin.id }) : null
      if (taskId === null) return refuse('not_found', `There is no recorded task of ${plugin.manifest.name} for you.`)
      const { id, taskType, status, createdAt, startedAt, completedAt, lastError, result } = await getTask(call.services.database, taskId)
      return { taskId: id, taskType, status, createdAt, startedAt, completedAt, error: lastError, result }
    },
  }),
]
