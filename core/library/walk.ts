import { hash } from 'node:crypto'
import { lstatSync, readdirSync } from 'node:fs'
import type { BookFormat } from '#core/book/analysis.ts'
import { compileExcludes } from '#core/library/glob.ts'

/**
 * What each extension promises; analysis decides by content. 7z and tar comics can not be read, but a person who has some is told so
 * by an error on the book rather than by its absence.
 */
const FORMAT_OF_EXTENSION: Record<string, BookFormat> = {
  cbz: 'cbz',
  zip: 'cbz',
  cbt: 'cbz',
  cbr: 'cbr',
  rar: 'cbr',
  cb7: 'cbr',
  epub: 'epub',
  pdf: 'pdf',
}
/** Folders that systems and NAS boxes put beside people's files. Everything with a leading dot is skipped too. */
const FOREIGN_FOLDERS = new Set(['@eadir', '__macosx', '#recycle', '@recycle', '$recycle.bin', 'system volume information', 'lost+found'])
/** Files of one part; bounds the memory of a step, and of the SQL statement made of it. */
export const PART_FILES_MAX = 2_000

/** The format that the name promises; null for a file that is no book. */
export function formatOfName(name: string): BookFormat | null {
  const dot = name.lastIndexOf('.')
  return dot < 1 ? null : (FORMAT_OF_EXTENSION[name.slice(dot + 1).toLowerCase()] ?? null)
}

export interface WalkOptions {
  /** Absolute path without a trailing slash. */
  root: string
  excludedPatterns: string | null
  allowedFormats: readonly string[] | null
  /** Digests of the last scan by folder: folders that are still the same are not told file by file. Empty tells everything. */
  known: ReadonlyMap<string, string>
}

/** Some or all books of one folder. A folder of more than {@link PART_FILES_MAX} comes in several parts, the last with its digest. */
export interface FolderPart {
  /** Relative to the root; '' is the root itself. */
  folder: string
  names: string[]
  /** Bytes. */
  sizes: number[]
  /** Nanoseconds since the epoch. */
  mtimesNs: bigint[]
  digest: string | null
  /** Books in the whole folder. */
  files: number
}

export type WalkStep =
  | { kind: 'changed'; part: FolderPart }
  | { kind: 'unchanged'; folder: string; files: number }
  /** `path` relative to the root. What is below it was not seen, and may be there all the same. */
  | { kind: 'unreadable'; path: string; message: string }
  | { kind: 'symlink'; path: string }

/**
 * Walks a library folder by folder, synchronously: in a thread this is three times as fast as with promises. Symbolic links are not followed, so
 * that no link leads out of the library, or in a circle.
 */
export function* walk(options: WalkOptions): Generator<WalkStep> {
  const { root, known } = options
  const isExcluded = compileExcludes(options.excludedPatterns)
  const allowed = options.allowedFormats === null ? null : new Set(options.allowedFormats)
  const stack = ['']
  while (stack.length > 0) {
    const folder = stack.pop() as string
    const prefix = folder === '' ? '' : `${folder}/`
    const absolute = `${root}/${prefix}`
    let entries: ReturnType<typeof readFolder>
    try {
      entries = readFolder(absolute)
    } catch (error) {
      yield { kind: 'unreadable', path: folder, message: reasonOf(error, folder) }
      continue
    }
    const below: string[] = []
    const books: Listing = { names: [], sizes: [], mtimesNs: [] }
    let volumes = false
    for (const entry of entries) {
      const { name } = entry
      if (name.startsWith('.')) continue
      if (entry.isDirectory()) {
        if (!FOREIGN_FOLDERS.has(name.toLowerCase()) && !isExcluded(prefix, name)) below.push(prefix + name)
        continue
      }
      const format = formatOfName(name)
      if (entry.isSymbolicLink()) {
        if (format !== null || !name.includes('.')) yield { kind: 'symlink', path: prefix + name }
        continue
      }
      if (format === null || !entry.isFile() || (allowed !== null && !allowed.has(format)) || isExcluded(prefix, name)) continue
      try {
        const stat = lstatSync(absolute + name, { bigint: true })
        if (!stat.isFile()) continue
        books.names.push(name)
        books.sizes.push(Number(stat.size))
        books.mtimesNs.push(stat.mtimeNs)
        volumes ||= format === 'cbr' && LATER_VOLUME.test(name)
      } catch (error) {
        yield { kind: 'unreadable', path: prefix + name, message: reasonOf(error, name) }
      }
    }
    if (books.names.length > 0) yield* tellFolder(folder, volumes ? dropLaterVolumes(books) : books, known.get(folder))
    // The stack gives back the last first.
    if (below.length > 1) below.sort(NATURAL.compare).reverse()
    stack.push(...below)
  }
}

const NATURAL = new Intl.Collator('en-u-kn-true')

const readFolder = (path: string) => readdirSync(path, { withFileTypes: true })

interface Listing {
  names: string[]
  sizes: number[]
  mtimesNs: bigint[]
}

const LATER_VOLUME = /\.part(\d+)\.(?:rar|cbr)$/i

/** A later volume of a multi-volume RAR is no book when its first volume lies beside it. */
function dropLaterVolumes({ names, sizes, mtimesNs }: Listing): Listing {
  const volumes = names.map((name) => {
    const match = LATER_VOLUME.exec(name)
    return match && { set: name.slice(0, match.index).toLowerCase(), number: Number(match[1]) }
  })
  const firsts = new Set(volumes.map((volume) => (volume?.number === 1 ? volume.set : null)))
  const kept = [...names.keys()].filter((index) => {
    const volume = volumes[index]
    return !volume || volume.number === 1 || !firsts.has(volume.set)
  })
  return pick({ names, sizes, mtimesNs }, kept)
}

const pick = ({ names, sizes, mtimesNs }: Listing, kept: number[]): Listing => ({
  names: kept.map((index) => names[index] as string),
  sizes: kept.map((index) => sizes[index] as number),
  mtimesNs: kept.map((index) => mtimesNs[index] as bigint),
})

function* tellFolder(folder: string, listing: Listing, known: string | undefined): Generator<WalkStep> {
  const { names, sizes, mtimesNs } = listing
  // In the order of the file system, which stays the same while nothing changes; if not, the folder is merely compared in full.
  const digest = hash('sha1', `${names.join('/')}\n${sizes.join()}\n${mtimesNs.join()}`, 'base64')
  if (digest === known) {
    yield { kind: 'unchanged', folder, files: names.length }
    return
  }
  const order = [...names.keys()].sort((a, b) => NATURAL.compare(names[a] as string, names[b] as string))
  for (let at = 0; at < order.length; at += PART_FILES_MAX) {
    const part = pick(listing, order.slice(at, at + PART_FILES_MAX))
    yield { kind: 'changed', part: { ...part, folder, digest: at + PART_FILES_MAX >= order.length ? digest : null, files: names.length } }
  }
}

const REASONS: Record<string, string> = {
  EACCES: 'the server may not read it (check its owner and rights)',
  EPERM: 'the server may not read it (check its owner and rights)',
  ENOENT: 'it vanished during the scan',
  ENOTDIR: 'it is no folder any more',
  EIO: 'the disk reported a read error',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its path is too long',
  ESTALE: 'the network drive lost it',
  ETIMEDOUT: 'the network drive did not answer',
}

/** Why a path could not be read, in words. */
function reasonOf(error: unknown, name: string): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  // Node decodes names as UTF-8 and writes U+FFFD where it cannot, and a path with that in it does not lead back to the file.
  if (code === 'ENOENT' && name.includes('\uFFFD')) return 'its name is not valid UTF-8: rename it'
  return REASONS[code] ?? message
}
