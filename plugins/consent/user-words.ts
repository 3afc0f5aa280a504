import { escapedText, strangerLines } from '#core/foundation/stranger-text.ts'
import type { userRecordOf } from '#plugins/consent/record.ts'
import { describeIdentity } from '#plugins/consent/record-lines.ts'
import { linkUrlsOf, type Manifest } from '#plugins/packages/manifest.ts'

type Told = Omit<Manifest, 'manifestVersion' | 'main' | 'version' | 'engine'>

/**
 * What a plugin asks of one user, in lines to read before agreeing. Words of its author stand on lines of their own, marked.
 * @param configuredHosts the hosts that an administrator has entered, by the member of the configuration
 */
export function describeForUser(
  { manifest, signedBy, repository }: ReturnType<typeof userRecordOf>,
  configuredHosts: Readonly<Record<string, string | null>>,
): string[] {
  const told = manifest as Told
  const { capabilities, permissions = {}, auth, userConfig } = told
  const library = permissions.library ?? []
  const quotaKB = permissions.storage?.quotaKB ?? 0
  return [
    ...describeIdentity({ manifest: told, signedBy, repository }),
    ...(capabilities.recommendations ? [`runs for you to recommend series (${capabilities.recommendations.methods.join(', ')})`] : []),
    ...(permissions.network ?? []).flatMap(({ host, methods = ['GET'], reason }) => [
      `connects to ${escapedText(host)} (${methods.join(', ')})`,
      ...strangerLines('the author says', reason),
    ]),
    ...Object.entries(configuredHosts).map(([key, origin]) =>
      origin === null
        ? `connects to a host that an administrator enters as ${escapedText(key)}; none is entered`
        : `connects to ${escapedText(origin)}, which an administrator has entered as ${escapedText(key)}`,
    ),
    library.length > 0 ? `reads your library: ${library.join(', ')}` : 'reads nothing of your library',
    ...describeSignIn(auth),
    ...describeSettings(userConfig),
    ...(quotaKB > 0 ? [`stores up to ${quotaKB} KB about you`] : []),
    ...[...new Set([...linkUrlsOf(capabilities).map(({ host }) => host), ...(capabilities.webLinks?.hosts ?? [])])].map(
      (host) => `shows links to ${escapedText(host)}`,
    ),
  ]
}

function describeSignIn(auth: Told['auth']): string[] {
  if (auth === undefined || auth.type === 'none') return []
  const whose = auth.scope === 'user' ? 'your credentials' : 'credentials of the server'
  const to = auth.bind?.host ?? (auth.bind?.hostFrom === undefined ? undefined : `the host entered as ${auth.bind.hostFrom}`)
  const { authorizeUrl, tokenUrl, scopes = [] } = auth.oauth2 ?? {}
  return [
    `sends ${whose} to ${to === undefined ? 'no host' : escapedText(to)}`,
    ...(authorizeUrl === undefined ? [] : [`lets you sign in at ${escapedText(authorizeUrl)}`]),
    ...(tokenUrl === undefined ? [] : [`gets tokens from ${escapedText(tokenUrl)}`]),
    ...(scopes.length === 0 ? [] : [`asks the service for these rights: ${scopes.map(escapedText).join(', ')}`]),
  ]
}

function describeSettings(userConfig: Told['userConfig']): string[] {
  const properties = Object.entries((userConfig?.['properties'] ?? {}) as Record<string, Record<string, unknown>>)
  return properties.flatMap(([key, member]) => [
    `${member['format'] === 'password' ? (member['x-receives-password'] === true ? 'receives your password' : 'keeps your password, without receiving it,') : 'receives your setting'} ${escapedText(key)}${member['default'] === undefined ? '' : `, by default ${escapedText(JSON.stringify(member['default']))}`}`,
    ...(typeof member['title'] === 'string' ? strangerLines('the author calls it', member['title']) : []),
  ])
}
