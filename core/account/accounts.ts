import type { Knex } from 'knex'
import type { ApiKey, ApiKeyEdit, NewApiKey, NewApiKeyAnswer } from '#core/account/api-key.ts'
import { listApiKeys } from '#core/account/api-key-store.ts'
import { openAppSessions } from '#core/account/app-sessions.ts'
import type { Caller } from '#core/account/caller.ts'
import { type Callers, openCallers } from '#core/account/callers.ts'
import { changePassword, type PasswordChange } from '#core/account/change-password.ts'
import { createApiKey, editApiKey, getApiKey, removeApiKey } from '#core/account/edit-api-key.ts'
import { createFirstAdmin, createUser, editUser, registerUser, removeUser } from '#core/account/edit-user.ts'
import { openKnownDevices, type Shown } from '#core/account/known-devices.ts'
import { openLoginThrottle } from '#core/account/login-throttle.ts'
import { openRegistrationLimit } from '#core/account/registration.ts'
import { readRegistration } from '#core/account/registration-query.ts'
import { purgeSessions } from '#core/account/session-store.ts'
import { type LoginProof, openSignIn, type SignedIn } from '#core/account/sign-in.ts'
import { openTokens } from '#core/account/token.ts'
import type { EditedUser, NewUser, User, UserDetail, UserEdit } from '#core/account/user.ts'
import { findUser, findUserByLogin, hasUsers, listSharingGrants, listUsers, type UserFilter } from '#core/account/user-store.ts'
import { CarrelError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import type { Settings } from '#core/settings/settings.ts'

/** "Last used" of API keys is written this often, not with every request. */
const RECORD_USES_MS = 60_000
const PURGE_MS = 3_600_000
/** Ended sessions are kept a day, so that a stolen refresh token is still recognised as one. */
const KEEP_ENDED_MS = 86_400_000

/** Users, sessions and API keys. Everything that changes them also makes this process forget what it remembered of them. */
export interface Accounts {
  callers: Pick<Callers, 'ofToken' | 'ofApiKey' | 'ofBasic' | 'ofAppSession' | 'beginAppSession' | 'knowsApiKey' | 'forget'>

  /** @throws unauthorized, rate_limit_exceeded, unavailable */
  login(proof: LoginProof): Promise<SignedIn>
  /** @throws unauthorized */
  refresh(refreshToken: string): Promise<SignedIn>
  logout(caller: Caller): Promise<void>

  /** Whether nobody has been made yet. */
  needsSetup(): Promise<boolean>
  /** Makes the first administrator and signs them in. @throws conflict when there is a user already, invalid_value */
  initialize(wanted: NewUser): Promise<SignedIn>
  /** Makes the first administrator unless there is a user. @returns whether it did. @throws invalid_value */
  ensureFirstAdmin(wanted: { username: string; password: string; email?: string }): Promise<boolean>

  /**
   * Makes a reader who asked for it themselves, and signs them in.
   * @throws forbidden where that is not open, rate_limit_exceeded, conflict (name or address taken; nobody has set Carrel up yet), invalid_value
   */
  register(wanted: Pick<NewUser, 'username' | 'email' | 'password'>, address: string): Promise<SignedIn>
  /** Whether {@link register} is open to people. */
  isRegistrationOpen(): Promise<boolean>
  /** Changes the caller's own password. @throws unauthorized, rate_limit_exceeded, unavailable */
  changePassword(by: Caller, change: PasswordChange, shown: Shown): Promise<EditedUser>

  listUsers(window: { filter: UserFilter; offset: number; limit: number }): Promise<{ total: number; users: User[] }>
  /** @throws not_found */
  getUser(id: string): Promise<UserDetail>
  /** By user name or e-mail address. */
  findUser(login: string): Promise<User | null>
  /** @param by null = the operator at the machine. @throws invalid_value, conflict, forbidden */
  createUser(wanted: NewUser, by: Caller | null): Promise<User>
  /** @throws not_found, invalid_value, forbidden, conflict */
  editUser(id: string, edit: UserEdit, by: Caller | null): Promise<EditedUser>
  /** @throws not_found, forbidden, conflict */
  removeUser(id: string, by: Caller | null): Promise<void>

  /** The caller's own keys. */
  listApiKeys(by: Caller, window: { offset: number; limit: number }): Promise<{ total: number; keys: ApiKey[] }>
  /** @throws not_found */
  getApiKey(id: string, by: Caller): Promise<ApiKey>
  /** @throws forbidden, invalid_value, conflict (too many) */
  createApiKey(wanted: NewApiKey, by: Caller): Promise<NewApiKeyAnswer>
  /** @throws not_found, forbidden, invalid_value */
  editApiKey(id: string, edit: ApiKeyEdit, by: Caller): Promise<ApiKey>
  /** @throws not_found, forbidden */
  removeApiKey(id: string, by: Caller): Promise<void>

  /** Writes what waits to be written; call before the database is closed. */
  close(): Promise<void>
}

/**
 * @param options.tokenKey HS256 key; at least 32 bytes
 * @param options.reserved connections for finding callers and signing in, which lists cannot use up; those of `database` unless given
 */
export function openAccounts(options: {
  database: Knex
  reserved?: Knex
  settings: Pick<Settings, 'accessTokenSeconds' | 'refreshTokenDays'>
  tokenKey: Uint8Array
  log: Log
}): Accounts {
  const { database, reserved = database, settings, log } = options
  const tokens = openTokens({ key: options.tokenKey, lifetimeSeconds: options.settings.accessTokenSeconds })
  const throttle = openLoginThrottle()
  const devices = openKnownDevices({ database: reserved, key: options.tokenKey })
  const registrations = openRegistrationLimit()
  const appSessions = openAppSessions({ database: reserved, key: options.tokenKey, rememberedDays: options.settings.refreshTokenDays })
  const callers = openCallers({ database: reserved, tokens, throttle, devices, appSessions })
  const { accessTokenSeconds, refreshTokenDays } = settings
  const signIn = openSignIn({ database: reserved, tokens, throttle, devices, callers, log, accessTokenSeconds, refreshTokenDays })

  async function recordUses(): Promise<void> {
    await callers.recordUses().catch((error: unknown) => log.warn({ error }, 'When API keys were last used could not be written down'))
  }
  async function purge(): Promise<void> {
    await purgeSessions(database, new Date(Date.now() - KEEP_ENDED_MS)).catch((error: unknown) =>
      log.warn({ error }, 'Old sessions could not be purged'),
    )
  }
  const timers = [setInterval(recordUses, RECORD_USES_MS).unref(), setInterval(purge, PURGE_MS).unref()]

  /** Forgets the user alone, once the change stands: to check everybody again would cost all who are signed in. */
  async function changing<T>(work: Promise<T>, userOf: (changed: T) => string): Promise<T> {
    try {
      const changed = await work
      callers.forget(userOf(changed))
      return changed
    } catch (error) {
      // What was refused has changed nothing; of anything else nobody knows whether it stands.
      const isRefused = error instanceof CarrelError && error.code !== 'internal' && error.code !== 'unavailable'
      if (!isRefused) callers.forget()
      throw error
    }
  }

  return {
    callers,
    login: signIn.login,
    refresh: signIn.refresh,
    logout: signIn.logout,

    needsSetup: async () => !(await hasUsers(database)),
    async initialize(wanted) {
      // Asked before the costly hash; insertFirstUser asks again under lock.
      if (await hasUsers(database)) refuseSecondSetup()
      const user = await createFirstAdmin(database, wanted)
      return signIn.begin(user ?? refuseSecondSetup())
    },
    async ensureFirstAdmin({ username, password, email }) {
      if (await hasUsers(database)) return false
      // An address that leads nowhere: the machine's own name for itself (RFC 6761).
      const address = email ?? `${username.replace(/[^A-Za-z0-9._-]+/g, '-')}@carrel.localhost`
      return (await createFirstAdmin(database, { username, password, email: address })) !== null
    },

    async register({ username, email, password }, address) {
      if (!(await hasUsers(database))) refuse('conflict', 'Carrel has not been set up yet; make its first administrator first.')
      registrations.count(address)
      return signIn.begin(await registerUser(database, { username, email, password }))
    },
    isRegistrationOpen: async () => (await readRegistration(database)).isOpen,
    changePassword: (by, change, shown) =>
      changing(changePassword({ database, throttle, devices }, by.userId, change, shown), ({ id }) => id),

    listUsers: (window) => listUsers(database, window),
    async getUser(id) {
      const user = await findUser(database, id)
      if (user === null) refuse('not_found', 'There is no such user.')
      return { ...user, sharingTags: await listSharingGrants(database, id) }
    },
    findUser: async (login) => (await findUserByLogin(database, login))?.user ?? null,
    createUser: (wanted, by) => createUser(database, wanted, by),
    editUser: (id, edit, by) => changing(editUser(database, id, edit, by), (user) => user.id),
    removeUser: async (id, by) => void (await changing(removeUser(database, id, by), (user) => user.id)),

    listApiKeys: (by, window) => listApiKeys(database, { userId: by.userId, ...window }),
    getApiKey: (id, by) => getApiKey(database, id, by, 'users-read'),
    createApiKey: (wanted, by) => createApiKey(database, wanted, by),
    editApiKey: (id, edit, by) => changing(editApiKey(database, id, edit, by), ({ userId }) => userId),
    removeApiKey: async (id, by) => void (await changing(removeApiKey(database, id, by), ({ userId }) => userId)),

    async close() {
      for (const timer of timers) clearInterval(timer)
      await recordUses()
    },
  }
}

function refuseSecondSetup(): never {
  refuse('conflict', 'Carrel has been set up already; sign in instead.')
}
