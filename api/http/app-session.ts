import { APP_SESSION_COOKIES } from '#api/http/authentication.ts'
import type { Call } from '#api/http/endpoint.ts'
import { readFlag } from '#api/http/query.ts'
import type { Accounts } from '#core/account/accounts.ts'
import type { AppSession } from '#core/account/app-sessions.ts'
import type { Caller } from '#core/account/caller.ts'

interface Services {
  accounts: Pick<Accounts, 'callers'>
  settings: { cookieSecure: boolean }
}

/**
 * Starts a session for an app that has just signed in with a password or an API key: sets a cookie for all addresses below the first
 * part of this path, and a header. With `remember-me=true` it also sets a cookie that outlives the app.
 */
export async function startAppSession(call: Call<Services, Caller | null>): Promise<void> {
  const { caller, services } = call
  const sentToken = call.header('x-auth-token')
  if (caller === null || (caller.via !== 'basic' && caller.via !== 'api_key')) {
    if (caller?.sessionId !== undefined && sentToken) call.setHeader('X-Auth-Token', sentToken)
    return
  }
  const begin = (remembered: boolean) => services.accounts.callers.beginAppSession(caller, { remembered })
  const session = await begin(false)
  if (session === null) return
  const isNew = call.cookie(APP_SESSION_COOKIES.running) !== session.token
  if (isNew) call.setHeader('Set-Cookie', cookieOf(call, session))
  if (isNew || sentToken !== null) call.setHeader('X-Auth-Token', session.token)
  if (readFlag(new URLSearchParams(call.rawQuery).get('remember-me') ?? '') !== true) return
  const remembered = await begin(true)
  if (remembered !== null) call.setHeader('Set-Cookie', cookieOf(call, remembered))
}

/** Ends the session of the app. */
export function endAppSession(call: Call<Services, Caller | null>): void {
  for (const remembered of [false, true]) call.setHeader('Set-Cookie', cookieOf(call, { token: '', expiresAt: new Date(0), remembered }))
}

/** Never sent from other sites and not readable by scripts. Without Max-Age it lasts as long as the app runs. */
function cookieOf({ path, services }: Call<Services, Caller | null>, { token, expiresAt, remembered }: AppSession): string {
  const name = remembered ? APP_SESSION_COOKIES.remembered : APP_SESSION_COOKIES.running
  const seconds = Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1000))
  const age = remembered || token === '' ? `; Max-Age=${seconds}` : ''
  const place = `/${path.split('/')[1] ?? ''}`
  return `${name}=${token}; Path=${place}; HttpOnly; SameSite=Strict${age}${services.settings.cookieSecure ? '; Secure' : ''}`
}
