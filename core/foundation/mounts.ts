import { readFile } from 'node:fs/promises'
import { askDisk } from '#core/foundation/disk-calls.ts'

/** In /proc/self/mountinfo, spaces and a few other characters are octal. */
const OCTAL = /\\(\d{3})/g
const PLACE_COLUMN = 4

/** Where the disk of a path is mounted, as far as its names tell; a link may lead elsewhere. Asks no disk. On systems other than Linux it is always "/". */
export async function mountOf(path: string): Promise<string> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  let longest = '/'
  for (const line of mounts.split('\n')) {
    const [column = ''] = line.split(' ').slice(PLACE_COLUMN)
    const place = column.replace(OCTAL, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
    if (place.length > longest.length && `${path}/`.startsWith(`${place}/`)) longest = place
  }
  return longest
}

/** {@link askDisk} for a folder that may be no library: what hangs is its disk, whatever folders of it are asked for. @param path absolute, without ".." */
export const askDiskOf = async <T>(path: string, call: () => Promise<T>, discard?: (result: T) => unknown): Promise<T> =>
  askDisk(await mountOf(path), call, discard)

/** Whether a disk did not answer. */
export const isSilence = (error: unknown): error is Error => error instanceof Error && 'code' in error && error.code === 'ETIMEDOUT'
