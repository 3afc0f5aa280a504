import type { Knex } from 'knex'
import { refuse } from '#core/errors.ts'
import {
  type CredentialOwner,
  listCredentials,
  listOutdated,
  replaceCredentials,
  resealCredential,
} from '#core/plugin/plugin-credential-store.ts'
import { openCredentialBox } from '#plugins/host/credential-box.ts'
import type { Manifest } from '#plugins/manifest/manifest.ts'

/** How a plugin stands with the service that it speaks to, as far as it is told. */
export type AuthStatus = 'none' | 'missing' | 'connected' | 'expired'

/** What requests to one host are given along. */
export interface BoundCredential {
  host: string
  header: string
  value: string
}

export interface Credentials {
  /**
   * Replaces what is kept; an empty record forgets it.
   * @param isWanted asked in the same transaction: somebody may have said otherwise since it was begun
   * @returns false where it was not wanted any more, or the plugin is gone
   * @throws invalid_value for fields that the plugin's kind of sign-in does not have
   */
  set(
    owner: CredentialOwner,
    auth: Manifest['auth'],
    fields: Readonly<Record<string, string>>,
    expiresAt?: Date | null,
    isWanted?: (trx: Knex) => Promise<boolean>,
  ): Promise<boolean>
  /** The names of what is kept, and when it ends; never what it is. */
  state(owner: CredentialOwner): Promise<{ fields: string[]; expiresAt: Date | null; updatedAt: Date | null }>
  status(owner: CredentialOwner, auth: Manifest['auth']): Promise<AuthStatus>
  /** What is kept, for the server's own use: plugins never see it. */
  reveal(owner: CredentialOwner): Promise<Record<string, string>>
  /** What goes along with requests to the host of `auth.bind`; undefined when nothing is kept. */
  bound(owner: CredentialOwner, auth: Manifest['auth']): Promise<BoundCredential | undefined>
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
/** What may stand in a header: nothing that ends it. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** @param secrets see openCredentialBox */
export function openCredentials(database: Knex, secrets: readonly string[]): Credentials {
  const box = openCredentialBox(secrets)
  const belongsTo = ({ pluginId, userId }: CredentialOwner, field: string) => [pluginId, userId ?? '', field]

  const reveal = async (owner: CredentialOwner): Promise<Record<string, string>> => {
    const opened: Record<string, string> = {}
    for (const { field, keyId, sealed } of await listCredentials(database, owner)) {
      const text = box.open(sealed, keyId, belongsTo(owner, field))
      if (text !== null) opened[field] = text
    }
    return opened
  }

  return {
    reveal,
    async set(owner, auth, fields, expiresAt = null, isWanted) {
      const known = FIELDS[auth?.type ?? 'none']
      for (const [field, text] of Object.entries(fields)) {
        const wrong = (message: string): never =>
          refuse('invalid_value', message, { details: [{ path: `/credentials/${field.slice(0, 64)}`, message }] })
        if (!known.includes(field)) wrong(`There is no such credential; there are: ${known.join(', ') || 'none'}.`)
        if (text === '' || text.length > FIELD_LENGTH_MAX) wrong(`A credential is a text of 1 to ${FIELD_LENGTH_MAX} characters.`)
        if (!HEADER_VALUE.test(text)) wrong('A credential holds no line breaks and nothing that a header cannot carry.')
      }
      return await replaceCredentials(
        database,
        owner,
        Object.entries(fields).map(([field, text]) => ({
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
        fields: kept.map(({ field }) => field),
        expiresAt: kept.find(({ field }) => field === 'accessToken')?.expiresAt ?? null,
        updatedAt: updated.length === 0 ? null : new Date(Math.max(...updated)),
      }
    },
    async status(owner, auth) {
      if (auth === undefined || auth.type === 'none') return 'none'
      const kept = await listCredentials(database, owner)
      const needed = auth.type === 'oauth2' ? ['accessToken'] : FIELDS[auth.type]
      if (needed.some((field) => !kept.some((one) => one.field === field))) return 'missing'
      const ends = kept.find(({ field }) => field === 'accessToken')?.expiresAt ?? null
      return ends !== null && ends.getTime() <= Date.now() ? 'expired' : 'connected'
    },
    async bound(owner, auth) {
      if (auth?.bind === undefined || auth.type === 'none') return undefined
      const { token, username, password, accessToken } = await reveal(owner)
      const basic = username !== undefined && password !== undefined ? Buffer.from(`${username}:${password}`).toString('base64') : undefined
      const value = { apiKey: token, basic, oauth2: accessToken }[auth.type]
      const { host, header, format } = auth.bind
      return value === undefined ? undefined : { host, header, value: format.replace('{token}', () => value) }
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
