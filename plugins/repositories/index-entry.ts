import { isDeepStrictEqual } from 'node:util'
import compare from 'semver/functions/compare.js'
import { refuse } from '#core/foundation/errors.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { type Manifest, PLUGIN_API } from '#plugins/packages/manifest.ts'
import { permissionsOf } from '#plugins/packages/permissions.ts'
import type { IndexPlugin, IndexVersion, PermissionSummary } from '#plugins/repositories/index-file.ts'
import { readRange } from '#plugins/repositories/version-range.ts'

/** The summary of a manifest's permissions for an index. */
export function summaryOf(manifest: Manifest): PermissionSummary {
  const { network, networkFromConfig, library, storageKB, auth } = permissionsOf(manifest)
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

/** The entry of one version. */
export function versionEntry(
  { manifest, sha256 }: { manifest: Manifest; sha256: string },
  location: Pick<IndexVersion, 'url' | 'size' | 'releasedAt'> & Partial<Pick<IndexVersion, 'server' | 'changelog' | 'yanked' | 'advisory'>>,
): IndexVersion {
  return { version: manifest.version, pluginApi: manifest.engine.pluginApi, sha256, permissions: summaryOf(manifest), ...location }
}

/** @throws conflict when the package differs from its entry */
export function checkEntry(manifest: Manifest, entry: { id: string; version: IndexVersion }): void {
  const { id, version } = entry
  const no = (what: string) => refuse('conflict', `The package of ${id} ${version.version} ${what}. It was not installed.`)
  if (manifest.id !== id) no('contains another plugin than the index of the repository lists')
  if (manifest.version !== version.version) no('contains another version than the index of the repository lists')
  if (manifest.engine.pluginApi !== version.pluginApi)
    no('needs another version of the plugin interface than the index of the repository lists')
  const { hosts, hostsFromConfig, library, storageKB, credentials } = version.permissions
  const promised = {
    hosts: [...hosts].sort(),
    hostsFromConfig: [...hostsFromConfig].sort(),
    library: [...library].sort(),
    storageKB,
    credentials,
  } satisfies PermissionSummary
  if (!isDeepStrictEqual(promised, summaryOf(manifest))) no('requests other permissions than the index of the repository lists')
}

/** The newest first; a repository may list versions in any order. */
export const newestFirst = (versions: readonly IndexVersion[]): IndexVersion[] =>
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
