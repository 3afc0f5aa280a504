import type { Static } from 'typebox'
import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endAppSession, keepSessionAsCookie } from '#api/http/app-session.ts'
import { APP_SESSION_COOKIES } from '#api/http/authentication.ts'
import type { Call } from '#api/http/endpoint.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { KomgaUser, komgaUser, rolesOf } from '#api/komga/user-view.ts'
import { secondsOf } from '#api/komga/values.ts'
import type { ApiKey } from '#core/account/api-key.ts'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { NameText, Uuid } from '#core/foundation/schema.ts'

type Services = AccountServices & Pick<DataServices, 'settings'>
const komgaEndpoint = komgaEndpointOf<Services>()

const KomgaApiKey = Type.Object(
  {
    id: Type.String(),
    userId: Type.String(),
    key: Type.String({ description: 'Complete when the key is created; later only its beginning.' }),
    comment: Type.String(),
    createdDate: Type.String(),
    lastModifiedDate: Type.String(),
  },
  { title: 'KomgaApiKey' },
)
/** More than a user may have. */
const KEYS_MAX = 1_000

async function me({ services, caller }: Call<Services>): Promise<KomgaUser> {
  const user = await services.accounts.getUserDetail(caller.userId, caller)
  // Without the labels: they can say what is hidden.
  return komgaUser(user, rolesOf(user, caller.permissions), { ...user.access, sharingTags: [] })
}

const shownKey = (key: ApiKey, text = `${key.keyPrefix}…`): Static<typeof KomgaApiKey> => ({
  id: key.id,
  userId: key.userId,
  key: text,
  comment: key.name,
  createdDate: secondsOf(key.createdAt),
  lastModifiedDate: secondsOf(key.updatedAt),
})

async function logout(call: Call<Services, Caller | null>): Promise<void> {
  const { accounts } = call.services
  if (call.caller !== null) await accounts.logout(call.caller)
  for (const name of Object.values(APP_SESSION_COOKIES)) {
    const token = call.cookie(name)
    const caller = token === null ? null : await accounts.callers.ofAppSession(token)
    if (caller !== null) await accounts.logout(caller)
  }
  endAppSession(call)
}

export const komgaUserRoutes = [
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/users/me',
    summary: 'My account; `remember-me=true` also sets a long-lived cookie',
    who: 'user',
    query: Type.Object({ 'remember-me': Type.Optional(Type.Boolean()) }),
    reply: KomgaUser,
    run: me,
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/login/set-cookie',
    summary: 'Set the session cookie of an app, also if it sent the session as a header',
    who: 'user',
    status: 204,
    run: async (call) => {
      keepSessionAsCookie(call)
    },
  }),
  ...['/api/logout', '/api/v1/logout'].map((path) =>
    komgaEndpoint({
      method: 'POST',
      path,
      changes: 'sessions',
      summary: 'End the session of the app',
      // An app whose session has ended already still wants its cookie deleted.
      who: 'public',
      keepsSession: true,
      status: 204,
      run: logout,
    }),
  ),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/users/me/api-keys',
    summary: 'My API keys',
    who: 'api-keys-read',
    reply: Type.Array(KomgaApiKey),
    run: async (call) => {
      const { items } = await call.services.accounts.listApiKeys(call.caller, { offset: 0, limit: KEYS_MAX })
      return items.map((key) => shownKey(key))
    },
  }),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/users/me/api-keys',
    summary: 'Create an API key for an app',
    who: 'api-keys-write',
    body: Type.Object({ comment: NameText({ minLength: 1, maxLength: 200 }) }, { additionalProperties: true, maxProperties: 100 }),
    reply: KomgaApiKey,
    run: async (call, { body }) => {
      const { key, ...record } = await call.services.accounts.createApiKey({ name: body.comment }, call.caller)
      return shownKey(record, key)
    },
  }),
  komgaEndpoint({
    method: 'DELETE',
    path: '/api/v1/users/me/api-keys/:apiKeyId',
    summary: 'Delete one of my API keys',
    who: 'api-keys-delete',
    params: Type.Object({ apiKeyId: Uuid }),
    status: 204,
    run: async (call, { params }) => {
      const key = await call.services.accounts.getApiKey(params.apiKeyId, call.caller)
      if (key.userId !== call.caller.userId) refuse('not_found', 'You have no such API key.')
      await call.services.accounts.removeApiKey(key.id, call.caller)
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/claim',
    summary: 'Whether this server has an administrator',
    who: 'public',
    reply: Type.Object({ isClaimed: Type.Boolean() }),
    run: async (call) => ({ isClaimed: !(await call.services.accounts.needsSetup()) }),
  }),
]
