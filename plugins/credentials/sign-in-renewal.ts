import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Log } from '#core/foundation/log.ts'
import type { PluginReader } from '#core/matching/provider-client.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import type { PluginAuth } from '#plugins/credentials/plugin-auth.ts'
import type { CredentialOwner } from '#plugins/credentials/plugin-credential-store.ts'
import { claimRenewal, findExpiry, holdsRenewal, postponeRenewal } from '#plugins/credentials/sign-in-store.ts'
import { requestTokens, TokenError } from '#plugins/credentials/sign-in-tokens.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** A token that ends within this time is renewed before it is used. */
const RENEW_SECONDS = 300
/** Longer than asking may take; after this time whoever began has died. */
const CLAIM_SECONDS = 45
/** Of one that another server asks for. */
const WAIT_MS = 20_000
const LOOK_EVERY_MS = 200
/** A service that could not be asked is asked again soon, one that said no not before people have had time to look. */
const RETRY_SECONDS = { unreachable: 60, refused: 3_600 }

/**
 * The credentials as plugins use them: tokens of OAuth 2 are renewed before they end, once at a time over all servers.
 * `bound` throws GuestError `auth` where a token has ended and cannot be renewed.
 */
export function openRenewal(parts: {
  database: Knex
  credentials: Credentials
  egress: Egress
  log: Log
  /** The plugin's own identifier; null where it is gone. */
  keyOf: (pluginId: string) => Promise<string | null>
  /** The service does not take the credentials of this user any more. */
  onRefused: (reader: PluginReader) => Promise<void>
}): Credentials {
  const { database, credentials, egress, log, keyOf, onRefused } = parts
  /** By plugin and reader: those who come meanwhile wait for the same. */
  const underWay = new Map<string, Promise<void>>()

  async function renew(
    owner: CredentialOwner,
    auth: NonNullable<PluginAuth>,
    oauth2: NonNullable<NonNullable<PluginAuth>['oauth2']>,
  ): Promise<void> {
    const expiry = await findExpiry(database, owner)
    if (expiry === null || expiry.expiresAt === null || !expiry.renewable) return
    if (expiry.expiresAt.getTime() > Date.now() + RENEW_SECONDS * 1000) return
    // Nor is what was given for another place renewed at this one.
    if ((await credentials.status(owner, auth)) === 'missing') return
    if (!(await claimRenewal(database, owner, CLAIM_SECONDS))) {
      // One that is still good is good enough.
      if (expiry.expiresAt.getTime() <= Date.now()) await waitForOther(owner)
      return
    }
    const key = await keyOf(owner.pluginId)
    const server = await credentials.reveal({ pluginId: owner.pluginId, userId: null })
    const own = owner.userId === null ? server : await credentials.reveal(owner)
    const { clientId, clientSecret } = server
    const { refreshToken } = own
    if (key === null || clientId === undefined || refreshToken === undefined) {
      // Nobody waits for what cannot be done.
      await postponeRenewal(database, owner, 0)
      return
    }
    try {
      const tokens = await requestTokens(egress, {
        ...{ tokenUrl: oauth2.tokenUrl, caller: key, client: { clientId, clientSecret } },
        grant: { grant_type: 'refresh_token', refresh_token: refreshToken },
      })
      const fields = { ...own, accessToken: tokens.accessToken, refreshToken: tokens.refreshToken ?? refreshToken }
      // Whoever has disconnected meanwhile stays so.
      if (!(await credentials.set(owner, auth, fields, tokens.expiresAt, (trx) => holdsRenewal(trx, owner)))) return
      const seconds = tokens.expiresAt === null ? 0 : (tokens.expiresAt.getTime() - Date.now()) / 1000
      // One that is never good for long would be renewed again before each use.
      if (seconds > 0 && seconds < 2 * RENEW_SECONDS) await postponeRenewal(database, owner, Math.floor(seconds / 2))
    } catch (error) {
      const code = error instanceof TokenError ? error.code : 'unreachable'
      await postponeRenewal(database, owner, RETRY_SECONDS[code])
      if (code === 'refused' && owner.userId !== null) await onRefused({ pluginId: owner.pluginId, userId: owner.userId })
      const said = error instanceof TokenError ? error.message : 'The server could not do this.'
      log.warn({ plugin: key, err: error instanceof TokenError ? undefined : error }, `A token could not be renewed: ${said}`)
    }
  }

  /** Until another server has renewed it, or has given up. */
  async function waitForOther(owner: CredentialOwner): Promise<void> {
    const deadline = performance.now() + WAIT_MS
    for (;;) {
      const expiry = await findExpiry(database, owner)
      const isGood = expiry === null || expiry.expiresAt === null || expiry.expiresAt.getTime() > Date.now()
      const until = expiry?.renewingUntil?.getTime() ?? 0
      // What lies further ahead than a claim is the word that nobody shall try.
      if (isGood || until <= Date.now() || until > Date.now() + CLAIM_SECONDS * 1000 || performance.now() > deadline) return
      await sleep(LOOK_EVERY_MS)
    }
  }

  async function freshen(owner: CredentialOwner, auth: PluginAuth): Promise<void> {
    const oauth2 = auth?.oauth2
    if (auth?.type !== 'oauth2' || oauth2 === undefined) return
    const key = `${owner.pluginId}/${owner.userId ?? ''}`
    let renewal = underWay.get(key)
    if (renewal === undefined) {
      renewal = renew(owner, auth, oauth2).finally(() => underWay.delete(key))
      underWay.set(key, renewal)
    }
    await renewal
  }

  return {
    ...credentials,
    async status(owner, auth) {
      await freshen(owner, auth)
      return await credentials.status(owner, auth)
    },
    async bound(owner, auth) {
      await freshen(owner, auth)
      if (auth?.type === 'oauth2' && (await credentials.status(owner, auth)) === 'expired')
        throw new GuestError('thrown', 'The connection to the service has ended: its reader has to sign in there again.', 'auth')
      return await credentials.bound(owner, auth)
    },
  }
}
