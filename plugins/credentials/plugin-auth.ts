import { refuse } from '#core/foundation/errors.ts'
import type { LocalServices } from '#core/settings/local-hosts.ts'
import type { Credential } from '#plugins/network/credential.ts'
import { ruleOfMember } from '#plugins/network/rules.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'

/** The state of a plugin's credentials for its service. */
export type AuthStatus = 'none' | 'missing' | 'connected' | 'expired'

/** The `auth` of a manifest. */
export type PluginAuth =
  | (NonNullable<Manifest['auth']> & {
      /** For a host from the configuration: its present scheme, host and port; undefined when none is entered. */
      origin?: string | undefined
      /** Why the address that is entered may not be contacted, with its member; undefined when it may, or none is entered. */
      problem?: string | undefined
    })
  | undefined

/**
 * @param plugin with its configuration as stored, without the defaults of its manifest
 * @param local hosts that are allowed for development: they may receive credentials too
 */
export function authOf(
  plugin: { manifest: Manifest; config: Readonly<Record<string, unknown>>; granted: Permissions | null; privateOrigins: string[] },
  local: LocalServices | undefined,
): PluginAuth {
  const { auth } = plugin.manifest
  const key = auth?.bind?.hostFrom
  if (auth === undefined || key === undefined) return auth
  const ruled = ruleOfMember(key, plugin, local)
  if (ruled === null) return { ...auth, origin: undefined }
  return 'rule' in ruled ? { ...auth, origin: ruled.rule.origin } : { ...auth, origin: undefined, problem: ruled.error }
}

/** Where credentials go, such as `https://api.example.org`; null when they go nowhere, or the configuration has no host. */
export function destinationOf(auth: PluginAuth): string | null {
  if (auth?.bind === undefined) return null
  return auth.bind.hostFrom === undefined ? `https://${auth.bind.host}` : (auth.origin ?? null)
}

/**
 * Checks the destination that a user confirms when entering credentials.
 * @param expected undefined when the request does not confirm one
 * @throws conflict when the credentials would go elsewhere by now
 */
export function confirmDestination(auth: PluginAuth, expected: string | undefined): void {
  const now = destinationOf(auth)
  if (expected !== undefined && expected !== now)
    refuse(
      'conflict',
      `The credentials would go to ${now ?? 'no host, because none is entered'}. Check credentialsHost again and confirm its value.`,
    )
}

/** Length of one field; signed tokens have some thousand characters. */
const FIELD_LENGTH_MAX = 10_000
/** The fields that administrators and users enter, by the kind of sign-in. */
export const CREDENTIAL_FIELDS: Record<NonNullable<Manifest['auth']>['type'], readonly string[]> = {
  none: [],
  apiKey: ['token'],
  basic: ['username', 'password'],
  oauth2: ['clientId', 'clientSecret', 'accessToken', 'refreshToken'],
}
/** Characters allowed in a header value. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** @throws invalid_value for fields that the plugin's kind of sign-in does not have, or that a header cannot contain */
export function checkFields(auth: PluginAuth, fields: Readonly<Record<string, string>>): void {
  const known = CREDENTIAL_FIELDS[auth?.type ?? 'none']
  for (const [field, text] of Object.entries(fields)) {
    const wrong = (message: string): never =>
      refuse('invalid_value', message, { details: [{ path: `/credentials/${field.slice(0, 64)}`, message }] })
    if (!known.includes(field)) wrong(`Unknown credential. Known are: ${known.join(', ') || 'none'}.`)
    if (text === '' || text.length > FIELD_LENGTH_MAX) wrong(`A credential must be a text of 1 to ${FIELD_LENGTH_MAX} characters.`)
    if (!HEADER_VALUE.test(text)) wrong('A credential must not contain line breaks or other characters that a header cannot contain.')
  }
}

/** The fields without which requests contain no credentials. */
export const neededFields = (auth: PluginAuth): readonly string[] =>
  auth?.type === 'oauth2' ? ['accessToken'] : CREDENTIAL_FIELDS[auth?.type ?? 'none']

/**
 * The message of a call that a service has refused: it cannot say that the request had no credentials.
 * @param how a sentence that says how to enter them
 * @param said what the call says of it
 */
export const describeMissing = (auth: PluginAuth, how: string, said: string): string =>
  `No credentials are entered for ${destinationOf(auth) ?? 'this plugin'}. ${how} It said: ${said}`

/** The value to put into requests; undefined when a required field is missing. */
export function credentialText(auth: PluginAuth, fields: Readonly<Record<string, string>>): string | undefined {
  const { token, username, password, accessToken } = fields
  const basic = username !== undefined && password !== undefined ? Buffer.from(`${username}:${password}`).toString('base64') : undefined
  return { none: undefined, apiKey: token, basic, oauth2: accessToken }[auth?.type ?? 'none']
}

/** The credential to add to requests to the host of `auth.bind`; undefined when a field or the host is missing. */
export function credentialOf(auth: PluginAuth, fields: Readonly<Record<string, string>>): Credential | undefined {
  const value = credentialText(auth, fields)
  if (auth?.bind === undefined || value === undefined || destinationOf(auth) === null) return undefined
  const { username = '', password = '' } = fields
  const { host = '', header, query, body, usernameField, format = '{token}' } = auth.bind
  const text = usernameField === undefined ? value : password
  return {
    ...(auth.bind.hostFrom === undefined ? { host } : { host: new URL(auth.origin as string).hostname, origin: auth.origin }),
    ...(header !== undefined
      ? { place: 'header' as const, name: header }
      : query !== undefined
        ? { place: 'query' as const, name: query }
        : { place: 'body' as const, name: body as string }),
    value: format.replace('{token}', () => text),
    ...(usernameField !== undefined && { username: { name: usernameField, value: username } }),
    ...(auth.type === 'basic' ? { secrets: [value, password], wholes: [`${username}:${password}`] } : { secrets: [value] }),
  }
}
