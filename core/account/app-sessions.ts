import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Knex } from 'knex'
import { type AppSessionProof, findAppSession, findOrInsertAppSession } from '#core/account/app-session-store.ts'
import { FreshCache } from '#core/database/fresh-cache.ts'
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
export class AppSessions {
  readonly #database: Knex
  readonly #key: Buffer
  readonly #rememberedMs: number
  readonly #begun = new BoundedCache<{ userId: string; running: Promise<AppSession | null> }>({ bytesMax: REMEMBERED_BYTES_MAX })
  readonly #known: FreshCache<AppSessionProof>

  /** @param options.key at least 32 bytes; the same on every node. @param options.rememberedDays how long a remembered session lasts */
  constructor({ database, key, rememberedDays }: { database: Knex; key: Uint8Array; rememberedDays: number }) {
    this.#database = database
    this.#key = Buffer.from(hkdfSync('sha256', key, '', 'carrel app sessions', 32))
    this.#rememberedMs = rememberedDays * 86_400_000
    const load = (sessionId: string) => findAppSession(database, sessionId)
    this.#known = new FreshCache({ bytesMax: REMEMBERED_BYTES_MAX, freshMs: FRESH_MS, load })
  }

  /** The session of a token; null when the token is not ours or its session has ended. Forged tokens cost no query. */
  async find(token: string): Promise<AppSessionProof | null> {
    if (!TOKEN.test(token)) return null
    const [name = '', signature = ''] = token.split('.')
    return timingSafeEqual(Buffer.from(signature), Buffer.from(this.#sign(name))) ? await this.#known.get(sessionOf(name)) : null
  }

  /**
   * The session for a password or a key: every client that sends the same credential gets the same session, so that apps without cookies do not
   * add one with every request, nor one for every node. Null when the credential is not valid any more.
   */
  async begin(credential: SessionCredential, remembered: boolean): Promise<AppSession | null> {
    const id = JSON.stringify([credential.userId, credential.apiKeyId ?? credential.passwordHash, remembered])
    const running = this.#begun.get(id)?.running
    const present = await running?.catch(() => null)
    // In its second half a session is replaced by a new one, so that an app in use never meets an expired one. Another node may have ended it.
    const isYoung = present != null && present.expiresAt.getTime() - Date.now() > this.#lifeMs(remembered) / 2
    if (isYoung && (await this.#known.get(sessionOf(present.token)))) return present
    // Of several concurrent requests, the first opens it.
    const meanwhile = this.#begun.get(id)?.running
    const making = meanwhile !== undefined && meanwhile !== running ? meanwhile : this.#make(credential, remembered)
    this.#begun.set(id, { userId: credential.userId, running: making })
    const session = await making.catch((error: unknown) => {
      this.#begun.delete(id)
      throw error
    })
    if (session === null) this.#begun.delete(id)
    return session
  }

  /** Drops the cached sessions of a user; without a user, all of them. */
  forget(userId?: string): void {
    this.#begun.forget((one) => userId === undefined || one.userId === userId)
    this.#known.forget(({ user }) => userId === undefined || user.id === userId)
  }

  async #make(credential: SessionCredential, remembered: boolean): Promise<AppSession | null> {
    const now = Date.now()
    const lifeMs = this.#lifeMs(remembered)
    const [expiresAt, freshUntil] = [new Date(now + lifeMs), new Date(now + lifeMs / 2)]
    const made = await findOrInsertAppSession(this.#database, {
      ...credential,
      remembered,
      expiresAt,
      freshUntil,
      sessionsMax: SESSIONS_MAX,
    })
    if (made === null) return null
    const name = nameOf(made.sessionId)
    return { token: `${name}.${this.#sign(name)}`, expiresAt: made.expiresAt, remembered }
  }

  #lifeMs(remembered: boolean): number {
    return remembered ? this.#rememberedMs : SESSION_MS
  }

  #sign(name: string): string {
    return createHmac('sha256', this.#key).update(name).digest('base64url')
  }
}

const nameOf = (sessionId: string): string => Buffer.from(sessionId.replaceAll('-', ''), 'hex').toString('base64url')

/** The session id in a name, or in a token, which begins with that name. */
function sessionOf(token: string): string {
  const digits = Buffer.from(token.slice(0, 22), 'base64url').toString('hex')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
