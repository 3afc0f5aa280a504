import { createHmac, randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { type ApiKeyRecord, findKeyPrefix, isApiKey } from '#core/account/api-key.ts'
import { type ApiKeyProof, findApiKeyByPrefix, recordApiKeyUses } from '#core/account/api-key-store.ts'
import type { AppSession, AppSessions, SessionCredential } from '#core/account/app-sessions.ts'
import type { BrowserTokens } from '#core/account/browser-sessions.ts'
import type { Caller } from '#core/account/caller.ts'
import type { ClientDevice, KnownDevices } from '#core/account/known-devices.ts'
import type { LoginThrottle } from '#core/account/login-throttle.ts'
import type { Passwords } from '#core/account/password.ts'
import { type Permission, withIncluded } from '#core/account/permission.ts'
import { findSessionUser, recordSessionUses } from '#core/account/session-store.ts'
import type { Tokens } from '#core/account/token.ts'
import { permissionsOf, type User } from '#core/account/user.ts'
import { findLogin, findUserByLogin } from '#core/account/user-store.ts'
import { FreshCache } from '#core/database/fresh-cache.ts'
import { SingleFlight } from '#core/database/single-flight.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { Register } from '#core/foundation/register.ts'

/** How long another process may still accept a revoked credential. In this process a revocation counts at once. */
const FRESH_MS = 5_000
/** Some 5,000 people: more than are ever signed in at the same time. */
const REMEMBERED_BYTES_MAX = 10 * 1024 * 1024
/** Keys, and sessions, whose use waits to be written; further ones are not recorded, which only makes "last used" less exact. */
const USES_MAX = 10_000

interface BasicProof {
  login: string
  passwordHash: string
  user: User
}

interface AuthenticatorOptions {
  database: Knex
  passwords: Passwords
  tokens: Tokens
  throttle: LoginThrottle
  devices: KnownDevices
  appSessions: AppSessions
  browserTokens: BrowserTokens
  /** How long the session of a browser lasts after its last use. */
  refreshTokenDays: number
}

/** Turns credentials into callers. Every method returns null for a credential that is not valid, or not valid any more. */
export class Authenticator {
  readonly #options: AuthenticatorOptions
  readonly #sessions
  readonly #keys
  // E-readers send name and password with every request, and checking one costs 20 ms of a core: verified ones are cached
  // under a keyed hash whose key is lost with the process.
  readonly #basics = new BoundedCache<BasicProof & { freshUntil: number }>({ bytesMax: REMEMBERED_BYTES_MAX })
  readonly #basicKey = randomBytes(32)
  // Survives `forget`: after a sign-out the key is still one that was valid, and a revoked key is still looked up.
  readonly #goodKeys = new BoundedCache<true>({ bytesMax: REMEMBERED_BYTES_MAX })
  #uses = new Register<Date>()
  #sessionUses = new Register<Date>()
  #generation = 0
  // Of many concurrent requests with the same name and password, only one pays for the check.
  readonly #checks = new SingleFlight()

  constructor(options: AuthenticatorOptions) {
    this.#options = options
    // Permissions are computed here, because every request needs them.
    this.#sessions = new FreshCache<{ user: User; permissions: ReadonlySet<Permission> }>({
      bytesMax: REMEMBERED_BYTES_MAX,
      freshMs: FRESH_MS,
      load: async (key) => {
        const [sessionId = '', userId = ''] = key.split(' ')
        const user = await findSessionUser(options.database, { sessionId, userId })
        return user && { user, permissions: permissionsOf(user) }
      },
    })
    this.#keys = new FreshCache<ApiKeyProof & { permissions: ReadonlySet<Permission> }>({
      bytesMax: REMEMBERED_BYTES_MAX,
      freshMs: FRESH_MS,
      load: async (keyPrefix) => {
        const proof = await findApiKeyByPrefix(options.database, keyPrefix)
        return proof && { ...proof, permissions: narrowed(proof.user, proof.key) }
      },
    })
  }

  async #ofKey(key: string, via: 'api_key' | 'basic' = 'api_key'): Promise<Caller | null> {
    const prefix = findKeyPrefix(key)
    if (prefix === null) return null
    const proof = await this.#keys.get(prefix)
    if (proof === null) this.#goodKeys.delete(prefix)
    if (proof === null || !isApiKey(key, proof.keyHash)) return null
    const { user } = proof
    if (!isGood(proof.key) || !user.isActive) return null
    this.#goodKeys.set(prefix, true)
    noteUse(this.#uses, proof.key.id)
    return {
      ...callerOf({ user, permissions: proof.permissions, narrowedBy: proof.key.id }, via, () => this.#ofKey(key, via)),
      ...endOf(proof.key),
      apiKeyId: proof.key.id,
      [CREDENTIAL]: { userId: user.id, passwordHash: null, apiKeyId: proof.key.id },
    } as Caller
  }

  /** @param endsAt absent if nobody asks for a token any more */
  async #ofSession(
    claims: { userId: string; sessionId: string; endsAt?: number },
    via: 'token' | 'cookie' | 'browser_session',
  ): Promise<Caller | null> {
    const { userId, sessionId, endsAt } = claims
    const session = await this.#sessions.get(`${sessionId} ${userId}`)
    if (session === null || !session.user.isActive) return null
    noteUse(this.#sessionUses, sessionId)
    const again = () => this.#ofSession({ userId, sessionId }, via)
    return { ...callerOf({ ...session, narrowedBy: null }, via, again), sessionId, ...(endsAt !== undefined && { endsAt }) }
  }

  #ofPassword(id: string, proof: BasicProof): Caller | null {
    if (!proof.user.isActive) return null
    const credential = { userId: proof.user.id, passwordHash: proof.passwordHash, apiKeyId: null }
    const again = async () => {
      const fresh = this.#freshBasic(id)
      const now = fresh ?? (await findUserByLogin(this.#options.database, proof.login))
      return now?.passwordHash === proof.passwordHash ? this.#ofPassword(id, { login: proof.login, ...now }) : null
    }
    const known = { user: proof.user, permissions: permissionsOf(proof.user), narrowedBy: null }
    return { ...callerOf(known, 'basic', again), [CREDENTIAL]: credential } as Caller
  }

  #freshBasic(id: string): BasicProof | undefined {
    const known = this.#basics.get(id)
    return known !== undefined && known.freshUntil > performance.now() ? known : undefined
  }

  async #checkBasic(username: string, password: string, client: ClientDevice): Promise<BasicProof | null> {
    const { found, account } = await findLogin(this.#options.database, username)
    const known = await this.#options.devices.find(found?.user.id ?? null, client)
    const proven = await this.#options.throttle.attempt({ account, address: client.address, known }, async () => {
      const isRight = await this.#options.passwords.verify(password, found?.passwordHash ?? null)
      return found?.user.isActive && isRight ? found : null
    })
    if (proven === null) return null
    // E-readers keep no cookies, so their address marks them as known.
    await this.#options.devices.recordAddress(proven.user.id, client.address)
    return { login: username, ...proven }
  }

  /** Failed attempts count per origin: only requests from the same origin share a check. */
  async #proveBasic(id: string, basic: { username: string; password: string; client: ClientDevice }): Promise<BasicProof | null> {
    return await this.#checks.join(JSON.stringify([id, basic.client]), undefined, async () => {
      const begun = this.#generation
      const { username, password, client } = basic
      // The stored hash has not changed, so the password matches: no need to check it again.
      const known = this.#basics.get(id)
      const now = known ? await findUserByLogin(this.#options.database, username) : null
      const isUnchanged = known && now && now.passwordHash === known.passwordHash
      const proof = isUnchanged ? { login: username, ...now } : await this.#checkBasic(username, password, client)
      if (proof === null) this.#basics.delete(id)
      else if (begun === this.#generation) this.#basics.set(id, { ...proof, freshUntil: performance.now() + FRESH_MS })
      return proof
    })
  }

  async ofToken(token: string, via: 'token' | 'cookie'): Promise<Caller | null> {
    const claims = await this.#options.tokens.verify(token)
    return claims === null ? null : await this.#ofSession(claims, via)
  }

  /** @param token from the cookie of a browser session */
  async ofBrowserSession(token: string): Promise<Caller | null> {
    const session = await this.#options.browserTokens.find(token)
    return session && (await this.#ofSession(session, 'browser_session'))
  }

  ofApiKey(key: string): Promise<Caller | null> {
    return this.#ofKey(key)
  }

  /**
   * User name or e-mail with password, or any name with an API key as password.
   * @throws rate_limit_exceeded, unavailable
   */
  async ofBasic({
    username,
    password,
    address,
    device = null,
  }: {
    username: string
    password: string
    address: string
    device?: string | null
  }): Promise<Caller | null> {
    if (findKeyPrefix(password) !== null) return this.#ofKey(password, 'basic')
    const id = createHmac('sha256', this.#basicKey)
      .update(JSON.stringify([username, password]))
      .digest('base64')
    const proof = this.#freshBasic(id) ?? (await this.#proveBasic(id, { username, password, client: { address, device } }))
    return proof && this.#ofPassword(id, proof)
  }

  /** @param token of a session that {@link beginAppSession} began */
  async ofAppSession(token: string): Promise<Caller | null> {
    const found = await this.#options.appSessions.find(token)
    if (found === null || !found.user.isActive) return null
    const { user, key, sessionId, expiresAt } = found
    if (key !== null && !isGood(key)) return null
    noteUse(this.#sessionUses, sessionId)
    const permissions = key === null ? permissionsOf(user) : narrowed(user, key)
    const endsAt = Math.min(expiresAt.getTime(), key === null ? Number.POSITIVE_INFINITY : (endOf(key).endsAt ?? Number.POSITIVE_INFINITY))
    const known = { user, permissions, narrowedBy: key?.id ?? null }
    return { ...callerOf(known, 'app_session', () => this.ofAppSession(token)), sessionId, endsAt }
  }

  /**
   * The same credential again, which may have ended since: for requests whose body arrives late, and for answers that take long. An access token is as
   * good as its session, because clients renew it meanwhile. Needs a query at most every few seconds, and checks no password.
   */
  async again(caller: Caller): Promise<Caller | null> {
    return (await (caller as Proven)[PROOF]?.again()) ?? null
  }

  /** Whether the credential is still valid, with every permission that it had, and the account, with its grants, has not been changed. */
  async isAsBefore(caller: Caller): Promise<boolean> {
    const now = await this.again(caller)
    if (now === null || (now as Proven)[PROOF]?.changedAt !== (caller as Proven)[PROOF]?.changedAt) return false
    return [...caller.permissions].every((permission) => now.permissions.has(permission))
  }

  /** The app session for a caller who has just sent a password or an API key; null for other credentials, and when the credential is not valid any more. */
  async beginAppSession(caller: Caller, { remembered }: { remembered: boolean }): Promise<AppSession | null> {
    const { [CREDENTIAL]: credential } = caller as { [CREDENTIAL]?: SessionCredential }
    return credential === undefined ? null : await this.#options.appSessions.begin(credential, remembered)
  }

  /** Whether a key that begins like this one was valid before, so that the client is hardly guessing. Needs no query. */
  knowsApiKey(key: string): boolean {
    const prefix = findKeyPrefix(key)
    return prefix !== null && this.#goodKeys.has(prefix)
  }

  /** Whether the token of a browser was seen before, as above. */
  knowsBrowserSession(token: string): boolean {
    return this.#options.browserTokens.knows(token)
  }

  /** Call after every change of a user, their sessions or keys: drops what is cached about the user; without a user, about everybody. */
  forget(userId?: string): void {
    this.#generation++
    this.#checks.forget()
    const isMeant = (user: User) => userId === undefined || user.id === userId
    this.#sessions.forget(({ user }) => isMeant(user))
    this.#keys.forget(({ user }) => isMeant(user))
    this.#basics.forget(({ user }) => isMeant(user))
    this.#options.appSessions.forget(userId)
  }

  /** Writes to the database when API keys and sessions were last used, on which the end of a browser's session depends. */
  async recordUses(): Promise<void> {
    const [keys, sessions] = [this.#uses, this.#sessionUses]
    this.#uses = new Register()
    this.#sessionUses = new Register()
    await recordApiKeyUses(this.#options.database, keys)
    await recordSessionUses(this.#options.database, sessions, { browserDays: this.#options.refreshTokenDays })
  }
}

function noteUse(uses: Register<Date>, id: string): void {
  const known = uses.get(id)
  // Setting a key again copies it, with every request.
  if (known !== undefined) known.setTime(Date.now())
  else if (uses.size < USES_MAX) uses.set(id, new Date())
}

/**
 * The property of a caller that holds its credential, for this file alone. Not a WeakMap: the fast collections of young objects keep its entries,
 * and there would be one for every request.
 */
const CREDENTIAL = Symbol('credential')

/** How to find a caller again, and when the account was last changed; a property for this file alone, as above. */
const PROOF = Symbol('proof')
type Proven = Caller & { [PROOF]?: { again: () => Promise<Caller | null>; changedAt: string } }

/** Whether a key is active and has not expired. */
const isGood = ({ isActive, expiresAt }: ApiKeyRecord): boolean => isActive && (expiresAt === null || Date.parse(expiresAt) > Date.now())

/** What a user may do with a key. */
function narrowed(user: User, key: ApiKeyRecord): ReadonlySet<Permission> {
  const own = permissionsOf(user)
  return withIncluded(key.permissions.filter((permission) => own.has(permission)))
}

const endOf = ({ expiresAt }: ApiKeyRecord): { endsAt?: number } => (expiresAt === null ? {} : { endsAt: Date.parse(expiresAt) })

function callerOf(
  { user, permissions, narrowedBy }: Pick<Caller, 'permissions' | 'narrowedBy'> & { user: User },
  via: Caller['via'],
  again: () => Promise<Caller | null>,
): Proven {
  return { userId: user.id, username: user.username, permissions, narrowedBy, via, [PROOF]: { again, changedAt: user.updatedAt } }
}
