import { readdir } from 'node:fs/promises'
import type { LibraryFile } from '#core/fields/analysis.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { lstatInside } from '#core/foundation/open-inside.ts'
import { normalizeText } from '#core/foundation/text.ts'

type Place = Pick<LibraryFile, 'root' | 'path'>

/** Longer paths are no books: see the limit of scans. In characters. */
const PATH_LENGTH_MAX = 2_500

/**
 * Whether a path is only a former name of what is at another path. Drives that ignore case or the Unicode form of names (SMB, exFAT, NTFS, those of macOS) find a
 * renamed file by both names, but list it by the new one.
 */
export async function isFormerName(former: Place, now: Place): Promise<boolean> {
  if (former.path === now.path) return false
  try {
    return (isAlike(former.path, now.path) || (await isSameFile(former, now))) && !(await isListed(former))
  } catch {
    // A folder may not be listed, or the disk does not answer: then nothing is known to have been renamed.
    return false
  }
}

/** Some drives have no inode numbers that last. */
const isAlike = (one: string, other: string) => keyOf(one) === keyOf(other)
const keyOf = (path: string) => normalizeText(path, PATH_LENGTH_MAX).toLowerCase()

/** Each drive has its own rules for the case of letters. */
async function isSameFile(one: Place, other: Place): Promise<boolean> {
  const [a, b] = await Promise.all([lstatInside(one), lstatInside(other)])
  return a.ino !== 0n && a.dev === b.dev && a.ino === b.ino
}

/** Whether the folders on the way to a path list each of its names exactly so: two links to one file are both listed. */
async function isListed({ root, path }: Place): Promise<boolean> {
  const names = path.slice(root.length + 1).split('/')
  for (const [depth, name] of names.entries()) {
    const folder = [root, ...names.slice(0, depth)].join('/')
    const listed = await askDisk(root, () => readdir(folder))
    if (!listed.includes(name)) return false
  }
  return true
}
