import { isDeepStrictEqual } from 'node:util'
import compare from 'semver/functions/compare.js'
import { refuse } from '#core/foundation/errors.ts'
import { briefText, quotedText } from '#core/foundation/stranger-text.ts'
import { type Manifest, PLUGIN_API } from '#plugins/packages/manifest.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import type { IndexPlugin, IndexVersion, PermissionSummary } from '#plugins/repositories/index-file.ts'
import { readRange } from '#plugins/repositories/version-range.ts'

/** The summary of a manifest's permissions for an index. */
export function permissionSummary(manifest: Manifest): PermissionSummary {
  const { network, networkFromConfig, library, storageKB, auth } = requestedPermissions(manifest)
  return {
    hosts: network.map(({ host }) => host).sort(),
    hostsFromConfig: networkFromConfig,
    library,
    storageKB,
    credentials: auth?.type ?? null,
  }
}

/** The entry of a plugin without its versions, from the manifest of its newest version. */
export function pluginEntry({ id, name, summary, author, capabilities }: Manifest): Omit<IndexPlugin, 'versions'> {
  return { id, name, summary, ...(author && { author: { name: author.name } }), capabilities: Object.keys(capabilities).sort() }
}

/** The entry of one version. @param plugin the entry of its plugin: the version has members of its own where it differs */
export function versionEntry(
  { manifest, sha256 }: { manifest: Manifest; sha256: string },
  location: Pick<IndexVersion, 'url' | 'size' | 'releasedAt'> & Partial<Pick<IndexVersion, 'server' | 'changelog' | 'yanked' | 'advisory'>>,
  plugin?: Omit<IndexPlugin, 'versions'>,
): IndexVersion {
  const { id: _id, ...own } = pluginEntry(manifest)
  const differing = Object.entries({ author: null, ...own }).filter(
    ([member, value]) => plugin !== undefined && !isDeepStrictEqual(value, plugin[member as keyof typeof own] ?? null),
  )
  return {
    version: manifest.version,
    pluginApi: manifest.engine.pluginApi,
    sha256,
    permissions: permissionSummary(manifest),
    ...Object.fromEntries(differing),
    ...location,
  }
}

/** What an index shows of one version: its own members, and those of its plugin. */
export function shownOf<Plugin extends Omit<IndexPlugin, 'versions'>>(
  plugin: Plugin,
  { name = plugin.name, summary = plugin.summary, author = plugin.author, capabilities = plugin.capabilities }: IndexVersion,
): Plugin {
  const { author: _author, ...rest } = plugin
  return { ...rest, name, summary, capabilities, ...(author && { author }) } as Plugin
}

/** What only the repository says: where a package is, what it has become since, and on which servers it runs. Size and hash are checked before. */
type NotInPackages =
  | ('versions' | 'categories' | 'permissions')
  | ('url' | 'size' | 'sha256' | 'releasedAt' | 'server' | 'changelog' | 'yanked' | 'advisory')

/** The members of an entry that a package has too, in words. */
const MEMBERS = {
  id: 'identifier',
  version: 'version',
  name: 'name',
  summary: 'summary',
  author: 'author',
  capabilities: 'capabilities',
  pluginApi: 'range of the plugin interface',
  hosts: 'hosts',
  hostsFromConfig: 'settings with hosts',
  library: 'data of the library',
  storageKB: 'KB of storage',
  credentials: 'kind of sign-in',
} satisfies Record<Exclude<keyof IndexPlugin | keyof IndexVersion, NotInPackages> | keyof PermissionSummary, string>
type Members = Record<keyof typeof MEMBERS, string>

/** The members of an entry as texts: lists in one order. */
function membersOf(plugin: Omit<IndexPlugin, 'versions'>, version: IndexVersion): Members {
  const { id, name, summary, author, capabilities } = shownOf(plugin, version)
  const { permissions, pluginApi } = version
  const { hosts, hostsFromConfig, library, storageKB, credentials } = permissions
  const listed = (values: readonly string[]) => [...values].sort().join(', ')
  return {
    id,
    version: version.version,
    name,
    summary,
    author: author?.name ?? '',
    capabilities: listed(capabilities),
    pluginApi,
    hosts: listed(hosts),
    hostsFromConfig: listed(hostsFromConfig),
    library: listed(library),
    storageKB: String(storageKB),
    credentials: credentials ?? '',
  }
}

/** Characters of a value in a message. */
const SHOWN_LENGTH = 200

/** @throws conflict with the member in which the package differs from what its entry shows */
export function checkEntry(
  manifest: Manifest,
  { plugin, version }: { plugin: Omit<IndexPlugin, 'versions'>; version: IndexVersion },
): void {
  const { url, size, releasedAt } = version
  const promised = membersOf(plugin, version)
  const given = membersOf(pluginEntry(manifest), versionEntry({ manifest, sha256: version.sha256 }, { url, size, releasedAt }))
  const quoted = (text: string) => (text === '' ? 'nothing' : quotedText(briefText(text, SHOWN_LENGTH)))
  for (const [member, words] of Object.entries(MEMBERS) as [keyof Members, string][])
    if (promised[member] !== given[member])
      refuse(
        'conflict',
        `The package of ${plugin.id} ${version.version} differs from the index of the repository (${words}): the index lists ${quoted(promised[member])}, ` +
          `the package has ${quoted(given[member])}. It was not installed. Ask the publisher of the repository.`,
      )
}

/** The newest first; a repository may list versions in any order. */
export const newestFirst = <Version extends Pick<IndexVersion, 'version'>>(versions: readonly Version[]): Version[] =>
  [...versions].sort((a, b) => compare(b.version, a.version))

export interface Hindrance {
  code: 'plugin_api' | 'server' | 'yanked' | 'revoked'
  /** A sentence for administrators. */
  message: string
}

/**
 * Why a version cannot be installed here; null when it can.
 * @param revoked the reason of its revocation; null when it is not revoked
 */
export function hindranceOf(
  { pluginApi, server = '*', yanked }: IndexVersion,
  { serverVersion, revoked }: { serverVersion: string; revoked: string | null },
): Hindrance | null {
  if (revoked !== null) return { code: 'revoked', message: `It was revoked. The repository says: ${quotedText(revoked)}` }
  if (yanked !== undefined) return { code: 'yanked', message: `Its publisher withdrew it, and says: ${quotedText(yanked)}` }
  if (!fits(`${PLUGIN_API}.0`, pluginApi))
    return { code: 'plugin_api', message: `It needs the plugin interface ${pluginApi}; this server offers ${PLUGIN_API}.` }
  if (!fits(serverVersion, server)) return { code: 'server', message: `It needs a server of version ${server}; this is ${serverVersion}.` }
  return null
}

/** A pre-release of the server counts as its release. */
function fits(version: string, text: string): boolean {
  return readRange(text)?.test(version.split('-', 1)[0] as string) ?? false
}
