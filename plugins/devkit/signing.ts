import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { open, readFile, writeFile } from 'node:fs/promises'
import { AppError } from '#core/foundation/errors.ts'
import { type PluginPackage, packPlugin, publicKeyText, readPackage } from '#plugins/packages/plugin-package.ts'
import { readZip } from '#plugins/packages/zip.ts'
import { fileReason, ToolProblem } from './command.ts'
import { quotedWord, typedTool } from './typed.ts'

/** A PEM file of an Ed25519 key has 119. */
const KEY_BYTES_MAX = 10_000
/** Reading by the group or by all. */
const OTHERS_READ = 0o044
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
    throw new ToolProblem(
      code === 'EEXIST'
        ? `${file} already exists. Choose another name.`
        : `${file} cannot be written (${fileReason(error, 'ENOENT: its folder does not exist')}).`,
      {
        cause: error,
      },
    )
  }
  return publicKeyText(privateKey)
}

/** @throws ToolProblem when the file contains no Ed25519 key, or when others can read it */
export async function readKey(file: string): Promise<KeyObject> {
  const { bytes, mode } = await readPrivate(file).catch((error: NodeJS.ErrnoException) => {
    const advice = error.code === 'ENOENT' ? ` Make a key with: ${typedTool(`sign --new-key ${quotedWord(file)}`)}` : ''
    throw new ToolProblem(`${file} cannot be read (${fileReason(error)}).${advice}`, { cause: error })
  })
  let key: KeyObject | null = null
  try {
    if (bytes.length <= KEY_BYTES_MAX) key = createPrivateKey(bytes)
  } catch {
    // The error follows below.
  }
  if (key?.asymmetricKeyType !== 'ed25519')
    throw new ToolProblem(
      `${file} ${problemOfKey(bytes, key)}. Name the private key that \`sign --new-key\` has made, or make one: ${typedTool('sign --new-key FILE')}`,
    )
  // Windows has no such modes: every file has that of all.
  if (process.platform !== 'win32' && (mode & OTHERS_READ) !== 0)
    throw new ToolProblem(
      `${file} can be read by other accounts of this machine (mode ${(mode & 0o777).toString(8)}), and whoever has the key can sign in your name. Protect it: chmod 600 ${quotedWord(file)}. If somebody may have read it, sign the next version with it and name a new key with --next.`,
    )
  return key
}

/** Why a file cannot sign, as the end of a sentence that begins with its name. */
function problemOfKey(bytes: Buffer, key: KeyObject | null): string {
  const text = bytes.toString('latin1', 0, KEY_BYTES_MAX)
  if (key !== null) return `contains a key for ${key.asymmetricKeyType}, but packages are signed with Ed25519`
  if (bytes.length === 0) return 'is empty'
  if (text.includes('ENCRYPTED')) return 'contains a key that is protected by a passphrase, for which this tool does not ask'
  if (/BEGIN PUBLIC KEY|^ssh-/.test(text)) return 'contains a public key, which cannot sign'
  return `contains no private Ed25519 key in PEM${text.includes('BEGIN OPENSSH') ? ', but one of OpenSSH' : ''}`
}

/**
 * Signs a package that is not signed yet. The signed list names all signers, so they sign together.
 * @param nextSigners public keys that may sign the next version; by default those that sign this one
 * @throws ToolProblem for an invalid package, and when it is signed
 */
export function signPackage(file: string, bytes: Buffer, keys: readonly KeyObject[], nextSigners?: readonly string[]): Buffer {
  const { signedBy } = readNamed(file, bytes)
  if (signedBy.length > 0)
    throw new ToolProblem(
      `The package is signed already, and a signature that is added to it would be refused. Pack it again with all keys: ${typedTool('pack --key KEY.pem --key OTHER.pem')}`,
    )
  const files = [...unpack(bytes)].filter(([name]) => !name.startsWith('META/'))
  return packPlugin(new Map(files), keys, nextSigners)
}

/** A package, whose problems begin with its file. @throws ToolProblem */
function readNamed(file: string, bytes: Buffer): PluginPackage {
  try {
    return readPackage(bytes)
  } catch (error) {
    throw error instanceof AppError ? new ToolProblem(`${file}: ${error.message}`, { cause: error }) : error
  }
}

/** The package in a file. @param shown begins its problems @throws ToolProblem */
export async function readPackageFile(file: string, shown = file): Promise<{ bytes: Buffer; read: PluginPackage }> {
  try {
    const bytes = await readFile(file)
    return { bytes, read: readPackage(bytes) }
  } catch (error) {
    const reason = error instanceof AppError ? error.message : `It cannot be read (${fileReason(error)}).`
    throw new ToolProblem(`${shown}: ${reason}`, { cause: error })
  }
}

/** The files of a package that has been read before, by their names. */
export const unpack = (bytes: Buffer): Map<string, Uint8Array> =>
  new Map(readZip(bytes, () => ANY_SIZE).map(({ name, data }) => [name, data]))

async function readPrivate(file: string): Promise<{ bytes: Buffer; mode: number }> {
  const handle = await open(file)
  try {
    return { mode: (await handle.stat()).mode, bytes: await handle.readFile() }
  } finally {
    await handle.close()
  }
}
