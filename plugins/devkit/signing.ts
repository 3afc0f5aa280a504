import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { publicKeyText, readPackage } from '#plugins/packages/plugin-package.ts'
import { readZip, writeZip } from '#plugins/packages/zip.ts'
import { ToolProblem } from './command.ts'
import { typed } from './typed.ts'

const INTEGRITY = 'META/integrity.json'
const SIGNATURE = 'META/signature.json'
/** A PEM file of an Ed25519 key has 119. */
const KEY_BYTES_MAX = 10_000
/** The package has been read within its limits, so no file in it is larger. */
const ANY_SIZE = 20 * 1024 * 1024

/**
 * Creates a key in a file that only its owner can read. Never overwrites a file: an author who loses the key of a plugin can no longer
 * update it.
 * @returns the public key, as packages contain it
 */
export async function createKey(file: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  try {
    await writeFile(file, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ToolProblem(code === 'EEXIST' ? `${file} already exists. Choose another name.` : `${file} cannot be written (${code}).`, {
      cause: error,
    })
  }
  return publicKeyText(privateKey)
}

/** @throws ToolProblem when the file contains no Ed25519 key */
export async function readKey(file: string): Promise<KeyObject> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new ToolProblem(`${file} cannot be read (${error.code}). Make a key with: ${typed(`sign --new-key ${file}`)}`, { cause: error })
  })
  let key: KeyObject | null = null
  try {
    if (bytes.length <= KEY_BYTES_MAX) key = createPrivateKey(bytes)
  } catch {
    // The error follows below.
  }
  if (key?.asymmetricKeyType !== 'ed25519')
    throw new ToolProblem(`${file} contains no private Ed25519 key in PEM. Make one with: ${typed('sign --new-key FILE')}`)
  return key
}

/**
 * Adds a signature to a package and keeps existing ones.
 * @throws AppError for an invalid package, ToolProblem when this key has already signed it
 */
export function signPackage(bytes: Buffer, key: KeyObject): Buffer {
  const { signedBy } = readPackage(bytes)
  const publicKey = publicKeyText(key)
  if (signedBy.includes(publicKey)) throw new ToolProblem('This key has already signed the package.')
  const files = new Map(readZip(bytes, () => ANY_SIZE).map(({ name, data }) => [name, data]))
  const before = files.get(SIGNATURE)
  const signatures = before === undefined ? [] : (JSON.parse(before.toString('utf8')) as object[])
  const signature = sign(null, files.get(INTEGRITY) as Buffer, key).toString('base64')
  files.set(SIGNATURE, Buffer.from(JSON.stringify([...signatures, { publicKey, signature }])))
  const signed = writeZip([...files].map(([name, data]) => ({ name, data })))
  // Also refuses more signatures than a package may have.
  readPackage(signed)
  return signed
}
