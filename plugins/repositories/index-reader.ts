import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { CarrelError, refuse } from '#core/foundation/errors.ts'
import { INDEX_NAME, type IndexRevocation, readIndex, readNewIndex } from '#plugins/repositories/index-file.ts'

/** The files of an index as they were fetched. */
export interface SignedIndex {
  bytes: Uint8Array
  /** What lies in `index.json.sig`. */
  signature: Uint8Array
  /** Ed25519, base64, of whoever is trusted to have signed it; null where nobody is known yet. */
  publicKey: string | null
}

/** What the server wants of an index beside the text, which is kept as it is. */
export interface ReadIndex {
  name: string
  url: string
  sequence: number
  expires: string
  revoked: IndexRevocation[]
  /** How many it lists. */
  plugins: number
  /** The key that has signed it. */
  publicKey: string
  /** The checked index as JSON: up to 5 MB, which nobody on the main thread has to build. */
  text: string
}

export type IndexOutcome = { read: ReadIndex } | { refused: Pick<CarrelError, 'message' | 'details'> }

/** Up to here it is a matter of some milliseconds; to start a thread costs half a second of another core. */
const MAIN_BYTES_MAX = 64 * 1024
/** The largest takes half a second; a machine that is busy with everything at once starts a thread in ten. */
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
 * Reads an index, a large one in a thread of its own: to parse and check the largest takes half a second, in which nobody would be answered.
 * @param signal ends it
 * @throws invalid_value as readIndex and readNewIndex; unavailable where it cannot be read to its end
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
    if (error instanceof CarrelError) throw error
    return refuse('unavailable', `${INDEX_NAME} could not be read to its end: it needs too much memory or time.`, { cause: error })
  } finally {
    await thread.terminate()
  }
}
