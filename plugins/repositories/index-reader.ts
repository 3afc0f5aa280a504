import { AppError, refuse } from '#core/foundation/errors.ts'
import { ThreadHost } from '#core/foundation/thread-host.ts'
import { INDEX_NAME, type IndexRevocation, readIndex, readNewIndex } from '#plugins/repositories/index-file.ts'

/** The downloaded files of an index. */
interface SignedIndex {
  bytes: Uint8Array
  /** The content of `index.json.sig`. */
  signature: Uint8Array
  /** The trusted signing key, Ed25519, base64; null when none is trusted yet. */
  publicKey: string | null
}

/** The parts of an index that the server needs besides the text, which is stored as it is. */
export interface ReadIndex {
  name: string
  url: string
  sequence: number
  expires: string
  revoked: IndexRevocation[]
  /** Number of listed plugins. */
  plugins: number
  /** The key that has signed it. */
  publicKey: string
  /** The checked index as JSON: up to 5 MB, which the main thread need not parse. */
  text: string
}

/** Up to this size, reading takes some milliseconds; starting a thread takes half a second of another core. */
const MAIN_BYTES_MAX = 64 * 1024

const thread = new ThreadHost<SignedIndex, ReadIndex>({
  program: new URL('./index-thread.ts', import.meta.url),
  memoryMbMax: 256,
  youngMbMax: 16,
  // Repositories are refreshed one after the other; the thread holds up to 256 MB.
  idleMs: 5_000,
  // The largest takes half a second; a busy machine needs ten times as long.
  jobMsMax: 60_000,
  // As many as there may be repositories.
  queueMax: 20,
})

/** @throws invalid_value as readIndex and readNewIndex */
export function readSigned({ bytes, signature, publicKey }: SignedIndex): ReadIndex {
  const now = new Date()
  const read = publicKey === null ? readNewIndex(bytes, signature, now) : { index: readIndex(bytes, signature, publicKey, now), publicKey }
  const { name, url, sequence, expires, plugins, revoked } = read.index
  return { name, url, sequence, expires, revoked, plugins: plugins.length, publicKey: read.publicKey, text: JSON.stringify(read.index) }
}

/**
 * Reads an index, a large one in a separate thread: parsing and checking the largest takes half a second, which would block the server.
 * @param signal cancels it
 * @throws invalid_value as readIndex and readNewIndex; unavailable when reading fails
 */
export async function readIndexBeside(signed: SignedIndex, signal: AbortSignal): Promise<ReadIndex> {
  if (signed.bytes.length <= MAIN_BYTES_MAX) return readSigned(signed)
  return await thread.run(signed, { signal }).catch((error: unknown) => {
    if (error instanceof AppError) throw error
    return refuse('unavailable', `${INDEX_NAME} could not be read: it needs too much memory or time.`, { cause: error })
  })
}
