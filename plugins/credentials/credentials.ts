import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { type CredentialBox, openCredentialBox } from '#plugins/credentials/credential-box.ts'
import {
  type AuthStatus,
  CREDENTIAL_FIELDS,
  checkFields,
  credentialOf,
  credentialText,
  destinationOf,
  type PluginAuth,
} from '#plugins/credentials/plugin-auth.ts'
import {
  type CredentialOwner,
  listCredentials,
  listOutdated,
  replaceCredentials,
  resealCredential,
} from '#plugins/credentials/plugin-credential-store.ts'
import type { Credential } from '#plugins/network/credential.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

export interface Credentials {
  /**
   * Replaces what is kept; an empty record forgets it.
   * @param isWanted asked in the same transaction: somebody may have said otherwise since it was begun
   * @returns false where it was not wanted any more, or the plugin is gone
   * Those that go to an address of the configuration are good for the address that it has now.
   * @throws invalid_value for fields that the plugin's kind of sign-in does not have, or where nobody has entered the address that they go to
   */
  set(
    owner: CredentialOwner,
    auth: PluginAuth,
    fields: Readonly<Record<string, string>>,
    expiresAt?: Date | null,
    isWanted?: (trx: Knex) => Promise<boolean>,
  ): Promise<boolean>
  /** The names of what is kept, and when it ends; never what it is. */
  state(owner: CredentialOwner): Promise<{ fields: string[]; expiresAt: Date | null; updatedAt: Date | null }>
  /** `missing` too where they were given for another address than that of the configuration. */
  status(owner: CredentialOwner, auth: PluginAuth): Promise<AuthStatus>
  /** What is kept, for the server's own use: plugins never see it. */
  reveal(owner: CredentialOwner): Promise<Record<string, string>>
  /**
   * What goes along with requests to the host of `auth.bind`; undefined when nothing is kept.
   * @throws GuestError auth where what is kept was given for another address than that of the configuration
   */
  bound(owner: CredentialOwner, auth: PluginAuth): Promise<Credential | undefined>
  /** Encrypts everything anew that another key was used for. Answers how much, and what no key opens any more. */
  rotate(): Promise<{ resealed: number; lost: number }>
  /** For what is not a field of anybody but has to be kept from others too. */
  seal(text: string, belongsTo: readonly string[]): { sealed: Buffer; keyId: string }
  open(sealed: Buffer, keyId: string, belongsTo: readonly string[]): string | null
}

/** Kept and sealed beside the fields: where they were given for. No field of any kind of sign-in is called so. */
const BOUND_TO = 'boundTo'

/** All places that are told something of what is kept: whose plugin comes to name another by an update is not given what was for the first. */
function placesOf(auth: PluginAuth): string | null {
  const destination = destinationOf(auth)
  return destination === null || auth?.oauth2 === undefined ? destination : `${destination} ${new URL(auth.oauth2.tokenUrl).origin}`
}

/** @param secrets see openCredentialBox */
export function openCredentials(database: Knex, secrets: readonly string[]): Credentials {
  return new SealedCredentials(database, secrets)
}

class SealedCredentials implements Credentials {
  readonly #database: Knex
  readonly #box: CredentialBox

  constructor(database: Knex, secrets: readonly string[]) {
    this.#database = database
    this.#box = openCredentialBox(secrets)
  }

  async reveal(owner: CredentialOwner): Promise<Record<string, string>> {
    const { [BOUND_TO]: _, ...fields } = await this.#open(owner)
    return fields
  }

  async set(
    owner: CredentialOwner,
    auth: PluginAuth,
    fields: Readonly<Record<string, string>>,
    expiresAt: Date | null = null,
    isWanted?: (trx: Knex) => Promise<boolean>,
  ): Promise<boolean> {
    checkFields(auth, fields)
    const isGiven = Object.keys(fields).length > 0
    const places = placesOf(auth)
    if (isGiven && auth?.bind?.hostFrom !== undefined && places === null) {
      const message = `First enter the address that they go to: config/${auth.bind?.hostFrom}.`
      refuse('invalid_value', message, { details: [{ path: `/config/${auth.bind?.hostFrom}`, message }] })
    }
    const kept = { ...fields, ...(isGiven && places !== null && { [BOUND_TO]: places }) }
    return await replaceCredentials(
      this.#database,
      owner,
      Object.entries(kept).map(([field, text]) => ({
        ...{ field, keyId: this.#box.keyId, sealed: this.#box.seal(text, belongsTo(owner, field)) },
        expiresAt: field === 'accessToken' ? expiresAt : null,
      })),
      isWanted,
    )
  }

  async state(owner: CredentialOwner): Promise<{ fields: string[]; expiresAt: Date | null; updatedAt: Date | null }> {
    const kept = await listCredentials(this.#database, owner)
    const updated = kept.map(({ updatedAt }) => updatedAt.getTime())
    return {
      fields: kept.map(({ field }) => field).filter((field) => field !== BOUND_TO),
      expiresAt: kept.find(({ field }) => field === 'accessToken')?.expiresAt ?? null,
      updatedAt: updated.length === 0 ? null : new Date(Math.max(...updated)),
    }
  }

  async status(owner: CredentialOwner, auth: PluginAuth): Promise<AuthStatus> {
    if (auth === undefined || auth.type === 'none') return 'none'
    const kept = await listCredentials(this.#database, owner)
    const needed = auth.type === 'oauth2' ? ['accessToken'] : CREDENTIAL_FIELDS[auth.type]
    if (needed.some((field) => !kept.some((one) => one.field === field))) return 'missing'
    if (auth.bind !== undefined && !this.#isForHere(await this.#open(owner), auth)) return 'missing'
    const ends = kept.find(({ field }) => field === 'accessToken')?.expiresAt ?? null
    return ends !== null && ends.getTime() <= Date.now() ? 'expired' : 'connected'
  }

  async bound(owner: CredentialOwner, auth: PluginAuth): Promise<Credential | undefined> {
    if (auth?.bind === undefined || auth.type === 'none') return undefined
    const kept = await this.#open(owner)
    if (credentialText(auth, kept) === undefined) return undefined
    if (!this.#isForHere(kept, auth))
      throw new GuestError(
        'thrown',
        `The credentials were given for another address than ${destinationOf(auth) ?? 'that of the configuration'}: they have to be given again for this one.`,
        'auth',
      )
    return credentialOf(auth, kept)
  }

  async rotate(): Promise<{ resealed: number; lost: number }> {
    const counts = { resealed: 0, lost: 0 }
    for (const row of await listOutdated(this.#database, this.#box.keyId)) {
      const text = this.#box.open(row.sealed, row.keyId, belongsTo(row, row.field))
      if (text === null) counts.lost += 1
      else {
        await resealCredential(this.#database, row, {
          keyId: this.#box.keyId,
          sealed: this.#box.seal(text, belongsTo(row, row.field)),
        })
        counts.resealed += 1
      }
    }
    return counts
  }

  seal(text: string, owner: readonly string[]): { sealed: Buffer; keyId: string } {
    return { sealed: this.#box.seal(text, owner), keyId: this.#box.keyId }
  }

  open(sealed: Buffer, keyId: string, owner: readonly string[]): string | null {
    return this.#box.open(sealed, keyId, owner)
  }

  async #open(owner: CredentialOwner): Promise<Record<string, string>> {
    const opened: Record<string, string> = {}
    for (const { field, keyId, sealed } of await listCredentials(this.#database, owner)) {
      const text = this.#box.open(sealed, keyId, belongsTo(owner, field))
      if (text !== null) opened[field] = text
    }
    return opened
  }

  /** Whether what is kept may go where it would go now. */
  #isForHere(kept: Record<string, string>, auth: PluginAuth): boolean {
    const { [BOUND_TO]: given } = kept
    // Of before this was kept for all: the host stood in the manifest then, and its administrator has agreed to each change.
    if (given === undefined) return auth?.bind?.hostFrom === undefined
    return given === placesOf(auth)
  }
}

function belongsTo({ pluginId, userId }: CredentialOwner, field: string) {
  return [pluginId, userId ?? '', field]
}
