import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { SingleFlight } from '#core/database/single-flight.ts'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import type { PluginUser } from '#core/matching/provider-client.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import type { AuthStatus, PluginAuth } from '#plugins/credentials/plugin-auth.ts'
import type { CredentialOwner } from '#plugins/credentials/plugin-credential-store.ts'
import { claimRenewal, findExpiry, holdsRenewal, postponeRenewal } from '#plugins/credentials/sign-in-store.ts'
import { requestTokens, TokenError, type TokenServices } from '#plugins/credentials/sign-in-tokens.ts'
import type { Credential } from '#plugins/network/credential.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'

/** A token that ends within this time is renewed before it is used. */
const RENEW_SECONDS = 300
/** Longer than a renewal may take; after this time the server that claimed it must have died. */
const CLAIM_SECONDS = 45
/** How long to wait for a renewal by another server. */
const WAIT_MS = 20_000
const LOOK_EVERY_MS = 200
/** Retry soon when the service is unreachable; after a refusal, only when people had time to fix it. */
const RETRY_SECONDS = { unreachable: 60, refused: 3_600 }

type OAuth2 = NonNullable<NonNullable<PluginAuth>['oauth2']>

interface RenewalOptions extends TokenServices {
  database: Knex
  credentials: Credentials
  log: Log
  /** Throws AppError while the plugin may not run for the owner. */
  mayRun: (owner: CredentialOwner) => Promise<unknown>
  findPlugin: (pluginId: string) => Promise<RenewalGrant['plugin'] | null>
  /** Called when the service no longer accepts the credentials of this user. */
  onRefused: (user: PluginUser) => Promise<void>
}

/** The input of a renewal. */
interface RenewalGrant {
  plugin: { id: string; key: string; version: string }
  client: { clientId: string; clientSecret: string | undefined }
  refreshToken: string
  /** All stored fields of its owner. */
  own: Record<string, string>
}

/** The credentials as plugins use them: renews OAuth 2 tokens before they expire, only once at a time across all servers. */
export class RenewedCredentials {
  readonly #options: RenewalOptions
  /** By plugin and user: concurrent callers share one renewal. */
  readonly #underWay = new SingleFlight()

  constructor(options: RenewalOptions) {
    this.#options = options
  }

  async status(owner: CredentialOwner, auth: PluginAuth): Promise<AuthStatus> {
    await this.#freshen(owner, auth)
    return await this.#options.credentials.status(owner, auth)
  }

  /** @throws GuestError auth when a token has expired and cannot be renewed; and as Credentials does */
  async bound(owner: CredentialOwner, auth: PluginAuth): Promise<Credential | undefined> {
    await this.#freshen(owner, auth)
    if (auth?.type === 'oauth2' && (await this.#options.credentials.status(owner, auth)) === 'expired')
      refuseGuest('auth', 'The connection to the service has expired. The user must sign in there again.')
    return await this.#options.credentials.bound(owner, auth)
  }

  async #renew(owner: CredentialOwner, auth: NonNullable<PluginAuth>, { tokenUrl }: OAuth2): Promise<void> {
    const { database, log } = this.#options
    if (!(await this.#claim(owner, auth))) return
    const grant = await this.#findGrant(owner, auth)
    // Without a refresh token, callers do not wait.
    if (grant === null) return await postponeRenewal(database, owner, 0)
    try {
      await this.#redeem(owner, auth, tokenUrl, grant)
    } catch (error) {
      // The plugin may not run any more, which says nothing about the token.
      if (error instanceof AppError) return await postponeRenewal(database, owner, 0)
      const isToken = error instanceof TokenError
      await this.#postpone(owner, isToken ? error.code : 'unreachable')
      const reason = isToken ? error.message : 'The server failed to handle this.'
      log.warn({ plugin: grant.plugin.key, err: isToken ? undefined : error }, `A token could not be renewed: ${reason}`)
    }
  }

  /** Whether this call must renew the token. */
  async #claim(owner: CredentialOwner, auth: NonNullable<PluginAuth>): Promise<boolean> {
    const { database, credentials } = this.#options
    const expiry = await findExpiry(database, owner)
    if (expiry === null || expiry.expiresAt === null || !expiry.renewable) return false
    if (expiry.expiresAt.getTime() > Date.now() + RENEW_SECONDS * 1000) return false
    // A token for another host is not renewed at this one either.
    if ((await credentials.status(owner, auth)) === 'missing') return false
    if (await claimRenewal(database, owner, CLAIM_SECONDS)) return true
    // A token that has not expired yet is used as it is.
    if (expiry.expiresAt.getTime() <= Date.now()) await this.#waitForOther(owner)
    return false
  }

  /** Null when something is missing, or was entered for other hosts. */
  async #findGrant(owner: CredentialOwner, auth: NonNullable<PluginAuth>): Promise<RenewalGrant | null> {
    const { findPlugin, credentials } = this.#options
    const plugin = await findPlugin(owner.pluginId)
    const server = await credentials.reveal({ pluginId: owner.pluginId, userId: null }, auth)
    const own = owner.userId === null ? server : await credentials.reveal(owner, auth)
    const { clientId, clientSecret } = server
    const { refreshToken } = own
    if (plugin === null || clientId === undefined || refreshToken === undefined) return null
    return { plugin, client: { clientId, clientSecret }, refreshToken, own }
  }

  /** @throws TokenError */
  async #redeem(
    owner: CredentialOwner,
    auth: NonNullable<PluginAuth>,
    tokenUrl: string,
    { plugin, client, refreshToken, own }: RenewalGrant,
  ): Promise<void> {
    const { database, credentials, mayRun } = this.#options
    const grant = { grant_type: 'refresh_token', refresh_token: refreshToken } as const
    const allow = () => mayRun(owner)
    const tokens = await requestTokens(this.#options, { tokenUrl, plugin, userId: owner.userId, client, grant, allow })
    const fields = { ...own, accessToken: tokens.accessToken, refreshToken: tokens.refreshToken ?? refreshToken }
    // A user who has disconnected meanwhile stays disconnected.
    if (!(await credentials.set(owner, auth, fields, tokens.expiresAt, (trx) => holdsRenewal(trx, owner)))) return
    const seconds = tokens.expiresAt === null ? 0 : (tokens.expiresAt.getTime() - Date.now()) / 1000
    // A token with a short life would be renewed before every use.
    if (seconds > 0 && seconds < 2 * RENEW_SECONDS) await postponeRenewal(database, owner, Math.floor(seconds / 2))
  }

  async #postpone({ pluginId, userId }: CredentialOwner, code: keyof typeof RETRY_SECONDS): Promise<void> {
    await postponeRenewal(this.#options.database, { pluginId, userId }, RETRY_SECONDS[code])
    if (code === 'refused' && userId !== null) await this.#options.onRefused({ pluginId, userId })
  }

  /** Until another server has renewed it, or has failed. */
  async #waitForOther(owner: CredentialOwner): Promise<void> {
    const deadline = performance.now() + WAIT_MS
    for (;;) {
      const expiry = await findExpiry(this.#options.database, owner)
      const isGood = expiry === null || expiry.expiresAt === null || expiry.expiresAt.getTime() > Date.now()
      const until = expiry?.renewingUntil?.getTime() ?? 0
      // A time further ahead than a claim means that retries are postponed.
      if (isGood || until <= Date.now() || until > Date.now() + CLAIM_SECONDS * 1000 || performance.now() > deadline) return
      await sleep(LOOK_EVERY_MS)
    }
  }

  async #freshen(owner: CredentialOwner, auth: PluginAuth): Promise<void> {
    const oauth2 = auth?.oauth2
    if (auth?.type !== 'oauth2' || oauth2 === undefined) return
    const key = `${owner.pluginId}/${owner.userId ?? ''}`
    await this.#underWay.join(key, undefined, () => this.#renew(owner, auth, oauth2))
  }
}
