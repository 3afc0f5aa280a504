import { readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'

export interface StoredPicture {
  bytes: Uint8Array
  mediaType: string
}

/** One unit of the cache: a picture file, or the folder of an extracted book with its files. */
export interface Entry {
  bytes: number
  usedAt: number
  files?: Extracted[]
}

/** One extracted page; null if extraction failed, so that a damaged page does not cause repeated extractions of the whole book. */
type Extracted = { bytes: number; crc32: number } | null

const MAGIC = 0x4361_5231
/** After the picture: magic, CRC-32, length, media type. Distinguishes a whole file from one that a power cut left short or empty. */
export const TRAILER_BYTES = 4 + 4 + 8 + 32
/** Name of the folder of an extracted book, and of the list of its files. */
export const EXTRACTED = 'pages'
const MANIFEST = 'manifest.json'
export const TEMPORARY = 'temporary'
export function trailerOf(picture: StoredPicture): Buffer {
  const trailer = Buffer.alloc(TRAILER_BYTES)
  trailer.writeUInt32BE(MAGIC, 0)
  trailer.writeUInt32BE(crc32(picture.bytes), 4)
  trailer.writeBigUInt64BE(BigInt(picture.bytes.length), 8)
  trailer.write(picture.mediaType, 16, 'latin1')
  return trailer
}

/** The picture before its trailer; null when the file is not whole. */
export function readTrailer(file: Buffer | null): StoredPicture | null {
  if (!file || file.length < TRAILER_BYTES) return null
  const bytes = file.subarray(0, file.length - TRAILER_BYTES)
  const trailer = file.subarray(bytes.length)
  if (trailer.readUInt32BE(0) !== MAGIC || trailer.readBigUInt64BE(8) !== BigInt(bytes.length)) return null
  if (trailer.readUInt32BE(4) !== crc32(bytes)) return null
  return { bytes, mediaType: trailer.toString('latin1', 16).split('\0', 1)[0] as string }
}

export const totalBytes = (files: readonly Extracted[]) => files.reduce((sum, file) => sum + (file?.bytes ?? 0), 0)

/** Writes size and checksum of every extracted file to a list beside them. */
export async function writeManifest(folder: string, count: number): Promise<Extracted[]> {
  const files: Extracted[] = []
  for (let index = 0; index < count; index++) {
    const bytes = await readFile(join(folder, String(index))).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return null
      throw cause
    })
    files.push(bytes && { bytes: bytes.length, crc32: crc32(bytes) })
  }
  await writeFile(join(folder, MANIFEST), JSON.stringify(files))
  return files
}

/** All entries of an earlier run: `<2 hex>/<hash>/<picture>` and `<2 hex>/<hash>/pages/`. Deletes incomplete ones. */
export async function readFolder(folder: string): Promise<[key: string, entry: Entry][]> {
  const found: [string, Entry][] = []
  for (const prefix of await readdir(folder)) {
    if (prefix === TEMPORARY) continue
    for (const hash of await readdir(join(folder, prefix)).catch(() => [])) {
      for (const name of await readdir(join(folder, prefix, hash)).catch(() => [])) {
        const key = join(prefix, hash, name)
        const entry = await readEntry(join(folder, key)).catch(() => null)
        if (entry) found.push([key, entry])
        else await rm(join(folder, key), { recursive: true, force: true })
      }
      await removeEmpty(folder, join(prefix, hash))
    }
    await removeEmpty(folder, prefix)
  }
  return found
}

/** Removes this folder of the cache and its parents, as far as they are empty: millions of them would slow down every start. */
export async function removeEmpty(folder: string, path: string): Promise<void> {
  for (let below = path; below !== '.'; below = dirname(below)) {
    try {
      await rmdir(join(folder, below))
    } catch (cause) {
      const code = codeOf(cause)
      // Another call may have removed it first. Some systems report EEXIST for ENOTEMPTY; ENOTDIR: a file that is not ours.
      if (code === 'ENOENT') continue
      if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') return
      throw cause
    }
  }
}

export const codeOf = (cause: unknown) => (cause instanceof Error && 'code' in cause ? cause.code : undefined)

async function readEntry(path: string): Promise<Entry | null> {
  const stats = await stat(path)
  if (stats.isFile()) return stats.size > TRAILER_BYTES ? { bytes: stats.size, usedAt: stats.mtimeMs } : null
  const files = JSON.parse(await readFile(join(path, MANIFEST), 'utf8')) as Extracted[]
  return { bytes: totalBytes(files), usedAt: stats.mtimeMs, files }
}
