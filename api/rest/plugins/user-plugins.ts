import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import { PluginId, takingPluginIds } from '#api/rest/plugins/plugin-reference.ts'
import { signInPage } from '#api/views/sign-in-page.ts'
import { AvailablePluginView, offeredPluginView, UserPluginView, userPluginView } from '#api/views/user-plugin-view.ts'
import { refuseNarrowed } from '#core/account/access-store.ts'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { FreeObject, Noun, Nullable, Secret, Timestamp, UNTRIMMED, Uuid } from '#core/foundation/schema.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { findLastRefresh } from '#core/recommendations/recommendation-store.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { SignInError, signInCookieName } from '#plugins/credentials/sign-in.ts'

type Services = Pick<DataServices, 'database' | 'settings'> & Pick<PluginServices, 'plugins' | 'userPlugins'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const tag = 'plugins'
// Plugins of a user read the user's progress and act on it, and their settings and results are data of the same kind.
const read = { who: 'progress-read' } as const
const write = { who: 'progress-write', also: ['progress-read'] } as const
const Text = Nullable(Type.String())
const Count = Type.Integer({ minimum: 0 })
const path = '/api/v1/user/plugins'
const CALLBACK = `${path}/oauth/callback`
const TEXT_LENGTH_MAX = 10_000

/** SameSite=Lax: a service redirects the browser back from another site. The path limits the cookie to the end of the sign-in. */
const signInCookie = (name: string, { key, seconds, isSecure }: { key: string; seconds: number; isSecure: boolean }): string =>
  `${name}=${key}; Path=${CALLBACK}; HttpOnly; SameSite=Lax; Max-Age=${seconds}${isSecure ? '; Secure' : ''}`

/** A plugin reads what its user sees, and may send it to a service: the account there must be of somebody who sees the same. */
const before = ({ services, caller }: { services: Services; caller: Caller }) =>
  refuseNarrowed(services.database, caller, 'enable or connect plugins')

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
  pluginId: Uuid,
  pluginName: Type.String(),
  enabled: Type.Boolean(),
  connected: Type.Boolean(),
  healthStatus: Type.String(),
  failureCount: Count,
  lastFailureAt: Nullable(Timestamp),
  lastSuccessAt: Nullable(Timestamp),
  lastSyncAt: Nullable(Timestamp),
  externalCount: Nullable(Count),
  pendingPull: Nullable(Count),
  pendingPush: Nullable(Count),
  conflicts: Nullable(Count),
  liveError: Text,
})

export const userPluginRoutes = takingPluginIds([
  endpoint({
    name: 'listMyPlugins',
    method: 'GET',
    path,
    summary: 'List the plugins that I have enabled or could enable',
    tag,
    allow: read,
    reply: Type.Object({ enabled: Type.Array(UserPluginView), available: Type.Array(AvailablePluginView) }),
    run: async (call) => {
      const { enabled, available } = await call.services.userPlugins.list(call.caller.userId)
      return { enabled: enabled.map((one) => userPluginView(call.services.plugins, one)), available: available.map(offeredPluginView) }
    },
  }),
  stream({
    name: 'finishMyPluginOauth',
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
    name: 'getMyPlugin',
    method: 'GET',
    path: `${path}/:pluginId`,
    summary: 'Get one of my plugins',
    tag,
    allow: read,
    params: PluginId,
    reply: UserPluginView,
    run: async (call, { params }) =>
      userPluginView(call.services.plugins, await call.services.userPlugins.get(call.caller.userId, params.pluginId)),
  }),
  endpoint({
    name: 'deleteMyPlugin',
    method: 'DELETE',
    path: `${path}/:pluginId`,
    summary: 'Disconnect a plugin and delete all its data about me',
    tag,
    allow: write,
    status: 204,
    params: PluginId,
    run: (call, { params }) => call.services.userPlugins.disconnect(call.caller.userId, params.pluginId),
  }),
  endpoint({
    name: 'enableMyPlugin',
    method: 'POST',
    path: `${path}/:pluginId/enable`,
    summary: 'Enable a plugin for me: I agree to what it asks for',
    tag,
    allow: write,
    before,
    params: PluginId,
    body: Type.Object({
      sha256: Type.Optional(
        Type.String({
          pattern: '^[0-9a-f]{64}$',
          maxLength: 64,
          description:
            'The sha256 in the consent that I have read, 64 hexadecimal digits, not that of the package; 409 if it is another by now. Without it the first time, I agree to what GET /api/v1/user/plugins has shown me last, or if it never did, to what it asks for now, and 409 means that it is another by now; it is required when the plugin asks for something else than I agreed to.',
        }),
      ),
    }),
    bodyOptional: true,
    reply: UserPluginView,
    run: async (call, { params, body }) =>
      userPluginView(call.services.plugins, await call.services.userPlugins.enable(call.caller.userId, params.pluginId, body.sha256)),
  }),
  endpoint({
    name: 'disableMyPlugin',
    method: 'POST',
    path: `${path}/:pluginId/disable`,
    summary: 'Disable a plugin for me; keeps its data',
    tag,
    allow: write,
    params: PluginId,
    reply: UserPluginView,
    run: async (call, { params }) =>
      userPluginView(call.services.plugins, await call.services.userPlugins.disable(call.caller.userId, params.pluginId)),
  }),
  endpoint({
    name: 'patchMyPluginConfig',
    method: 'PATCH',
    path: `${path}/:pluginId/config`,
    summary: 'Set my configuration of a plugin; replaces all but secret settings that are left out; an empty text deletes a secret one',
    tag,
    allow: write,
    before,
    params: PluginId,
    body: Type.Object({ config: FreeObject() }),
    reply: UserPluginView,
    run: async (call, { params, body }) =>
      userPluginView(call.services.plugins, await call.services.userPlugins.configure(call.caller.userId, params.pluginId, body.config)),
  }),
  endpoint({
    name: 'putMyPluginCredentials',
    method: 'POST',
    path: `${path}/:pluginId/credentials`,
    summary: 'Set my credentials for the service of a plugin; they are stored encrypted and never returned',
    tag,
    allow: write,
    before,
    params: PluginId,
    body: Type.Union([
      Type.Object({
        accessToken: Secret({ maxLength: TEXT_LENGTH_MAX, description: 'A token that you have created manually.' }),
        ...Destination,
      }),
      Type.Object({
        username: Type.String({ ...UNTRIMMED, maxLength: TEXT_LENGTH_MAX }),
        password: Secret({ maxLength: TEXT_LENGTH_MAX }),
        ...Destination,
      }),
    ]),
    reply: UserPluginView,
    run: async (call, { params, body: { credentialsHost, ...given } }) =>
      userPluginView(
        call.services.plugins,
        await call.services.userPlugins.setCredentials(call.caller.userId, params.pluginId, given, credentialsHost),
      ),
  }),
  endpoint({
    name: 'startMyPluginOauth',
    method: 'POST',
    path: `${path}/:pluginId/oauth/start`,
    summary: 'Start a sign-in at the service of a plugin: returns the address to open; only this browser can complete it',
    tag,
    allow: write,
    before,
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
    name: 'syncMyPlugin',
    method: 'POST',
    path: `${path}/:pluginId/sync`,
    summary: 'Sync reading progress to a service: refused, since no plugin supports it yet',
    tag,
    allow: write,
    params: PluginId,
    reply: Type.Object({ taskId: Uuid, message: Type.String() }),
    run: async (call, { params }) => {
      const { plugin } = await call.services.userPlugins.get(call.caller.userId, params.pluginId)
      return refuse('conflict', `${quotedText(plugin.manifest.name)} does not sync reading progress; no plugin of this server does.`)
    },
  }),
  endpoint({
    name: 'getMyPluginSyncStatus',
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
      return refuse('not_found', `${quotedText(plugin.manifest.name)} does not sync reading progress, so it has no sync status.`)
    },
  }),
  endpoint({
    name: 'listMyPluginTasks',
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
      if (taskId === null) return refuse('not_found', `There is no recorded task of ${quotedText(plugin.manifest.name)} for you.`)
      const { id, taskType, status, createdAt, startedAt, completedAt, lastError, result } = await getTask(
        call.services.database,
        taskId,
        call.caller,
      )
      return { taskId: id, taskType, status, createdAt, startedAt, completedAt, error: lastError, result }
    },
  }),
])
