import { statfs } from 'node:fs/promises'
import { sharedProbe } from '#core/database/shared-probe.ts'

/** PostgreSQL's log grows by 16 MB at a time, and when there is no room for that, PostgreSQL stops. */
const FREE_BYTES_MIN = 64 * 1_048_576

export type DiskState = 'ok' | 'full' | 'missing'

/**
 * Checks whether there is room where the server writes, at most once a second.
 * @param options.deadlineMs after which the folder counts as missing: a disconnected network disk never answers
 */
export function diskProbe(folder: string, options: { deadlineMs: number; freeBytesMin?: number }): () => Promise<DiskState> {
  const { deadlineMs, freeBytesMin = FREE_BYTES_MIN } = options
  return sharedProbe<DiskState>({ check: () => check(folder, freeBytesMin), late: 'missing', deadlineMs })
}

async function check(folder: string, freeBytesMin: number): Promise<DiskState> {
  try {
    // Some file systems report no sizes.
    const { bavail, bsize, blocks } = await statfs(folder)
    return blocks > 0 && bavail * bsize < freeBytesMin ? 'full' : 'ok'
  } catch {
    return 'missing'
  }
}
