import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import { type AppSessionProof, findAppSession, openAppSession } from '#core/account/app-session-store.ts'
import { openFreshCache } from '#core/database/fresh-cache.ts'
import { bounded } from '#core/foundation/bounded.ts'

/** A reader app is opened every few days; until then its session lasts without a password. */
const SESSION_MS = 7 * 86_400_000
/** Of one user at once: every device has a handful of apps. */
const SESSIONS_MAX = 50
/** How long another process may still believe in a session that was ended here. */
const FRESH_MS = 5_000
/** More apps than are ever signed in at once. */
const REMEMBERED_MAX = 10_000
/** The id of the session in 22 letters, and what only this server can have made of it. */
const TOKEN = /^[\w-]{22}\.[\w-]{43}$/

/** What a session was begun with. */
export interface SessionGround {
  userId: string
  /** What the password was checked against; null when an API key was shown. */
  passwordHash: string | null
  apiKeyId: string | null
}

/** A session that was begun; `remembered` ones outlive the app that was given them. */
export interface AppSession {
  token: string
  expiresAt: Date
  remembered: boolean
}

/** Sessions of reader apps, which show a password or a key once and a token from then on. */
export interface AppSessions {
  /** The session of a token; null for one that is not ours or has ended. Forged tokens cost the database nothing. */
  find(token: string): Promise<AppSessionProof | null>
  /**
   * The session that stands for a password or a key: the same one for everybody who shows it, so that apps that keep no cookie do not leave one behind
   * with every request, nor one for every node. Null when it does not count any more.
   */
  begin(ground: SessionGround, remembered: boolean): Promise<AppSession | null>
  /** Nothing remembered of a user is believed any more; without one, of anybody. */
  forget(userId?: string): void
}

/** @param options.key at least 32 bytes; the same on every node. @param options.rememberedDays how long a remembered session lasts */
export function openAppSessions(options: { database: Knex; key: Uint8Array; rememberedDays: number }): AppSessions {
  const { database, rememberedDays } = options
  const key = Buffer.from(hkdfSync('sha256', options.key, '', 'carrel app sessions', 32))
  const sign = (name: string) => createHmac('sha256', key).update(name).digest('base64url')
  const begun = new LRUCache<string, { userId: string; running: Promise<AppSession | null> }>(bounded(REMEMBERED_MAX))
  const known = openFreshCache<AppSessionProof>({
    max: REMEMBERED_MAX,
    freshMs: FRESH_MS,
    load: (sessionId) => findAppSession(database, sessionId),
  })

  async function make(ground: SessionGround, remembered: boolean): Promise<AppSession | null> {
    const now = Date.now()
    const [expiresAt, freshUntil] = [new Date(now + lifeMs(remembered)), new Date(now + lifeMs(remembered) / 2)]
    const opened = await openAppSession(database, { ...ground, remembered, expiresAt, freshUntil, sessionsMax: SESSIONS_MAX })
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

    async begin(ground, remembered) {
      const id = JSON.stringify([ground.userId, ground.apiKeyId ?? ground.passwordHash, remembered])
      const running = begun.get(id)?.running
      const present = await running?.catch(() => null)
      // In its second half it is followed by a new one, so that an app in use never finds its session over. Another node may have ended it.
      if (present && present.expiresAt.getTime() - Date.now() > lifeMs(remembered) / 2 && (await known.get(sessionOf(present.token))))
        return present
      // Of several requests at once the first makes it.
      const meanwhile = begun.get(id)?.running
      const making = meanwhile !== undefined && meanwhile !== running ? meanwhile : make(ground, remembered)
      begun.set(id, { userId: ground.userId, running: making })
      const session = await making.catch((error: unknown) => {
        begun.delete(id)
        throw error
      })
      if (session === null) begun.delete(id)
      return session
    },

    forget(userId) {
      for (const [id, one] of begun) if (userId === undefined || one.userId === userId) begun.delete(id)
      known.forget(({ user }) => userId === undefined || user.id === userId)
    },
  }
}

const nameOf = (sessionId: string): string => Buffer.from(sessionId.replaceAll('-', ''), 'hex').toString('base64url')

/** The id that a name, or a token that begins with it, stands for. */
function sessionOf(token: string): string {
  const digits = Buffer.from(token.slice(0, 22), 'base64url').toString('hex')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
