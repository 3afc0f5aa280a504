import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { CarrelError, refuse } from '#core/foundation/errors.ts'
import { type PluginPackage, readPackage } from '#plugins/packages/plugin-package.ts'
import { unpackedBytes } from '#plugins/packages/zip.ts'

export type PackageOutcome = { read: PluginPackage } | { refused: Pick<CarrelError, 'message' | 'details'> }

/** Unpacked and hashed within some milliseconds; most plugins have less. To start a thread costs half a second of another core. */
const MAIN_BYTES_MAX = 1024 * 1024
/** The largest takes a fifth of a second; a machine that is busy with everything at once starts a thread in ten. */
const READ_MS_MAX = 60_000
const MEMORY_MB_MAX = 256

/**
 * Reads a package, a large one in a thread of its own: to unpack and hash the largest takes a fifth of a second, in which nobody would be answered.
 * A small package may be a large one when it is unpacked.
 * @throws invalid_value as readPackage; unavailable where it cannot be read to its end
 */
export async function readPackageBeside(bytes: Buffer): Promise<PluginPackage> {
  if (unpackedBytes(bytes) <= MAIN_BYTES_MAX) return readPackage(bytes)
  const thread = new Worker(new URL('./package-thread.ts', import.meta.url), {
    workerData: bytes,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX, maxYoungGenerationSizeMb: 16 },
  })
  try {
    const [outcome] = (await once(thread, 'message', { signal: AbortSignal.timeout(READ_MS_MAX) })) as [PackageOutcome]
    if ('read' in outcome) return outcome.read
    const { message, details } = outcome.refused
    return refuse('invalid_value', message, { details })
  } catch (error) {
    if (error instanceof CarrelError) throw error
    return refuse('unavailable', 'The package could not be read to its end: it needs too much memory or time.', { cause: error })
  } finally {
    await thread.terminate()
  }
}
