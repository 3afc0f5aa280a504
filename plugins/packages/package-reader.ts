import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { type PluginPackage, readPackage } from '#plugins/packages/plugin-package.ts'
import { unpackedBytes } from '#plugins/packages/zip.ts'

export type PackageOutcome = { read: PluginPackage } | { refused: Pick<AppError, 'message' | 'details'> }

/** Unpacking and hashing take some milliseconds up to this size; most plugins are smaller. Starting a thread takes half a second of another core. */
const MAIN_BYTES_MAX = 1024 * 1024
/** The largest takes a fifth of a second; a busy machine starts a thread in ten. */
const READ_MS_MAX = 60_000
const MEMORY_MB_MAX = 256

/**
 * Reads a package, a large one in a separate thread: unpacking and hashing the largest takes a fifth of a second, which would block the server.
 * A small package may be large after unpacking.
 * @throws invalid_value as readPackage; unavailable when reading fails
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
    if (error instanceof AppError) throw error
    return refuse('unavailable', 'Reading the package needs too much memory or time.', { cause: error })
  } finally {
    await thread.terminate()
  }
}
