import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { findIdentity, listIdentities, recordIdentity } from '#plugins/host/plugin-identity-store.ts'
import { bundledPlugins } from '#plugins/packages/bundled-plugins.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { checkIdentity, type PackageOrigin, type PluginIdentity } from '#plugins/packages/identity.ts'
import type { PluginPackage } from '#plugins/packages/plugin-package.ts'
import { isReservedId, similarIds } from '#plugins/packages/similar-ids.ts'

/** Who signed a package, for the person who decides; keys are fingerprints. */
export interface PluginSignature {
  signedBy: string[]
  /** Who could sign it until now; empty for the first version. */
  signedBefore: string[]
  /** Who can sign the next version. */
  mayFollow: string[]
  /** Sentences about what the signature does not prove. */
  remarks: string[]
}

/** A package of a plugin, and the identity before and after it; null for the server's own. */
export interface Identified {
  signedBy: string[]
  before: PluginIdentity | null
  after: PluginIdentity | null
  signature: PluginSignature
}

/** Names in a remark; more say no more. */
const NAMES_MAX = 5

/** Checks a package against the identity of its plugin, and records the next one. Call it in the transaction that has locked the plugin. */
export async function identify(trx: Knex, read: PluginPackage, origin: PackageOrigin): Promise<Identified> {
  const { id } = read.manifest
  // These are the server's own bytes, which was checked before.
  if (isReservedId(id))
    return { signedBy: [], before: null, after: null, signature: { signedBy: [], signedBefore: [], mayFollow: [], remarks: [] } }
  const before = await findIdentity(trx, id)
  const { identity, signedBy } = checkIdentity(before, read, origin)
  const others = await listIdentities(trx)
  // Who signs a plugin that nobody has signed is a stranger, until a person consents to that (acceptSigners) or names the key.
  const after =
    before !== null && before.signers.length === 0 && origin.trustKey === undefined
      ? { ...before, repository: identity.repository }
      : identity
  await recordIdentity(trx, after)
  return {
    signedBy,
    before,
    after,
    signature: {
      signedBy: signedBy.map(fingerprintOf),
      signedBefore: (before?.signers ?? []).map(fingerprintOf),
      mayFollow: identity.signers.map(fingerprintOf),
      remarks: [...signatureRemarks(read, signedBy, others), ...nameRemarks(id, [...others.map(({ key }) => key), ...(await ownIds())])],
    },
  }
}

/** Those who signed a package and count, as {@link identify} stores them when it is installed from a file; all when that would be refused. */
export async function countedSigners(database: Knex, read: PluginPackage): Promise<string[]> {
  if (isReservedId(read.manifest.id)) return []
  try {
    return checkIdentity(await findIdentity(database, read.manifest.id), read, { repository: null }).signedBy
  } catch (error) {
    if (error instanceof AppError) return read.signedBy
    throw error
  }
}

/** @throws conflict when the package has an id of the server's own plugins, or one that looks like it, and is not what the server brings */
export async function checkReservedId(id: string, sha256: string): Promise<void> {
  if (!isReservedId(id)) return
  const own = (await bundledPlugins()).find(({ key }) => key === id)
  if (own !== undefined && createHash('sha256').update(own.bytes).digest('hex') === sha256) return
  refuse(
    'conflict',
    own === undefined
      ? `${id} looks like an id below carrel., which only plugins have that come with the server. Its author must give it another id.`
      : `${id} comes with this server, and this package is another one (SHA-256 ${sha256}). Install the server's own: it changes only with the server.`,
  )
}

/** What it means that nobody signed a package; not of the server's own, which change only with it. */
export const unsignedRemarks = (id: string, signedBy: readonly string[]): string[] =>
  signedBy.length > 0 || isReservedId(id)
    ? []
    : ['The package is not signed: whoever can give you a file or changes its repository can make an update of it.']

const ownIds = async () => (await bundledPlugins()).map(({ key }) => key)

function signatureRemarks(
  { manifest: { id }, nextSigners }: PluginPackage,
  signedBy: readonly string[],
  others: readonly Pick<PluginIdentity, 'key' | 'signers'>[],
): string[] {
  if (signedBy.length === 0) return unsignedRemarks(id, signedBy)
  const shared = others.filter(({ key, signers }) => key !== id && signers.some((one) => signedBy.includes(one))).map(({ key }) => key)
  return [
    ...(nextSigners === null ? ['The signature does not name who may follow: updates must be signed with the same keys.'] : []),
    ...(shared.length > 0
      ? [`The key also signs ${shared.slice(0, NAMES_MAX).join(', ')}${shared.length > NAMES_MAX ? ' and others' : ''}.`]
      : []),
  ]
}

function nameRemarks(id: string, others: readonly string[]): string[] {
  const similar = similarIds(id, others)
  return similar.length > 0 ? [`The id looks like ${similar.slice(0, NAMES_MAX).join(', ')}, which is another plugin.`] : []
}
