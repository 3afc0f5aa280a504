import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { CredentialBox } from '#plugins/credentials/credential-box.ts'
import {
  type AuthStatus,
  checkFields,
  credentialOf,
  credentialText,
  destinationOf,
  neededFields,
  type PluginAuth,
} from '#plugins/credentials/plugin-auth.ts'
import {
  type CredentialOwner,
  fieldOfSetting,
  listCredentials,
  listOutdated,
  listSealed,
  listSecretSettings,
  replaceFields,
  resealCredential,
  type SealedCredential,
  settingOfField,
} from '#plugins/credentials/plugin-credential-store.ts'
import type { Credential } from '#plugins/network/credential.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'

/** Stored credentials and secret settings of several owners; never their values. */
export interface StoredCredentials {
  /** As `status` of {@link Credentials}. */
  status(owner: CredentialOwner, auth: PluginAuth): AuthStatus
  /** The names of the stored fields; none when they were entered for other hosts. */
  fields(owner: CredentialOwner, auth: PluginAuth): string[]
  /** The names of the secret settings. */
  settings(owner: CredentialOwner): string[]
}

/** Encrypted beside the fields: the hosts that they were entered for. No kind of sign-in has a field with this name. */
const BOUND_TO = 'boundTo'

const namesOf = (kept: readonly SealedCredential[]): string[] => kept.map(({ field }) => field).filter((field) => field !== BOUND_TO)

/** All hosts that receive the credentials or a part of them: an update that names another host does not get credentials for the first. */
function placesOf(auth: PluginAuth): string | null {
  const destination = destinationOf(auth)
  return destination === null || auth?.oauth2 === undefined ? destination : `${destination} ${new URL(auth.oauth2.tokenUrl).origin}`
}

/** The credentials of plugins for their services, and their secret settings: encrypted in the database. */
export class Credentials {
  readonly #database: Knex
  readonly #box: CredentialBox

  /** @param secrets see CredentialBox */
  constructor(database: Knex, secrets: readonly string[]) {
    this.#database = database
    this.#box = new CredentialBox(secrets)
  }

  /** The decrypted fields, for the server only: plugins never see them. None when they were entered for other hosts than those of `auth`. */
  async reveal(owner: CredentialOwner, auth: PluginAuth): Promise<Record<string, string>> {
    const kept = await this.#open(owner)
    if (!this.#isForHere(kept, auth)) return {}
    const { [BOUND_TO]: _, ...fields } = kept
    return fields
  }

  /** Whether some are stored that were entered for other hosts than those of `auth`, and so are not used. */
  async areElsewhere(owner: CredentialOwner, auth: PluginAuth): Promise<boolean> {
    const kept = await listCredentials(this.#database, owner)
    return kept.length > 0 && !this.#isForHere(this.#opened(owner, kept), auth)
  }

  /**
   * Replaces the stored credentials; an empty record deletes them. Credentials for a host from the configuration are valid for
   * its present value.
   * @param isWanted checked in the same transaction, because the user may have changed something since
   * @returns false when `isWanted` returns false, or the plugin is gone
   * @throws invalid_value for fields that the plugin's kind of sign-in does not have, or when the configuration has no host for them, or one that
   * may not be contacted
   */
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
      const message = auth.problem ?? `First enter the host that receives them: config/${auth.bind?.hostFrom}.`
      refuse('invalid_value', message, { details: [{ path: `/config/${auth.bind?.hostFrom}`, message }] })
    }
    const kept = { ...fields, ...(isGiven && places !== null && { [BOUND_TO]: places }) }
    const sealed = Object.entries(kept).map(([field, text]) => this.#sealed(owner, field, text, field === 'accessToken' ? expiresAt : null))
    return await replaceFields(this.#database, owner, { replaced: 'credentials', fields: sealed }, isWanted)
  }

  /** The names and expiry of the stored fields; never their values. */
  async state(owner: CredentialOwner): Promise<{ fields: string[]; expiresAt: Date | null; updatedAt: Date | null }> {
    const kept = await listCredentials(this.#database, owner)
    const updated = kept.map(({ updatedAt }) => updatedAt.getTime())
    return {
      fields: namesOf(kept),
      expiresAt: kept.find(({ field }) => field === 'accessToken')?.expiresAt ?? null,
      updatedAt: updated.length === 0 ? null : new Date(Math.max(...updated)),
    }
  }

  /** `missing` also when they were entered for another host than that of the configuration. */
  async status(owner: CredentialOwner, auth: PluginAuth): Promise<AuthStatus> {
    return auth === undefined || auth.type === 'none' ? 'none' : this.#statusOf(owner, auth, await listCredentials(this.#database, owner))
  }

  /** What is stored for the server and one user, by one statement. @param of.pluginId one plugin; null for all */
  async stored(of: { userId: string | null; pluginId: string | null }): Promise<StoredCredentials> {
    const byPlugin = Map.groupBy(await listSealed(this.#database, of), ({ pluginId }) => pluginId)
    const ofOwner = ({ pluginId, userId }: CredentialOwner) => (byPlugin.get(pluginId) ?? []).filter((row) => row.userId === userId)
    const credentialsOf = (owner: CredentialOwner) => ofOwner(owner).filter(({ field }) => settingOfField(field) === null)
    return {
      status: (owner, auth) => this.#statusOf(owner, auth, credentialsOf(owner)),
      fields: (owner, auth) => {
        const kept = credentialsOf(owner)
        return this.#isForHere(this.#opened(owner, kept), auth) ? namesOf(kept) : []
      },
      settings: (owner) => ofOwner(owner).flatMap(({ field }) => settingOfField(field) ?? []),
    }
  }

  #statusOf(owner: CredentialOwner, auth: PluginAuth, kept: readonly SealedCredential[]): AuthStatus {
    if (auth === undefined || auth.type === 'none') return 'none'
    if (neededFields(auth).some((field) => !kept.some((one) => one.field === field))) return 'missing'
    if (auth.bind !== undefined && !this.#isForHere(this.#opened(owner, kept), auth)) return 'missing'
    const ends = kept.find(({ field }) => field === 'accessToken')?.expiresAt ?? null
    return ends !== null && ends.getTime() <= Date.now() ? 'expired' : 'connected'
  }

  /**
   * The credential to add to requests to the host of `auth.bind`; undefined when none is stored.
   * @throws GuestError auth when it was entered for another host than that of the configuration, permission when that may not be contacted
   */
  async bound(owner: CredentialOwner, auth: PluginAuth): Promise<Credential | undefined> {
    if (auth?.bind === undefined || auth.type === 'none') return undefined
    const kept = await this.#open(owner)
    if (credentialText(auth, kept) === undefined) return undefined
    if (auth.problem !== undefined) refuseGuest('permission', auth.problem)
    if (!this.#isForHere(kept, auth))
      refuseGuest(
        'auth',
        `The credentials were given for another address than ${destinationOf(auth) ?? 'the host of the configuration'}. Enter them again for this one.`,
      )
    return credentialOf(auth, kept)
  }

  /**
   * Stores secret settings; null deletes one, and those that are not named stay.
   * @param isWanted as for `set`; returns false as that does
   */
  async setSettings(
    owner: CredentialOwner,
    settings: Readonly<Record<string, string | null>>,
    isWanted?: (trx: Knex) => Promise<boolean>,
  ): Promise<boolean> {
    const given = Object.entries(settings)
    const fields = given.flatMap(([name, text]) => (text === null ? [] : [this.#sealed(owner, fieldOfSetting(name), text)]))
    return await replaceFields(this.#database, owner, { replaced: given.map(([name]) => fieldOfSetting(name)), fields }, isWanted)
  }

  /** Those of the secret settings with these names, decrypted, for the code of a plugin whose record says that it receives them. */
  async revealSettings(owner: CredentialOwner, names: readonly string[]): Promise<Record<string, string>> {
    if (names.length === 0) return {}
    const rows = (await listSecretSettings(this.#database, owner)).filter(({ name }) => names.includes(name))
    const opened = rows.map(({ name, field, keyId, sealed }) => [name, this.#box.open(sealed, keyId, belongsTo(owner, field))] as const)
    return Object.fromEntries(opened.filter((entry): entry is [string, string] => entry[1] !== null))
  }

  /** Encrypts again with the first key everything that uses another. Returns the counts of re-encrypted rows and of those that no key decrypts. */
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

  /** Encrypts other secrets of the server, such as pending sign-ins. */
  seal(text: string, owner: readonly string[]): { sealed: Buffer; keyId: string } {
    return { sealed: this.#box.seal(text, owner), keyId: this.#box.keyId }
  }

  open(sealed: Buffer, keyId: string, owner: readonly string[]): string | null {
    return this.#box.open(sealed, keyId, owner)
  }

  #sealed(owner: CredentialOwner, field: string, text: string, expiresAt: Date | null = null) {
    return { field, keyId: this.#box.keyId, sealed: this.#box.seal(text, belongsTo(owner, field)), expiresAt }
  }

  async #open(owner: CredentialOwner): Promise<Record<string, string>> {
    return this.#opened(owner, await listCredentials(this.#database, owner))
  }

  #opened(owner: CredentialOwner, kept: readonly SealedCredential[]): Record<string, string> {
    const opened: Record<string, string> = {}
    for (const { field, keyId, sealed } of kept) {
      const text = this.#box.open(sealed, keyId, belongsTo(owner, field))
      if (text !== null) opened[field] = text
    }
    return opened
  }

  /** Whether the stored credentials may be sent to the present hosts. */
  #isForHere(kept: Record<string, string>, auth: PluginAuth): boolean {
    const { [BOUND_TO]: given } = kept
    // From before every kind stored its hosts: the manifest fixed the host then, and the administrator approved every change.
    if (given === undefined) return auth?.bind?.hostFrom === undefined
    return given === placesOf(auth)
  }
}

function belongsTo({ pluginId, userId }: CredentialOwner, field: string) {
  return [pluginId, userId ?? '', field]
}
