import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { authCookie, DEVICE_COOKIE, deviceCookie, sessionCookie } from '#api/http/authentication.ts'
import { endpointOf, type Route } from '#api/http/endpoint.ts'
import { renewSessionCookie, SESSION_KIND, signInWith, withTokens } from '#api/rest/account/signing-in.ts'
import { PASSWORD_LENGTH_MAX } from '#core/account/password.ts'
import { BrowserSignedIn, SignedIn } from '#core/account/sign-in.ts'
import { UserDetail, UserInfo, userInfo } from '#core/account/user.ts'
import { Noun, Secret } from '#core/foundation/schema.ts'

type Services = AccountServices & Pick<DataServices, 'settings'>
const endpoint = endpointOf<Services>()

const Message = Noun('Message')({ message: Type.String() })

export const authRoutes: Route<Services>[] = [
  endpoint({
    name: 'login',
    method: 'POST',
    path: '/api/v1/auth/login',
    changes: 'sessions',
    setsCookie: true,
    summary: 'Sign in with a user name or e-mail address; also sets the cookie for pictures and files, or that of a session',
    tag: 'auth',
    allow: { who: 'public' },
    body: Type.Object({
      username: Type.String({ minLength: 1, maxLength: 254 }),
      password: Secret({ minLength: 1, maxLength: PASSWORD_LENGTH_MAX }),
      ...SESSION_KIND,
    }),
    reply: Type.Union([SignedIn, BrowserSignedIn]),
    run: (call, { body: { session, ...body } }) => {
      const { address } = call
      const keep = (token: string) => call.setHeader('Set-Cookie', deviceCookie(token, { secure: call.services.settings.cookieSecure }))
      const device = { token: call.cookie(DEVICE_COOKIE), store: keep }
      return signInWith(call, session, (request) => call.services.accounts.login({ ...body, address, device }, request))
    },
  }),
  endpoint({
    name: 'refreshTokens',
    method: 'POST',
    path: '/api/v1/auth/refresh',
    changes: 'sessions',
    setsCookie: true,
    summary: 'Exchange a refresh token for new tokens. Each works once; using one twice ends the session',
    tag: 'auth',
    allow: { who: 'public' },
    body: Type.Object({ refreshToken: Type.String({ minLength: 1, maxLength: 200 }) }),
    reply: SignedIn,
    run: async (call, { body }) => withTokens(call, await call.services.accounts.refresh(body.refreshToken)),
  }),
  endpoint({
    name: 'logout',
    method: 'POST',
    path: '/api/v1/auth/logout',
    changes: 'sessions',
    setsCookie: true,
    summary: 'Sign out: end this session, invalidate its tokens and clear the cookies',
    tag: 'auth',
    allow: { who: 'user' },
    reply: Message,
    run: async (call) => {
      await call.services.accounts.logout(call.caller)
      const secure = call.services.settings.cookieSecure
      call.setHeader('Set-Cookie', authCookie('', { maxAgeSeconds: 0, secure }))
      call.setHeader('Set-Cookie', sessionCookie('', { secure }))
      return { message: 'Signed out.' }
    },
  }),
  endpoint({
    name: 'getMe',
    method: 'GET',
    path: '/api/v1/auth/me',
    setsCookie: true,
    summary: 'Get the signed-in user and the permissions of this credential; renews the cookie of a session',
    tag: 'auth',
    allow: { who: 'user', cookie: true },
    reply: UserInfo,
    run: async (call) => {
      renewSessionCookie(call)
      const user = await call.services.accounts.getUser(call.caller.userId)
      return { ...userInfo(user), permissions: [...call.caller.permissions] }
    },
  }),
  endpoint({
    name: 'getMyUser',
    method: 'GET',
    path: '/api/v1/user',
    summary: 'Get the signed-in user with what they may see',
    tag: 'user',
    allow: { who: 'user' },
    reply: UserDetail,
    run: (call) => call.services.accounts.getUserDetail(call.caller.userId, call.caller),
  }),
]
