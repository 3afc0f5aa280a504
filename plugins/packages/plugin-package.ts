import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import type { Static } from 'typebox'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { refuse } from '#core/foundation/errors.ts'
import { MANIFEST_BYTES_MAX, type Manifest } from '#plugins/packages/manifest.ts'
import { readPlainJson, shown } from '#plugins/packages/plain-json.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { keptMapOf } from '#plugins/packages/source-map.ts'
import { readZip, writeZip, ZipError, type ZipFile } from '#plugins/packages/zip.ts'

const INTEGRITY = 'META/integrity.json'
const SIGNATURE = 'META/signature.json'
const KB = 1024
/**
 * What a package may hold, and how much of it. A bundle has 100 KB as a rule and its map a few times that; texts are read by people; the lists of
 * META have a line for each of the 64 files that a package may have.
 */
const PLACES: readonly [name: RegExp, bytesMax: number][] = [
  [/^manifest\.json$/, MANIFEST_BYTES_MAX],
  [/^main\.js$/, 2 * KB * KB],
  [/^main\.js\.map$/, 8 * KB * KB],
  [/^icon\.(png|svg)$/, 64 * KB],
  [/^(README\.md|CHANGELOG\.md|LICENSE)$/, 256 * KB],
  [/^locales\/[a-zA-Z-]{2,35}\.json$/, 128 * KB],
  [/^META\/(integrity|signature)\.json$/, 32 * KB],
]
const bytesMaxOf = (name: string): number | null => PLACES.find(([place]) => place.test(name))?.[1] ?? null

/** Closed, for what is signed must be read in one way only; another form is another `format`. */
const Integrity = Type.Object(
  {
    format: Type.Literal(1),
    id: Type.String(),
    version: Type.String(),
    files: Type.Array(Type.Object({ name: Type.String(), size: Type.Integer(), sha256: Type.String() }, { additionalProperties: false })),
  },
  { additionalProperties: false },
)
type Integrity = Static<typeof Integrity>
const isIntegrity = Compile(Integrity)

const SIGNATURES_MAX = 4
const isSignatures = Compile(
  Type.Array(Type.Object({ publicKey: Type.String(), signature: Type.String() }), { minItems: 1, maxItems: SIGNATURES_MAX }),
)

export interface PluginPackage {
  manifest: Manifest
  /** The bundle. */
  code: string
  /** JSON of what is kept of its source map; null where there is none, or none that can be used. */
  sourceMap: string | null
  readme: string | null
  /** Of the whole file, lower-case hex. */
  sha256: string
  /** Ed25519 keys whose signatures over the list of files hold, base64 of their 32 bytes. */
  signedBy: string[]
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function wrong(message: string): never {
  refuse('invalid_value', message, { details: [{ path: '/file', message }] })
}

/**
 * Reads a package that somebody sent, and believes nothing of it before it is proved: names, sizes, checksums, the list of files, signatures,
 * the manifest. Nothing is unpacked to the disk, and no code runs.
 * @throws invalid_value with what is wrong
 */
export function readPackage(bytes: Buffer): PluginPackage {
  const files = new Map(asRefusal(() => readZip(bytes, bytesMaxOf)).map(({ name, data }: ZipFile) => [name, data]))
  const need = (name: string) => files.get(name) ?? wrong(`The package has no ${name}.`)
  const main = need('main.js')
  const manifest = readManifest(need('manifest.json'))
  const listed = need(INTEGRITY)
  checkIntegrity(listed, manifest, files)
  const signature = files.get(SIGNATURE)
  return {
    manifest,
    code: readText(main, 'main.js'),
    sourceMap: keptMapOf(files.get('main.js.map')),
    readme: files.has('README.md') ? readText(need('README.md'), 'README.md') : null,
    sha256: sha256(bytes),
    signedBy: signature === undefined ? [] : readSignatures(signature, listed),
  }
}

function asRefusal<Result>(zip: () => Result): Result {
  try {
    return zip()
  } catch (error) {
    if (error instanceof ZipError) return wrong(error.message)
    throw error
  }
}

function readText(bytes: Buffer, name: string): string {
  // The database keeps no text with NUL, and none is written by people.
  if (bytes.includes(0)) wrong(`${name} holds NUL.`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return wrong(`${name} is no UTF-8 text.`)
  }
}

/** Every file but the list and its signatures is on the list once, as it is, and nothing else is. */
function checkIntegrity(listed: Buffer, { id, version }: Manifest, files: ReadonlyMap<string, Buffer>): void {
  const integrity = readPlainJson(listed, (message) => wrong(`${INTEGRITY}: ${message}.`))
  if (!isIntegrity.Check(integrity)) wrong(`${INTEGRITY} is no list of files of format 1.`)
  if (integrity.id !== id || integrity.version !== version) wrong(`${INTEGRITY} belongs to another plugin or version.`)
  const left = new Map(files)
  left.delete(INTEGRITY)
  left.delete(SIGNATURE)
  for (const { name, size, sha256: hash } of integrity.files) {
    const data = left.get(name)
    if (data === undefined) wrong(`${INTEGRITY} lists "${shown(name)}" twice, or it is not in the package.`)
    if (data.length !== size || sha256(data) !== hash) wrong(`"${name}" is not the file that ${INTEGRITY} lists.`)
    left.delete(name)
  }
  const [extra] = left.keys()
  if (extra !== undefined) wrong(`"${extra}" is in the package, but ${INTEGRITY} does not list it.`)
}

/** Every signature there is must hold: a package with a wrong one has been changed. */
function readSignatures(bytes: Buffer, listed: Buffer): string[] {
  const signatures = readPlainJson(bytes, (message) => wrong(`${SIGNATURE}: ${message}.`))
  if (!isSignatures.Check(signatures)) return wrong(`${SIGNATURE} is no list of 1 to ${SIGNATURES_MAX} signatures.`)
  const keys = signatures.map(({ publicKey, signature }) => {
    const key = readPublicKey(publicKey)
    if (key === null) return wrong(`"${shown(publicKey)}" is no Ed25519 key, or one that anybody can sign for.`)
    const raw = readBase64(signature, SIGNATURE_BYTES)
    if (raw === null || !verify(null, listed, key, raw))
      return wrong('A signature of the package does not hold: it was changed after it was signed.')
    return publicKey
  })
  if (new Set(keys).size < keys.length) wrong('The package is signed twice by the same key.')
  return keys
}

/** In the one spelling that there is for each value, so that keys can be compared as text. */
export function readBase64(text: string, length: number): Buffer | null {
  const raw = Buffer.from(text, 'base64')
  return raw.length === length && raw.toString('base64') === text ? raw : null
}

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/** The fixed beginning of an Ed25519 key in the form that Node reads. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
/** Coordinates are less than this prime. */
const PRIME = 2n ** 255n - 19n
/** One of the two coordinates of the points of order eight; the other is its negative. */
const ORDER_EIGHT = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n
/**
 * Points whose multiples are a handful: for a key like that a signature can be made that holds over most or all texts, without any secret.
 * Which of them a verifier takes differs; whoever trusts one may trust everybody.
 */
const LOW_ORDER = new Set([0n, 1n, PRIME - 1n, ORDER_EIGHT, PRIME - ORDER_EIGHT])

/** A key as packages and indexes spell it; null for what is none, and for one that anybody can sign for. */
export function readPublicKey(base64: string): KeyObject | null {
  const raw = readBase64(base64, KEY_BYTES)
  if (raw === null) return null
  // Little-endian; the topmost bit is the sign of the other coordinate. A coordinate from the prime on is a second spelling of a key.
  const y = BigInt(`0x${Buffer.from(raw).reverse().toString('hex')}`) & (2n ** 255n - 1n)
  if (y >= PRIME || LOW_ORDER.has(y)) return null
  try {
    return createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' })
  } catch {
    return null
  }
}

/** The public half of an Ed25519 key as packages spell it. */
export function publicKeyText(key: KeyObject): string {
  if (key.asymmetricKeyType !== 'ed25519') return wrong('Packages are signed with Ed25519 keys alone.')
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI.length).toString('base64')
}

/**
 * Packs files into a package: the same bytes for the same files and keys.
 * @throws invalid_value for what could not be installed
 */
export function packPlugin(files: ReadonlyMap<string, Uint8Array>, keys: readonly KeyObject[] = []): Buffer {
  const manifest = readManifest(files.get('manifest.json') ?? wrong('The package has no manifest.json.'))
  const own = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, data]) => ({ name, data }))
  const integrity: Integrity = {
    format: 1,
    id: manifest.id,
    version: manifest.version,
    files: own.map(({ name, data }) => ({ name, size: data.length, sha256: sha256(data) })),
  }
  const listed = Buffer.from(JSON.stringify(integrity))
  const signatures = keys.map((key) => ({ publicKey: publicKeyText(key), signature: sign(null, listed, key).toString('base64') }))
  const packed = asRefusal(() =>
    writeZip([
      ...own,
      { name: INTEGRITY, data: listed },
      ...(signatures.length > 0 ? [{ name: SIGNATURE, data: Buffer.from(JSON.stringify(signatures)) }] : []),
    ]),
  )
  // What cannot be read again must not leave the house.
  readPackage(packed)
  return packed
}
