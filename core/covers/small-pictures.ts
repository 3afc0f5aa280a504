import { readFile, stat } from 'node:fs/promises'
import { BoundedCache } from '#core/foundation/bounded.ts'

/** A picture that is small enough to stay in memory. */
export interface SmallPicture {
  bytes: Uint8Array
  /** Of the file. */
  modifiedAt: Date
}

/** Some 1,000 thumbnails: what a few readers see while they browse. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024

/** How long a file that was removed may go unnoticed. */
const TRUSTED_MS = 2_000

const kept = new BoundedCache<SmallPicture & { trustedUntil: number }>({ bytesMax: KEPT_BYTES_MAX })

/**
 * Reads a small picture file, or takes it from memory.
 * @param file.etag identifies the content: a file with other content has another one
 * @returns null when there is no such file
 * @throws the error of the system when the file cannot be read
 */
export async function readSmallPicture({ path, etag }: { path: string; etag: string }): Promise<SmallPicture | null> {
  const key = `${etag} ${path}`
  const known = kept.get(key)
  if (known && known.trustedUntil > performance.now()) return known
  try {
    const { mtime: modifiedAt } = await stat(path)
    const isSame = known?.modifiedAt.getTime() === modifiedAt.getTime()
    const picture = {
      bytes: known && isSame ? known.bytes : await readFile(path),
      modifiedAt,
      trustedUntil: performance.now() + TRUSTED_MS,
    }
    kept.set(key, picture)
    return picture
  } catch (error) {
    kept.delete(key)
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
