import compare from 'semver/functions/compare.js'
import { refuse } from '#core/foundation/errors.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import type { PluginPackage } from '#plugins/packages/plugin-package.ts'

/** Who may provide the next version of a plugin. Kept for its id when a version is rolled back and when the plugin is uninstalled. */
export interface PluginIdentity {
  /** The id of the manifest. */
  key: string
  /** Ed25519 keys, base64; none while no version was signed. */
  signers: readonly string[]
  /** Whether a signed list names them: then one of them is enough. Otherwise all must sign, because anybody can have added one of them. */
  named: boolean
  /** The version that named them. */
  version: string
  /** The address of the repository that it belongs to; null for files that an administrator installs. */
  repository: string | null
}

/** Where a package comes from, and what a person confirms. */
export interface PackageOrigin {
  repository: string | null
  /** The fingerprint of a key that a person trusts for this plugin. */
  trustKey?: string | undefined
  /** Where the plugin belongs now, if a person moves it: the address of a repository, or {@link FILES}. */
  moveFrom?: string | undefined
}

/** In place of an address. */
const FILES = 'files'

/** The same plugin with this package, and the signers that count. */
interface Accepted {
  identity: PluginIdentity
  signedBy: string[]
}

type Signed = Pick<PluginPackage, 'manifest' | 'signedBy' | 'nextSigners'>

/** @throws conflict when the package is signed by others, or comes from elsewhere, than the identity allows and the person has confirmed */
export function checkIdentity(before: PluginIdentity | null, read: Signed, origin: PackageOrigin): Accepted {
  const trusted = findTrusted(read, origin)
  const follows = before !== null && mayFollow(before, read.signedBy)
  if (before !== null && before.signers.length > 0 && !follows && trusted === null) refuseSigner(before, read, origin)
  const staysInPlace = before === null || origin.repository === before.repository || (origin.repository === null && follows)
  if (!staysInPlace && origin.moveFrom !== (before.repository ?? FILES)) refuseMove(before, read, origin)
  const { id: key, version } = read.manifest
  const repository = before !== null && origin.repository === null && follows ? before.repository : origin.repository
  if (read.nextSigners === null) {
    // Of several signatures, only those of the trusted keys count: anybody can have added the others.
    if (before !== null && follows)
      return { identity: { ...before, repository }, signedBy: read.signedBy.filter((one) => before.signers.includes(one)) }
    const signedBy = trusted === null ? read.signedBy : [trusted]
    return { identity: { key, signers: signedBy, named: false, version, repository }, signedBy }
  }
  // An older version must not bring back keys that a newer one no longer names.
  const isOlder = before !== null && follows && before.named && compare(version, before.version) <= 0
  const signers = isOlder ? before.signers : read.nextSigners
  return { identity: { key, signers, named: true, version: isOlder ? before.version : version, repository }, signedBy: read.signedBy }
}

function mayFollow({ signers, named }: PluginIdentity, signedBy: readonly string[]): boolean {
  const hasSigned = (key: string) => signedBy.includes(key)
  return signers.length > 0 && (named ? signers.some(hasSigned) : signers.every(hasSigned))
}

function findTrusted({ manifest: { id, version }, signedBy }: Signed, { trustKey }: PackageOrigin): string | null {
  if (trustKey === undefined) return null
  return (
    signedBy.find((key) => fingerprintOf(key) === trustKey) ??
    refuse('conflict', `${id} ${version} is ${describeSigners(signedBy)}, and not with ${trustKey}, which you trust. It was not installed.`)
  )
}

const describeSigners = (keys: readonly string[]) =>
  keys.length === 0 ? 'not signed' : `signed with ${keys.map(fingerprintOf).join(' and ')}`

function refuseSigner(
  { signers, named, version: since }: PluginIdentity,
  { manifest: { id, version }, signedBy }: Signed,
  origin: PackageOrigin,
): never {
  const keys = signers.map(fingerprintOf).join(named ? ' or ' : ' and ')
  const trust = `If its author tells you in another way that the new key is theirs, confirm the key: ${confirming('trustKey', signedBy.map(fingerprintOf)[0] ?? '', origin)}.`
  return refuse(
    'conflict',
    `${id} ${version} is ${describeSigners(signedBy)}. Since ${since} it must be signed with ${keys}. ${
      signedBy.length === 0 ? 'A package without a signature cannot replace a signed one; ask its author for a signed one.' : trust
    }`,
  )
}

/** How a request confirms something: an upload has its package as body, an installation from a repository has a JSON object. */
const confirming = (name: keyof typeof CONFIRMING_FLAGS, value: string, { repository }: Pick<PackageOrigin, 'repository'>): string =>
  repository === null ? `query parameter ${name}=${value}` : `"${name}": "${value}" in the body`

const CONFIRMING_FLAGS = { trustKey: '--trust-key', moveFrom: '--move-from' }

/** What these errors say for a command line, where the parameters of a request that confirm something are flags. */
export const withConfirmingFlags = (message: string): string =>
  message.replace(
    /query parameter (trustKey|moveFrom)=|"(trustKey|moveFrom)": "([^"]*)" in the body/,
    (_, parameter?: keyof typeof CONFIRMING_FLAGS, member?: keyof typeof CONFIRMING_FLAGS, value = '') =>
      `${CONFIRMING_FLAGS[(parameter ?? member) as keyof typeof CONFIRMING_FLAGS]} ${value}`,
  )

const placeOf = (repository: string | null) => repository ?? 'files that an administrator installs'

function refuseMove(before: PluginIdentity, { manifest: { id, version } }: Signed, origin: PackageOrigin): never {
  return refuse(
    'conflict',
    `${id} belongs to ${placeOf(before.repository)}, and this package of ${version} comes from ${placeOf(origin.repository)}. ` +
      `If it shall come from there from now on, confirm that: ${confirming('moveFrom', before.repository ?? FILES, origin)}.`,
  )
}
