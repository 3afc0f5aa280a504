import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { refuse } from '#core/errors.ts'
import { type Manifest, readManifest } from '#plugins/manifest.ts'
import { readZip, writeZip, ZipError } from '#plugins/package/zip.ts'

/** What a package may hold beside its manifest and its one bundle. */
const NAMES =
  /^(manifest\.json|main\.js|main\.js\.map|icon\.(png|svg)|README\.md|CHANGELOG\.md|LICENSE|locales\/[a-zA-Z-]{2,35}\.json|META\/(integrity|signature)\.json)$/
const INTEGRITY = 'META/integrity.json'
const SIGNATURE = 'META/signature.json'
/** A bundle of one plugin; upstream-sized ones have 100 KB. */
const MAIN_BYTES_MAX = 2 * 1024 * 1024
const SIGNATURES_MAX = 4
const FORMAT = 1

export interface PluginPackage {
  manifest: Manifest
  /** The bundle. */
  code: string
  readme: string | null
  /** Of the whole file, lower-case hex. */
  sha256: string
  /** Ed25519 keys whose signatures over the list of files hold, base64 of their 32 bytes. */
  signedBy: string[]
}

interface Integrity {
  format: number
  id: string
  version: string
  files: { name: string; size: number; sha256: string }[]
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/**
 * Reads a package that somebody sent, and believes nothing of it before it is proved: names, sizes, checksums, the list of files, signatures,
 * the manifest. Nothing is unpacked to the disk, and no code runs.
 * @throws invalid_value with what is wrong
 */
export function readPackage(bytes: Buffer): PluginPackage {
  const files = new Map(unzip(bytes).map(({ name, data }) => [name, data]))
  const wrong = (message: string): never => refuse('invalid_value', message, { details: [{ path: '/file', message }] })
  const need = (name: string) => files.get(name) ?? wrong(`The package has no ${name}.`)
  const stranger = [...files.keys()].find((name) => !NAMES.test(name))
  if (stranger !== undefined) wrong(`"${stranger}" has no place in a package.`)
  const main = need('main.js')
  if (main.length > MAIN_BYTES_MAX) wrong(`main.js has ${main.length} bytes; ${MAIN_BYTES_MAX} are allowed.`)

  const manifest = readManifest(need('manifest.json'))
  const listed = need(INTEGRITY)
  const integrity = readJson<Integrity>(listed, INTEGRITY)
  if (
    integrity.format !== FORMAT ||
    integrity.id !== manifest.id ||
    integrity.version !== manifest.version ||
    !Array.isArray(integrity.files)
  )
    wrong(`${INTEGRITY} belongs to another plugin or version.`)
  const own = [...files.keys()].filter((name) => name !== INTEGRITY && name !== SIGNATURE)
  if (integrity.files.length !== own.length) wrong(`${INTEGRITY} does not list the files of the package.`)
  for (const { name, size, sha256: hash } of integrity.files) {
    const data = files.get(name)
    if (data === undefined || !own.includes(name) || data.length !== size || sha256(data) !== hash)
      wrong(`"${name}" is not the file that ${INTEGRITY} lists.`)
  }
  const signature = files.get(SIGNATURE)
  return {
    manifest,
    code: decode(main, 'main.js'),
    readme: files.has('README.md') ? decode(need('README.md'), 'README.md') : null,
    sha256: sha256(bytes),
    signedBy: signature === undefined ? [] : readSignatures(signature, listed, wrong),
  }
}

function unzip(bytes: Buffer): ReturnType<typeof readZip> {
  try {
    return readZip(bytes)
  } catch (error) {
    if (!(error instanceof ZipError)) throw error
    return refuse('invalid_value', error.message, { details: [{ path: '/file', message: error.message }] })
  }
}

const decode = (bytes: Buffer, name: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return refuse('invalid_value', `${name} is no UTF-8 text.`)
  }
}

function readJson<Value>(bytes: Buffer, name: string): Value {
  try {
    const value: unknown = JSON.parse(decode(bytes, name))
    if (value !== null && typeof value === 'object') return value as Value
  } catch {
    // Told below, in the same words as what is JSON but nothing of the kind.
  }
  return refuse('invalid_value', `${name} cannot be read.`)
}

/** Every signature there is must hold: a package with a wrong one has been changed. */
function readSignatures(bytes: Buffer, listed: Buffer, wrong: (message: string) => never): string[] {
  const signatures = readJson<{ publicKey?: unknown; signature?: unknown }[]>(bytes, SIGNATURE)
  if (!Array.isArray(signatures) || signatures.length === 0 || signatures.length > SIGNATURES_MAX)
    return wrong(`${SIGNATURE} cannot be read.`)
  return signatures.map(({ publicKey, signature }) => {
    const key = typeof publicKey === 'string' ? publicKeyOf(publicKey) : null
    if (key === null || typeof signature !== 'string' || !verify(null, listed, key, Buffer.from(signature, 'base64')))
      return wrong('A signature of the package does not hold: it was changed after it was signed.')
    return publicKey as string
  })
}

/** The fixed beginning of an Ed25519 key in the form that Node reads. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

function publicKeyOf(base64: string): KeyObject | null {
  const raw = Buffer.from(base64, 'base64')
  if (raw.length !== 32 || raw.toString('base64') !== base64) return null
  try {
    return createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' })
  } catch {
    return null
  }
}

/** The public half of a key as packages spell it. */
export const publicKeyText = (key: KeyObject): string =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(SPKI.length).toString('base64')

/** Packs files into a package: the same bytes for the same files and keys. @throws when the manifest is wrong */
export function packPlugin(files: ReadonlyMap<string, Uint8Array>, keys: readonly KeyObject[] = []): Buffer {
  const manifest = readManifest(files.get('manifest.json') ?? new Uint8Array())
  const names = [...files.keys()].sort()
  const integrity: Integrity = {
    format: FORMAT,
    id: manifest.id,
    version: manifest.version,
    files: names.map((name) => {
      const data = files.get(name) as Uint8Array
      return { name, size: data.length, sha256: sha256(data) }
    }),
  }
  const listed = Buffer.from(JSON.stringify(integrity))
  const signatures = keys.map((key) => ({ publicKey: publicKeyText(key), signature: sign(null, listed, key).toString('base64') }))
  const packed = writeZip([
    ...names.map((name) => ({ name, data: files.get(name) as Uint8Array })),
    { name: INTEGRITY, data: listed },
    ...(signatures.length > 0 ? [{ name: SIGNATURE, data: Buffer.from(JSON.stringify(signatures)) }] : []),
  ])
  // What cannot be read again must not leave the house.
  readPackage(packed)
  return packed
}
