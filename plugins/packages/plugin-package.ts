import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import type { Static } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { briefText } from '#core/foundation/stranger-text.ts'
import { ThreadHost } from '#core/foundation/thread-host.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { localeProblems } from '#plugins/packages/locales.ts'
import { MANIFEST_BYTES_MAX, type Manifest } from '#plugins/packages/manifest.ts'
import { readPlainJson } from '#plugins/packages/plain-json.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { storedMapOf } from '#plugins/packages/source-map.ts'
import { readZip, unpackedBytes, writeZip, wrong } from '#plugins/packages/zip.ts'

const INTEGRITY = 'META/integrity.json'
const SIGNATURE = 'META/signature.json'
const KB = 1024
/** Of the bundle. */
export const CODE_BYTES_MAX = 2 * KB * KB
/**
 * The files that a package may contain, and their size limits. A typical bundle has 100 KB, and its map a few times that; texts are for people; the
 * lists in META have a line for each of the at most 64 files of a package.
 */
const PLACES: readonly [name: RegExp, bytesMax: number][] = [
  [/^manifest\.json$/, MANIFEST_BYTES_MAX],
  [/^main\.js$/, CODE_BYTES_MAX],
  [/^main\.js\.map$/, 8 * KB * KB],
  [/^icon\.(png|svg)$/, 64 * KB],
  [/^(README\.md|CHANGELOG\.md|LICENSE)$/, 256 * KB],
  // Their names are checked with their content.
  [/^locales\/[^/]+\.json$/, 128 * KB],
  [/^META\/(integrity|signature)\.json$/, 32 * KB],
]
const bytesMaxOf = (name: string): number | null => PLACES.find(([place]) => place.test(name))?.[1] ?? null

const Files = Type.Array(Type.Object({ name: Type.String(), size: Type.Integer(), sha256: Type.String() }, { additionalProperties: false }))
/** An author seldom has a second key; each more is one more that may be stolen. */
const SIGNATURES_MAX = 4
const Keys = Type.Array(Type.String(), { maxItems: SIGNATURES_MAX })
/** Closed, because signed data must have only one interpretation; another form needs another `format`. */
const Integrity = Type.Object(
  {
    format: Type.Literal(2),
    id: Type.String(),
    version: Type.String(),
    /** The keys that sign this package: exactly these. Empty if it is not signed. */
    signers: Keys,
    /** The keys that may sign the next version: one of them is enough. */
    nextSigners: Keys,
    files: Files,
  },
  { additionalProperties: false },
)
type Integrity = Static<typeof Integrity>
const isIntegrity = Compile(Integrity)
/** Packages of earlier tools: the signed bytes do not say who signs, so anybody can add a signature. */
const isIntegrity1 = Compile(
  Type.Object({ format: Type.Literal(1), id: Type.String(), version: Type.String(), files: Files }, { additionalProperties: false }),
)

const isSignatures = Compile(
  Type.Array(Type.Object({ publicKey: Type.String(), signature: Type.String() }), { minItems: 1, maxItems: SIGNATURES_MAX }),
)

export interface PluginPackage {
  manifest: Manifest
  /** The bundle. */
  code: string
  /** The stored part of its source map as JSON; null when it has no valid one. */
  sourceMap: string | null
  readme: string | null
  /** Of the whole file, lower-case hex. */
  sha256: string
  /** Ed25519 keys with valid signatures over the list of files, base64 of their 32 bytes. */
  signedBy: string[]
  /** The keys that may sign the next version; null if the signed list does not name them (format 1). */
  nextSigners: string[] | null
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/**
 * Reads an untrusted package and verifies everything: names, sizes, checksums, the list of files, signatures, the manifest. Nothing is unpacked
 * to disk, and no code runs.
 * @throws invalid_value with what is wrong
 */
export function readPackage(bytes: Buffer): PluginPackage {
  const files = new Map(readZip(bytes, bytesMaxOf).map(({ name, data }) => [name, data]))
  const need = (name: string) => files.get(name) ?? wrong(`The package has no ${name}.`)
  const main = need('main.js')
  const manifest = readManifest(need('manifest.json'))
  const listed = need(INTEGRITY)
  const integrity = checkIntegrity(listed, manifest, files)
  checkLocales(files, manifest)
  checkIcon(files.get('icon.svg'))
  const signature = files.get(SIGNATURE)
  const signedBy = signature === undefined ? [] : readSignatures(signature, listed)
  if (integrity.format === 2) checkSigners(integrity, signedBy)
  return {
    manifest,
    code: readText(main, 'main.js'),
    sourceMap: storedMapOf(files.get('main.js.map')),
    readme: files.has('README.md') ? readText(need('README.md'), 'README.md') : null,
    sha256: sha256(bytes),
    // In the order of the list, which nobody can change.
    signedBy: integrity.format === 2 ? integrity.signers : signedBy,
    nextSigners: integrity.format === 2 ? integrity.nextSigners : null,
  }
}

/** What runs code, or loads something, when a page shows the picture as a document. */
const ACTIVE_SVG = /<\s*(?:[\w-]+:)?(?:script|foreignObject|iframe|object|embed|handler)\b|\son\w+\s*=|javascript:|<!ENTITY/i

function checkIcon(svg: Buffer | undefined): void {
  // Every character of UTF-16 and UTF-32 has such bytes, and XML has none.
  if (svg?.includes(0)) wrong('icon.svg is not in UTF-8: save it as UTF-8.')
  const [found] = ACTIVE_SVG.exec(svg?.toString('latin1') ?? '') ?? []
  if (found !== undefined) wrong(`icon.svg contains ${JSON.stringify(found.trim())}, which can run code. An icon only draws: remove it.`)
}

/** Unpacking and hashing take some milliseconds up to this size; most plugins are smaller. Starting a thread takes half a second of another core. */
const MAIN_BYTES_MAX = 1024 * 1024

const thread = new ThreadHost<Uint8Array, PluginPackage>({
  program: new URL('./package-thread.ts', import.meta.url),
  memoryMbMax: 256,
  youngMbMax: 16,
  // After a package, sometimes the next one is installed; the thread holds up to 256 MB.
  idleMs: 5_000,
  // The largest takes a fifth of a second; a busy machine needs ten times as long.
  jobMsMax: 60_000,
  // Of 10 MB each; only administrators install packages, seldom several at a time.
  queueMax: 20,
})

/**
 * Reads a package, a large one in a separate thread: unpacking and hashing the largest takes a fifth of a second, which would block the server.
 * A small package may be large after unpacking.
 * @throws invalid_value as readPackage; unavailable when reading fails
 */
export async function readPackageBeside(bytes: Buffer): Promise<PluginPackage> {
  // Refuses what has no valid directory, without a thread.
  if (unpackedBytes(bytes) <= MAIN_BYTES_MAX) return readPackage(bytes)
  return await thread.run(bytes).catch((error: unknown) => {
    if (error instanceof AppError) throw error
    return refuse('unavailable', 'Reading the package needs too much memory or time.', { cause: error })
  })
}

function readText(bytes: Buffer, name: string): string {
  // The database cannot store text with NUL, which nobody writes anyway.
  if (bytes.includes(0)) wrong(`${name} contains NUL.`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return wrong(`${name} is not UTF-8 text.`)
  }
}

/** Checks that the list contains every file except itself and the signatures, unchanged and once, and nothing else. */
function checkIntegrity(listed: Buffer, { id, version }: Manifest, files: ReadonlyMap<string, Buffer>) {
  const integrity = readPlainJson(listed, (message) => wrong(`${INTEGRITY}: ${message}.`))
  if (!isIntegrity.Check(integrity) && !isIntegrity1.Check(integrity))
    return wrong(`${INTEGRITY} is not a list of files in format 2 or 1, which this server reads.`)
  if (integrity.id !== id || integrity.version !== version) wrong(`${INTEGRITY} belongs to another plugin or version.`)
  const left = new Map(files)
  left.delete(INTEGRITY)
  left.delete(SIGNATURE)
  for (const { name, size, sha256: hash } of integrity.files) {
    const data = left.get(name)
    if (data === undefined) wrong(`${INTEGRITY} lists "${briefText(name)}" twice, or it is not in the package.`)
    if (data.length !== size || sha256(data) !== hash) wrong(`"${name}" differs from its entry in ${INTEGRITY}.`)
    left.delete(name)
  }
  const [extra] = left.keys()
  if (extra !== undefined) wrong(`"${extra}" is in the package, but ${INTEGRITY} does not list it.`)
  return integrity
}

/** Refuses translations that could not be shown in place of the texts of the manifest. Unknown ones may be for a newer server. */
function checkLocales(files: ReadonlyMap<string, Buffer>, manifest: Manifest): void {
  for (const [name, bytes] of files) {
    if (!name.startsWith('locales/')) continue
    const problem = localeProblems(name, bytes, manifest).find(({ isError }) => isError)
    if (problem !== undefined) wrong(`${name}${problem.member === '' ? '' : ` at ${briefText(problem.member)}`}: ${problem.message}.`)
  }
}

/** Checks that exactly the named keys have signed, so that a signature that somebody adds or removes changes nothing. */
function checkSigners({ signers, nextSigners }: Integrity, signedBy: readonly string[]): void {
  for (const keys of [signers, nextSigners]) {
    if (new Set(keys).size < keys.length) wrong(`${INTEGRITY} names a key twice.`)
    for (const key of keys) readKey(key)
  }
  const added = signedBy.find((key) => !signers.includes(key))
  if (added !== undefined)
    wrong(`The package is signed with ${fingerprintOf(added)}, which ${INTEGRITY} does not name: somebody added the signature.`)
  const missing = signers.find((key) => !signedBy.includes(key))
  if (missing !== undefined) wrong(`The signature with ${fingerprintOf(missing)} is missing, which ${INTEGRITY} names.`)
  if (signers.length > 0 !== nextSigners.length > 0)
    wrong(`${INTEGRITY} must name the keys that sign the next version if the package is signed, and only then.`)
}

/** Every signature must be valid: an invalid one means that the package was changed. */
function readSignatures(bytes: Buffer, listed: Buffer): string[] {
  const signatures = readPlainJson(bytes, (message) => wrong(`${SIGNATURE}: ${message}.`))
  if (!isSignatures.Check(signatures)) return wrong(`${SIGNATURE} is not a list of 1 to ${SIGNATURES_MAX} signatures.`)
  const keys = signatures.map(({ publicKey, signature }) => {
    const key = readKey(publicKey)
    const raw = readBase64(signature, SIGNATURE_BYTES)
    if (raw === null || !verify(null, listed, key, raw))
      return wrong('A signature of the package is invalid: it was changed after it was signed.')
    return publicKey
  })
  if (new Set(keys).size < keys.length) wrong('The package is signed twice by the same key.')
  return keys
}

const readKey = (publicKey: string): KeyObject =>
  readPublicKey(publicKey) ?? wrong(`"${briefText(publicKey)}" is not an Ed25519 key, or it is a weak key for which anybody can sign.`)

/** Only the canonical base64 of a value, so that keys can be compared as text. */
export function readBase64(text: string, length: number): Buffer | null {
  const raw = Buffer.from(text, 'base64')
  return raw.length === length && raw.toString('base64') === text ? raw : null
}

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/** The DER prefix of an Ed25519 public key for Node. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
/** Coordinates are smaller than this prime. */
const PRIME = 2n ** 255n - 19n
/** One of the y coordinates of the points of order eight; the other is its negative. */
const ORDER_EIGHT = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n
/**
 * Points of small order: for such a key, signatures that are valid for most or all texts can be made without a private key.
 * Verifiers differ in which of them they accept; a server that trusts one of these keys may trust anybody.
 */
const LOW_ORDER = new Set([0n, 1n, PRIME - 1n, ORDER_EIGHT, PRIME - ORDER_EIGHT])

/** A public key in base64, as in packages and indexes; null when it is invalid or weak. */
export function readPublicKey(base64: string): KeyObject | null {
  const raw = readBase64(base64, KEY_BYTES)
  if (raw === null) return null
  // Little-endian; the top bit is the sign of the other coordinate. A coordinate above the prime is a second encoding of a key.
  const y = BigInt(`0x${Buffer.from(raw).reverse().toString('hex')}`) & (2n ** 255n - 1n)
  if (y >= PRIME || LOW_ORDER.has(y)) return null
  try {
    return createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' })
  } catch {
    return null
  }
}

/** The public part of an Ed25519 key in base64, as in packages. */
export function publicKeyText(key: KeyObject): string {
  if (key.asymmetricKeyType !== 'ed25519') return wrong('Only Ed25519 keys can sign packages.')
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI.length).toString('base64')
}

/**
 * Packs files into a package; the same files and keys give the same bytes.
 * @param nextSigners public keys that may sign the next version; by default those that sign this one
 * @throws invalid_value for a package that no server would install
 */
export function packPlugin(
  files: ReadonlyMap<string, Uint8Array>,
  keys: readonly KeyObject[] = [],
  nextSigners: readonly string[] = keys.map(publicKeyText),
): Buffer {
  const manifest = readManifest(files.get('manifest.json') ?? wrong('The package has no manifest.json.'))
  if (Math.max(keys.length, nextSigners.length) > SIGNATURES_MAX)
    wrong(`A signed package has 1 to ${SIGNATURES_MAX} signatures, and names 1 to ${SIGNATURES_MAX} keys for the next version.`)
  const own = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, data]) => ({ name, data }))
  const integrity: Integrity = {
    format: 2,
    id: manifest.id,
    version: manifest.version,
    signers: keys.map(publicKeyText),
    nextSigners: [...nextSigners],
    files: own.map(({ name, data }) => ({ name, size: data.length, sha256: sha256(data) })),
  }
  const listed = Buffer.from(JSON.stringify(integrity))
  const signatures = keys.map((key) => ({ publicKey: publicKeyText(key), signature: sign(null, listed, key).toString('base64') }))
  const packed = writeZip([
    ...own,
    { name: INTEGRITY, data: listed },
    ...(signatures.length > 0 ? [{ name: SIGNATURE, data: Buffer.from(JSON.stringify(signatures)) }] : []),
  ])
  // Checks the result with the server's own parser.
  readPackage(packed)
  return packed
}
