import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { INDEX_NAME, type IndexRevocation, readIndex, readNewIndex } from '#plugins/repositories/index-file.ts'

/** The downloaded files of an index. */
export interface SignedIndex {
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

export type IndexOutcome = { read: ReadIndex } | { refused: Pick<AppError, 'message' | 'details'> }

/** Up to this size, reading takes some milliseconds; starting a thread takes half a second of another core. */
const MAIN_BYTES_MAX = 64 * 1024
/** The largest takes half a second; a busy machine starts a thread in ten. */
const READ_MS_MAX = 60_000
const MEMORY_MB_MAX = 256

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
  const thread = new Worker(new URL('./index-thread.ts', import.meta.url), {
    workerData: signed,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX, maxYoungGenerationSizeMb: 16 },
  })
  try {
    const [outcome] = (await once(thread, 'message', { signal: AbortSignal.any([signal, AbortSignal.timeout(READ_MS_MAX)]) })) as [
      IndexOutcome,
    ]
    if ('read' in outcome) return outcome.read
    const { message, details } = outcome.refused
    return refuse('invalid_value', message, { details })
  } catch (error) {
    if (error instanceof AppError) throw error
    return refuse('unavailable', `${INDEX_NAME} could not be read: it needs too much memory or time.`, { cause: error })
  } finally {
    await thread.terminate()
  }
}
