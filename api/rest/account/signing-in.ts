import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { authCookie, sessionCookie, sessionCookieName } from '#api/http/authentication.ts'
import { isOwnPage, NOT_OWN_PAGE } from '#api/http/cross-site.ts'
import type { Call } from '#api/http/endpoint.ts'
import type { Caller } from '#core/account/caller.ts'
import type { SessionKind } from '#core/account/session-store.ts'
import type { BrowserSignedIn, SessionRequest, SignedIn, SignInAnswers } from '#core/account/sign-in.ts'
import { refuse } from '#core/foundation/errors.ts'
import { OneOf } from '#core/foundation/schema.ts'

type SignInCall = Call<AccountServices & Pick<DataServices, 'settings'>, Caller | null>

/** The member of a sign-in that says which session it begins. */
export const SESSION_KIND = {
  session: Type.Optional({
    ...OneOf<SessionKind[]>(['tokens', 'cookie']),
    description:
      'How the session is proved: `tokens` (the default), or `cookie`, which only a page of this server may request and no script can read.',
  }),
}

/** Sets the cookie for pictures and files of a client with tokens, and returns the tokens. */
export function withTokens(call: SignInCall, signedIn: SignedIn): SignedIn {
  const { cookieSecure } = call.services.settings
  call.setHeader('Set-Cookie', authCookie(signedIn.accessToken, { maxAgeSeconds: signedIn.expiresIn, secure: cookieSecure }))
  return signedIn
}

/** Sends the cookie of a browser's session again: browsers delete the oldest ones, however often they are sent. */
export function renewSessionCookie(call: SignInCall): void {
  const secure = call.services.settings.cookieSecure
  const token = call.cookie(sessionCookieName(secure))
  if (call.caller?.via === 'browser_session' && token !== null) call.setHeader('Set-Cookie', sessionCookie(token, { secure }))
}

/**
 * Signs in with the session that the client asks for, and sets its cookie. It replaces the session that the browser had.
 * @throws forbidden when the page of another server asks for a cookie, and what `begin` throws
 */
export async function signInWith(
  call: SignInCall,
  kind: SessionKind = 'tokens',
  begin: (request: SessionRequest) => Promise<SignInAnswers[SessionKind]>,
): Promise<SignedIn | BrowserSignedIn> {
  const headers = { origin: call.header('origin') ?? undefined, 'sec-fetch-site': call.header('sec-fetch-site') ?? undefined }
  if (kind === 'cookie' && !isOwnPage({ headers, own: call.origin })) refuse('forbidden', NOT_OWN_PAGE)
  const signedIn = await begin({ kind, userAgent: call.header('user-agent') })
  if ('accessToken' in signedIn) return withTokens(call, signedIn)
  if (call.caller?.via === 'browser_session') await call.services.accounts.logout(call.caller)
  const secure = call.services.settings.cookieSecure
  call.setHeader('Set-Cookie', sessionCookie(signedIn.cookieToken, { secure }))
  // It may be of somebody else.
  call.setHeader('Set-Cookie', authCookie('', { maxAgeSeconds: 0, secure }))
  return { user: signedIn.user }
}
