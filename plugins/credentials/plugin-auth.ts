import { refuse } from '#core/foundation/errors.ts'
import type { LocalServices } from '#core/settings/local-places.ts'
import type { Credential } from '#plugins/network/credential.ts'
import { ruleOfAddress } from '#plugins/network/rules.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** How a plugin stands with the service that it speaks to, as far as it is told. */
export type AuthStatus = 'none' | 'missing' | 'connected' | 'expired'

/** What a manifest says of credentials. */
export type PluginAuth =
  | (NonNullable<Manifest['auth']> & {
      /** Where they go to an address of the configuration: its scheme, host and port as they are now; undefined where none was entered. */
      origin?: string | undefined
    })
  | undefined

/**
 * @param plugin with its configuration as it is stored, or as the plugin is given it
 * @param local places that are let through for development: credentials go there as requests do
 */
export function authOf(
  { manifest, config, privateHosts }: { manifest: Manifest; config: Readonly<Record<string, unknown>>; privateHosts: boolean },
  local: LocalServices | undefined,
): PluginAuth {
  const { auth } = manifest
  const key = auth?.bind?.hostFrom
  if (auth === undefined || key === undefined) return auth
  const members = manifest.config?.['properties'] as Record<string, { default?: unknown }> | undefined
  const ruled = ruleOfAddress(config[key] ?? members?.[key]?.default, { isPrivate: privateHosts, local })
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

/** Of one field; tokens that are signed statements have some thousand characters. */
const FIELD_LENGTH_MAX = 10_000
/** What an administrator or a reader gives, by the kind of sign-in. */
export const CREDENTIAL_FIELDS: Record<NonNullable<Manifest['auth']>['type'], readonly string[]> = {
  none: [],
  apiKey: ['token'],
  basic: ['username', 'password'],
  oauth2: ['clientId', 'clientSecret', 'accessToken', 'refreshToken'],
}
/** What may stand in a header: nothing that ends it. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** @throws invalid_value for fields that the plugin's kind of sign-in does not have, or that no request can carry */
export function checkFields(auth: PluginAuth, fields: Readonly<Record<string, string>>): void {
  const known = CREDENTIAL_FIELDS[auth?.type ?? 'none']
  for (const [field, text] of Object.entries(fields)) {
    const wrong = (message: string): never =>
      refuse('invalid_value', message, { details: [{ path: `/credentials/${field.slice(0, 64)}`, message }] })
    if (!known.includes(field)) wrong(`There is no such credential; there are: ${known.join(', ') || 'none'}.`)
    if (text === '' || text.length > FIELD_LENGTH_MAX) wrong(`A credential is a text of 1 to ${FIELD_LENGTH_MAX} characters.`)
    if (!HEADER_VALUE.test(text)) wrong('A credential holds no line breaks and nothing that a header cannot carry.')
  }
}

/** What of the fields stands in a request; undefined where the kind of sign-in takes fields that are not there. */
export function credentialText(auth: PluginAuth, fields: Readonly<Record<string, string>>): string | undefined {
  const { token, username, password, accessToken } = fields
  const basic = username !== undefined && password !== undefined ? Buffer.from(`${username}:${password}`).toString('base64') : undefined
  return { none: undefined, apiKey: token, basic, oauth2: accessToken }[auth?.type ?? 'none']
}

/** What goes along with requests to the host of `auth.bind`; undefined where a field or the address is not there. */
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
