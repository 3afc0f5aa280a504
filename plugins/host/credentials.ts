import type { Knex } from 'knex'
import { refuse } from '#core/errors.ts'
import {
  type CredentialOwner,
  listCredentials,
  listOutdated,
  replaceCredentials,
  resealCredential,
} from '#core/plugin/plugin-credential-store.ts'
import type { Credential } from '#plugins/egress/credential.ts'
import { ruleOfAddress } from '#plugins/egress/rules.ts'
import { openCredentialBox } from '#plugins/host/credential-box.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { GuestError } from '#plugins/isolate/guest-error.ts'
import type { Manifest } from '#plugins/manifest/manifest.ts'

/** How a plugin stands with the service that it speaks to, as far as it is told. */
export type AuthStatus = 'none' | 'missing' | 'connected' | 'expired'

/** What a manifest says of credentials. */
export type PluginAuth =
  | (NonNullable<Manifest['auth']> & {
      /** Where they go to an address of the configuration: its scheme, host and port as they are now; undefined where none was entered. */
      origin?: string | undefined
    })
  | undefined

/** @param plugin with its configuration as it is stored, or as the plugin is given it */
export function authOf({ manifest, config, privateHosts }: Pick<InstalledPlugin, 'manifest' | 'config' | 'privateHosts'>): PluginAuth {
  const { auth } = manifest
  const key = auth?.bind?.hostFrom
  if (auth === undefined || key === undefined) return auth
  const members = manifest.config?.['properties'] as Record<string, { default?: unknown }> | undefined
  const ruled = ruleOfAddress(config[key] ?? members?.[key]?.default, { isPrivate: privateHosts })
  return { ...auth, origin: 'rule' in ruled ? ruled.rule.origin : undefined }
}

/** Where credentials go, such as `https://api.example.org`; null where they go nowhere, or nobody has entered where. */
export function destinationOf(auth: PluginAuth): string | null {
  if (auth?.bind === undefined) return null
  return auth.bind.hostFrom === undefined ? `https://${auth.bind.host}` : (auth.origin ?? null)
}

/**
 * For whoever gives credentials and says where they are to go.
 * @param expected undefined where nothing was said
 * @throws conflict where they would go elsewhere by now
 */
export function confirmDestination(auth: PluginAuth, expected: string | undefined): void {
  const now = destinationOf(auth)
  if (expected !== undefined && expected !== now)
    refuse('conflict', `The credentials would go to ${now ?? 'no host: none is entered'}. Look at credentialsHost again, and confirm that.`)
}

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

/** Of one field; tokens that are signed statements have some thousand characters. */
const FIELD_LENGTH_MAX = 10_000
const FIELDS: Record<NonNullable<Manifest['auth']>['type'], readonly string[]> = {
  none: [],
  apiKey: ['token'],
  basic: ['username', 'password'],
  oauth2: ['clientId', 'clientSecret', 'accessToken', 'refreshToken'],
}
/** Kept and sealed beside the fields: where they were given for. No field of any kind of sign-in is called so. */
const BOUND_TO = 'boundTo'

/** All places that are told something of what is kept: whose plugin comes to name another by an update is not given what was for the first. */
function placesOf(auth: PluginAuth): string | null {
  const destination = destinationOf(auth)
  return destination === null || auth?.oauth2 === undefined ? destination : `${destination} ${new URL(auth.oauth2.tokenUrl).origin}`
}

/** What may stand in a header: nothing that ends it. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** @param secrets see openCredentialBox */
export function openCredentials(database: Knex, secrets: readonly string[]): Credentials {
  const box = openCredentialBox(secrets)
  const belongsTo = ({ pluginId, userId }: CredentialOwner, field: string) => [pluginId, userId ?? '', field]

  const open = async (owner: CredentialOwner): Promise<Record<string, string>> => {
    const opened: Record<string, string> = {}
    for (const { field, keyId, sealed } of await listCredentials(database, owner)) {
      const text = box.open(sealed, keyId, belongsTo(owner, field))
      if (text !== null) opened[field] = text
    }
    return opened
  }
  /** Whether what is kept may go where it would go now. */
  const isForHere = (kept: Record<string, string>, auth: PluginAuth): boolean => {
    const { [BOUND_TO]: given } = kept
    // Of before this was kept for all: the host stood in the manifest then, and its administrator has agreed to each change.
    if (given === undefined) return auth?.bind?.hostFrom === undefined
    return given === placesOf(auth)
  }

  return {
    async reveal(owner) {
      const { [BOUND_TO]: _, ...fields } = await open(owner)
      return fields
    },
    async set(owner, auth, fields, expiresAt = null, isWanted) {
      const known = FIELDS[auth?.type ?? 'none']
      for (const [field, text] of Object.entries(fields)) {
        const wrong = (message: string): never =>
          refuse('invalid_value', message, { details: [{ path: `/credentials/${field.slice(0, 64)}`, message }] })
        if (!known.includes(field)) wrong(`There is no such credential; there are: ${known.join(', ') || 'none'}.`)
        if (text === '' || text.length > FIELD_LENGTH_MAX) wrong(`A credential is a text of 1 to ${FIELD_LENGTH_MAX} characters.`)
        if (!HEADER_VALUE.test(text)) wrong('A credential holds no line breaks and nothing that a header cannot carry.')
      }
      const isGiven = Object.keys(fields).length > 0
      const places = placesOf(auth)
      if (isGiven && auth?.bind?.hostFrom !== undefined && places === null) {
        const message = `First enter the address that they go to: config/${auth.bind?.hostFrom}.`
        refuse('invalid_value', message, { details: [{ path: `/config/${auth.bind?.hostFrom}`, message }] })
      }
      const kept = { ...fields, ...(isGiven && places !== null && { [BOUND_TO]: places }) }
      return await replaceCredentials(
        database,
        owner,
        Object.entries(kept).map(([field, text]) => ({
          ...{ field, keyId: box.keyId, sealed: box.seal(text, belongsTo(owner, field)) },
          expiresAt: field === 'accessToken' ? expiresAt : null,
        })),
        isWanted,
      )
    },
    async state(owner) {
      const kept = await listCredentials(database, owner)
      const updated = kept.map(({ updatedAt }) => updatedAt.getTime())
      return {
        fields: kept.map(({ field }) => field).filter((field) => field !== BOUND_TO),
        expiresAt: kept.find(({ field }) => field === 'accessToken')?.expiresAt ?? null,
        updatedAt: updated.length === 0 ? null : new Date(Math.max(...updated)),
      }
    },
    async status(owner, auth) {
      if (auth === undefined || auth.type === 'none') return 'none'
      const kept = await listCredentials(database, owner)
      const needed = auth.type === 'oauth2' ? ['accessToken'] : FIELDS[auth.type]
      if (needed.some((field) => !kept.some((one) => one.field === field))) return 'missing'
      if (auth.bind !== undefined && !isForHere(await open(owner), auth)) return 'missing'
      const ends = kept.find(({ field }) => field === 'accessToken')?.expiresAt ?? null
      return ends !== null && ends.getTime() <= Date.now() ? 'expired' : 'connected'
    },
    async bound(owner, auth) {
      if (auth?.bind === undefined || auth.type === 'none') return undefined
      const kept = await open(owner)
      const { token, username, password, accessToken } = kept
      const basic = username !== undefined && password !== undefined ? Buffer.from(`${username}:${password}`).toString('base64') : undefined
      const value = { apiKey: token, basic, oauth2: accessToken }[auth.type]
      if (value === undefined) return undefined
      if (!isForHere(kept, auth))
        throw new GuestError(
          'thrown',
          `The credentials were given for another address than ${destinationOf(auth) ?? 'that of the configuration'}: they have to be given again for this one.`,
          'auth',
        )
      const { host = '', header, query, body, format = '{token}' } = auth.bind
      return {
        ...(auth.bind.hostFrom === undefined ? { host } : { host: new URL(auth.origin as string).hostname, origin: auth.origin }),
        ...(header !== undefined
          ? { place: 'header' as const, name: header }
          : query !== undefined
            ? { place: 'query' as const, name: query }
            : { place: 'body' as const, name: body as string }),
        value: format.replace('{token}', () => value),
        ...(auth.type === 'basic' ? { secrets: [value, password as string], wholes: [`${username}:${password}`] } : { secrets: [value] }),
      }
    },
    async rotate() {
      const counts = { resealed: 0, lost: 0 }
      for (const row of await listOutdated(database, box.keyId)) {
        const text = box.open(row.sealed, row.keyId, belongsTo(row, row.field))
        if (text === null) counts.lost += 1
        else {
          await resealCredential(database, row, { keyId: box.keyId, sealed: box.seal(text, belongsTo(row, row.field)) })
          counts.resealed += 1
        }
      }
      return counts
    },
    seal: (text, owner) => ({ sealed: box.seal(text, owner), keyId: box.keyId }),
    open: (sealed, keyId, owner) => box.open(sealed, keyId, owner),
  }
}
