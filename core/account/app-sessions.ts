import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Knex } from 'knex'
import { type AppSessionProof, findAppSession, openAppSession } from '#core/account/app-session-store.ts'
import { openFreshCache } from '#core/database/fresh-cache.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'

/** People open a reading app every few days; until then its session lasts without a password. */
const SESSION_MS = 7 * 86_400_000
/** Per user: every device has a handful of apps. */
const SESSIONS_MAX = 50
/** How long another process may still accept a session that was ended in this one. */
const FRESH_MS = 5_000
/** Some 5,000 apps: more than are ever signed in at the same time. */
const REMEMBERED_BYTES_MAX = 10 * 1024 * 1024
/** The id of the session in 22 letters, and a signature that only this server can make. */
const TOKEN = /^[\w-]{22}\.[\w-]{43}$/

/** The credential that opens a session. */
export interface SessionCredential {
  userId: string
  /** The hash that the password matched; null when the client sent an API key. */
  passwordHash: string | null
  apiKeyId: string | null
}

/** An open session; the cookie of a `remembered` one outlives the app's process. */
export interface AppSession {
  token: string
  expiresAt: Date
  remembered: boolean
}

/** Sessions of client apps, which send a password or a key once and a token from then on. */
export interface AppSessions {
  /** The session of a token; null when the token is not ours or its session has ended. Forged tokens cost no query. */
  find(token: string): Promise<AppSessionProof | null>
  /**
   * The session for a password or a key: every client that sends the same credential gets the same session, so that apps without cookies do not
   * add one with every request, nor one for every node. Null when the credential is not valid any more.
   */
  begin(credential: SessionCredential, remembered: boolean): Promise<AppSession | null>
  /** Drops the cached sessions of a user; without a user, all of them. */
  forget(userId?: string): void
}

/** @param options.key at least 32 bytes; the same on every node. @param options.rememberedDays how long a remembered session lasts */
export function openAppSessions(options: { database: Knex; key: Uint8Array; rememberedDays: number }): AppSessions {
  const { database, rememberedDays } = options
  const key = Buffer.from(hkdfSync('sha256', options.key, '', 'carrel app sessions', 32))
  const sign = (name: string) => createHmac('sha256', key).update(name).digest('base64url')
  const begun = new BoundedCache<{ userId: string; running: Promise<AppSession | null> }>({ bytesMax: REMEMBERED_BYTES_MAX })
  const known = openFreshCache<AppSessionProof>({
    bytesMax: REMEMBERED_BYTES_MAX,
    freshMs: FRESH_MS,
    load: (sessionId) => findAppSession(database, sessionId),
  })

  async function make(credential: SessionCredential, remembered: boolean): Promise<AppSession | null> {
    const now = Date.now()
    const [expiresAt, freshUntil] = [new Date(now + lifeMs(remembered)), new Date(now + lifeMs(remembered) / 2)]
    const opened = await openAppSession(database, { ...credential, remembered, expiresAt, freshUntil, sessionsMax: SESSIONS_MAX })
    if (opened === null) return null
    const name = nameOf(opened.sessionId)
    return { token: `${name}.${sign(name)}`, expiresAt: opened.expiresAt, remembered }
  }
  const lifeMs = (remembered: boolean) => (remembered ? rememberedDays * 86_400_000 : SESSION_MS)

  return {
    async find(token) {
      if (!TOKEN.test(token)) return null
      const [name = '', signature = ''] = token.split('.')
      return timingSafeEqual(Buffer.from(signature), Buffer.from(sign(name))) ? await known.get(sessionOf(name)) : null
    },

    async begin(credential, remembered) {
      const id = JSON.stringify([credential.userId, credential.apiKeyId ?? credential.passwordHash, remembered])
      const running = begun.get(id)?.running
      const present = await running?.catch(() => null)
      // In its second half a session is replaced by a new one, so that an app in use never meets an expired one. Another node may have ended it.
      if (present && present.expiresAt.getTime() - Date.now() > lifeMs(remembered) / 2 && (await known.get(sessionOf(present.token))))
        return present
      // Of several concurrent requests, the first opens it.
      const meanwhile = begun.get(id)?.running
      const making = meanwhile !== undefined && meanwhile !== running ? meanwhile : make(credential, remembered)
      begun.set(id, { userId: credential.userId, running: making })
      const session = await making.catch((error: unknown) => {
        begun.delete(id)
        throw error
      })
      if (session === null) begun.delete(id)
      return session
    },

    forget(userId) {
      begun.forget((one) => userId === undefined || one.userId === userId)
      known.forget(({ user }) => userId === undefined || user.id === userId)
    },
  }
}

const nameOf = (sessionId: string): string => Buffer.from(sessionId.replaceAll('-', ''), 'hex').toString('base64url')

/** The session id in a name, or in a token, which begins with that name. */
function sessionOf(token: string): string {
  const digits = Buffer.from(token.slice(0, 22), 'base64url').toString('hex')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
