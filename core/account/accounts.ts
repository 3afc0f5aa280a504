import type { Knex } from 'knex'
import { NO_RULE } from '#core/account/access.ts'
import { readRules, refuseNarrowed } from '#core/account/access-store.ts'
import type { ApiKey, ApiKeyEdit, NewApiKey, NewApiKeyAnswer } from '#core/account/api-key.ts'
import { AppSessions } from '#core/account/app-sessions.ts'
import { Authenticator } from '#core/account/authenticator.ts'
import { BrowserTokens } from '#core/account/browser-sessions.ts'
import type { Caller } from '#core/account/caller.ts'
import { changePassword, type PasswordChange } from '#core/account/change-password.ts'
import { createApiKey, editApiKey, getApiKey, listOwnApiKeys, removeApiKey } from '#core/account/edit-api-key.ts'
import {
  type AccountEdit,
  createFirstAdmin,
  createUser,
  editUser,
  registerUser,
  removeUser,
  type UserDependencies,
} from '#core/account/edit-user.ts'
import { type ClientDevice, KnownDevices } from '#core/account/known-devices.ts'
import { LoginThrottle } from '#core/account/login-throttle.ts'
import { PASSWORD_COST, type PasswordCost, Passwords } from '#core/account/password.ts'
import { RegistrationLimit } from '#core/account/registration-limit.ts'
import { readRegistration } from '#core/account/registration-query.ts'
import { endOwnSession, listOwnSessions, type Session } from '#core/account/session.ts'
import { purgeSessions, type SessionKind } from '#core/account/session-store.ts'
import { type LoginProof, type SessionRequest, type SignedIn, SignIn, type SignInAnswers } from '#core/account/sign-in.ts'
import { Tokens } from '#core/account/token.ts'
import type { EditedUser, NewUser, User, UserDetail } from '#core/account/user.ts'
import { findUser, findUserByLogin, hasUsers, listSharingGrants, listUsers, type UserFilter } from '#core/account/user-store.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { RegularJobs } from '#core/foundation/regular-jobs.ts'
import type { Settings } from '#core/settings/settings.ts'

/** Ended sessions are kept for a day, so that a stolen refresh token is still recognized as one. */
const KEEP_ENDED_MS = 86_400_000

interface AccountsOptions {
  database: Knex
  reserved?: Knex
  settings: Pick<Settings, 'accessTokenSeconds' | 'refreshTokenDays'>
  tokenKey: Uint8Array
  passwordCost?: PasswordCost
  log: Log
  /** Those of the server; only tests and commands have none. */
  jobs?: RegularJobs
}

/** What programs get that ask for nothing else. */
const TOKENS: SessionRequest = { kind: 'tokens', userAgent: null }

/** Users, sessions and API keys. Every method that changes them also drops what this process has cached about them. */
export class Accounts {
  readonly #options: AccountsOptions
  readonly #users: UserDependencies
  readonly #throttle = new LoginThrottle()
  readonly #registrations = new RegistrationLimit()
  readonly #devices: KnownDevices
  readonly callers: Authenticator
  readonly #signIn: SignIn
  readonly #recording: ReturnType<RegularJobs['start']>
  readonly #purging: ReturnType<RegularJobs['start']>

  /**
   * @param options.tokenKey HS256 key; at least 32 bytes
   * @param options.passwordCost what new password hashes cost; {@link PASSWORD_COST} by default, and only tests take less
   * @param options.reserved connections for finding callers and signing in, which lists cannot use up; `database` by default
   */
  constructor(options: AccountsOptions) {
    this.#options = options
    const { reserved: database = options.database, tokenKey: key, settings, log } = options
    const passwords = new Passwords(options.passwordCost ?? PASSWORD_COST)
    this.#users = { database: options.database, passwords }
    const { accessTokenSeconds, refreshTokenDays } = settings
    const tokens = new Tokens({ key, lifetimeSeconds: accessTokenSeconds })
    const appSessions = new AppSessions({ database, key, rememberedDays: refreshTokenDays })
    const throttle = this.#throttle
    const devices = new KnownDevices({ database, key })
    this.#devices = devices
    const browserTokens = new BrowserTokens(database)
    this.callers = new Authenticator({ database, passwords, tokens, throttle, devices, appSessions, browserTokens, refreshTokenDays })
    const { callers } = this
    this.#signIn = new SignIn({ database, passwords, tokens, throttle, devices, callers, log, accessTokenSeconds, refreshTokenDays })
    const { jobs = new RegularJobs(log) } = options
    this.#recording = jobs.start('record when API keys and sessions were last used', () => callers.recordUses())
    this.#purging = jobs.start('delete old sessions', () => purgeSessions(options.database, new Date(Date.now() - KEEP_ENDED_MS)))
  }

  /** Drops the cache of this one user after the change is committed: dropping all would make the server check every signed-in user again. */
  async #changing<T>(work: Promise<T>, userOf: (changed: T) => string): Promise<T> {
    try {
      const changed = await work
      this.callers.forget(userOf(changed))
      return changed
    } catch (error) {
      // A refused change changed nothing; after any other error the change may have been committed.
      const isRefused = error instanceof AppError && error.code !== 'internal' && error.code !== 'unavailable'
      if (!isRefused) this.callers.forget()
      throw error
    }
  }

  /** @throws unauthorized, rate_limit_exceeded, unavailable */
  login<Kind extends SessionKind = 'tokens'>(proof: LoginProof, session = TOKENS as SessionRequest<Kind>): Promise<SignInAnswers[Kind]> {
    return this.#signIn.login(proof, session)
  }

  /** @throws unauthorized */
  refresh(refreshToken: string): Promise<SignedIn> {
    return this.#signIn.refresh(refreshToken)
  }

  logout(caller: Caller): Promise<void> {
    return this.#signIn.logout(caller)
  }

  /** Whether no user exists yet. */
  async needsSetup(): Promise<boolean> {
    return !(await hasUsers(this.#options.database))
  }

  /** Creates the first administrator and signs them in. @throws conflict when a user exists already, invalid_value */
  async initialize<Kind extends SessionKind = 'tokens'>(
    request: NewUser,
    session = TOKENS as SessionRequest<Kind>,
  ): Promise<SignInAnswers[Kind]> {
    // Checked before the costly hash; insertFirstUser checks again under a lock.
    if (await hasUsers(this.#options.database)) refuseSecondSetup()
    const user = await createFirstAdmin(this.#users, request)
    return this.#signIn.begin(user ?? refuseSecondSetup(), session)
  }

  /** Creates the first administrator unless a user exists. @returns whether it created one. @throws invalid_value */
  async ensureFirstAdmin({ username, password, email }: { username: string; password: string; email?: string }): Promise<boolean> {
    if (await hasUsers(this.#options.database)) return false
    // An address that receives no mail, at the reserved domain "localhost" (RFC 6761).
    const address = email ?? `${username.replace(/[^A-Za-z0-9._-]+/g, '-')}@carrel.localhost`
    return (await createFirstAdmin(this.#users, { username, password, email: address })) !== null
  }

  /**
   * Creates an account for the person who requests it, and signs them in.
   * @throws forbidden where registration is closed, rate_limit_exceeded, conflict (name or address taken; Carrel is not set up yet), invalid_value
   */
  async register<Kind extends SessionKind = 'tokens'>(
    { username, email, password }: Pick<NewUser, 'username' | 'email' | 'password'>,
    address: string,
    session = TOKENS as SessionRequest<Kind>,
  ): Promise<SignInAnswers[Kind]> {
    if (!(await hasUsers(this.#options.database)))
      refuse('conflict', 'Carrel has not been set up yet; create its first administrator first.')
    this.#registrations.count(address)
    return this.#signIn.begin(await registerUser(this.#users, { username, email, password }), session)
  }

  /** Whether {@link register} is open. */
  async isRegistrationOpen(): Promise<boolean> {
    return (await readRegistration(this.#options.database)).isOpen
  }

  /** Changes the caller's own password. @throws unauthorized, rate_limit_exceeded, unavailable, forbidden (with an API key that has a rule) */
  async changePassword(by: Caller, change: PasswordChange, client: ClientDevice): Promise<EditedUser> {
    await refuseNarrowed(this.#options.database, by, 'change the password')
    return this.#changing(
      changePassword({ ...this.#users, throttle: this.#throttle, devices: this.#devices }, by.userId, change, client),
      ({ id }) => id,
    )
  }

  listUsers(window: { filter: UserFilter; offset: number; limit: number }): Promise<{ items: User[]; total: number }> {
    return listUsers(this.#options.database, window)
  }

  /** @throws not_found */
  async getUser(id: string): Promise<Omit<UserDetail, 'access'>> {
    const user = await findUser(this.#options.database, id)
    if (user === null) refuse('not_found', 'There is no such user.')
    return { ...user, sharingTags: await listSharingGrants(this.#options.database, id) }
  }

  /** @param viewer who asks: libraries that they do not see are left out @throws not_found */
  async getUserDetail(id: string, viewer: Viewer): Promise<UserDetail> {
    const [user, rules] = await Promise.all([this.getUser(id), readRules(this.#options.database, [id], viewer)])
    return { ...user, access: rules.get(id) ?? NO_RULE }
  }

  /** By user name or e-mail address. */
  async findUser(login: string): Promise<User | null> {
    return (await findUserByLogin(this.#options.database, login))?.user ?? null
  }

  /** @param by null: the operator at the command line. @throws invalid_value, conflict, forbidden */
  createUser(request: NewUser, by: Caller | null): Promise<User> {
    return createUser(this.#users, request, by)
  }

  /** @throws not_found, invalid_value, forbidden, conflict */
  editUser(id: string, edit: AccountEdit, by: Caller | null): Promise<EditedUser> {
    return this.#changing(editUser(this.#users, id, edit, by), (user) => user.id)
  }

  /** @throws not_found, forbidden, conflict */
  async removeUser(id: string, by: Caller | null): Promise<void> {
    await this.#changing(removeUser(this.#options.database, id, by), (user) => user.id)
  }

  /** @throws forbidden (with an API key) */
  listSessions(by: Caller, window: { offset: number; limit: number }): Promise<{ items: Session[]; total: number }> {
    return listOwnSessions(this.#options.database, by, window)
  }

  /** @throws forbidden (with an API key), not_found */
  async endSession(sessionId: string, by: Caller): Promise<void> {
    await this.#changing(endOwnSession(this.#options.database, sessionId, by), () => by.userId)
  }

  /** The caller's own keys. */
  listApiKeys(by: Caller, window: { offset: number; limit: number }): Promise<{ items: ApiKey[]; total: number }> {
    return listOwnApiKeys(this.#options.database, by, window)
  }

  /** @throws not_found */
  getApiKey(id: string, by: Caller): Promise<ApiKey> {
    return getApiKey(this.#options.database, id, by, 'users-read')
  }

  /** @throws forbidden, invalid_value, conflict (too many) */
  createApiKey(request: NewApiKey, by: Caller): Promise<NewApiKeyAnswer> {
    return createApiKey(this.#options.database, request, by)
  }

  /** @throws not_found, forbidden, invalid_value */
  editApiKey(id: string, edit: ApiKeyEdit, by: Caller): Promise<ApiKey> {
    return this.#changing(editApiKey(this.#options.database, id, edit, by), ({ userId }) => userId)
  }

  /** @throws not_found, forbidden */
  async removeApiKey(id: string, by: Caller): Promise<void> {
    await this.#changing(removeApiKey(this.#options.database, id, by), ({ userId }) => userId)
  }

  /** Writes pending uses of API keys and sessions; call before the database is closed. */
  async close(): Promise<void> {
    await this.#recording.now()
    await Promise.all([this.#recording.stop(), this.#purging.stop()])
  }
}

function refuseSecondSetup(): never {
  refuse('conflict', 'Carrel has been set up already; sign in instead.')
}
