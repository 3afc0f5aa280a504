import { hash } from 'node:crypto'
import { type Dirent, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { formatOfName, stemOf } from '#core/fields/book-format.ts'
import { describedBy, FOLDER_FILES, isSidecarName } from '#core/fields/sidecar.ts'
import { fileTime } from '#core/foundation/column-number.ts'
import { isForeignFolder } from '#core/foundation/foreign-folder.ts'
import { type OpenFolder, OutsideError, openFolderSync } from '#core/foundation/open-inside.ts'
import { boundMarks } from '#core/foundation/text.ts'
import { compileExcludes, type Excludes } from '#core/scan/glob.ts'
import { decideFolder, type FolderDecision, type FolderFacts, isAmongRuns, sharedNames } from '#core/scan/layouts/decide-folder.ts'
import { hasCalibreId, nameOfFolder, parentOf } from '#core/scan/layouts/folder-name.ts'
import { CALIBRE_DATABASE } from '#core/scan/layouts/place-tree.ts'
import { type LeftOutReason, reasonToLeaveOut } from '#core/scan/left-out.ts'
import { reasonOf } from '#core/scan/unreadable-reason.ts'

/** Files per part; limits the memory of a step, and the size of its SQL statement. */
export const PART_FILES_MAX = 500

/** The order of a library of books, for a library that allows all formats. */
const CALIBRE_FORMATS = ['epub', 'pdf', 'cbz', 'cbr']

export interface WalkOptions {
  /** Absolute path without a trailing slash. */
  root: string
  excludedPatterns: string | null
  allowedFormats: readonly string[] | null
  /** Digests of the last scan by folder: the files of unchanged folders are not listed. With an empty map, all files are listed. */
  known: ReadonlyMap<string, string>
  /** The folder at which the walk begins, relative to the root; the root by default. One that does not exist is empty. */
  start?: string | undefined
  /** Of the library. Only `auto` decides about folders, and only it and `calibre` leave out the other formats of a book. */
  strategy?: string
  /** Only names and decisions, for people: looks at no file, and reports the files that are no books, with the reason. */
  explains?: boolean
  /** When several walks share a library: the first one takes the files of the first folder, and each its share of the folders in it. */
  share?: { index: number; of: number }
}

/** Some or all books of one folder. A folder with more than {@link PART_FILES_MAX} comes in several parts, the last with its digest. */
export interface FolderPart {
  /** Relative to the root; '' is the root itself. */
  folder: string
  names: string[]
  /** Bytes. */
  sizes: number[]
  /** Nanoseconds since the epoch. */
  mtimesNs: bigint[]
  /** Identifies the versions of the sidecar files that describe each book; null for none. */
  sidecars: (string | null)[]
  /** The same of the file that describes the series. */
  seriesFile: string | null
  digest: string | null
  /** Books in the whole folder. */
  files: number
  /** What `auto` makes of the folder; null for other strategies. */
  decision: FolderDecision | null
  /** Of the root: keys of the series names that several of its files have. */
  shared: string[] | null
}

export type WalkStep =
  | { kind: 'changed'; part: FolderPart }
  | { kind: 'unchanged'; folder: string; files: number }
  /** `path` relative to the root. The files below it were not seen, but may exist. */
  | { kind: 'unreadable'; path: string; message: string }
  | { kind: 'symlink'; path: string }
  /** The root, or a folder on another device than the one above it. */
  | { kind: 'device'; folder: string; device: number }
  /** But for parts of a set, only of a walk that explains. */
  | { kind: 'left_out'; path: string; reason: LeftOutReason }

/**
 * Walks a library folder by folder, synchronously: in a thread this is three times as fast as with promises. Symbolic links are not followed, so
 * that no link leads out of the library, or in a circle; nor is a link that replaces a folder during the walk.
 */
export function* walkFolders(options: WalkOptions): Generator<WalkStep> {
  const isExcluded = compileExcludes(options.excludedPatterns)
  const allowed = options.allowedFormats === null ? null : new Set(options.allowedFormats)
  const { known, start = '', share = { index: 0, of: 1 } } = options
  const choice: Choice = {
    known,
    isExcluded,
    allowed,
    start,
    share,
    strategy: options.strategy ?? '',
    explains: options.explains ?? false,
    formats: options.allowedFormats ?? CALIBRE_FORMATS,
    calibre: [],
    amongRuns: new Set(),
  }
  const stack = [{ folder: start, above: null as number | null }]
  let realRoot: string | null = null
  while (stack.length > 0) {
    const { folder, above } = stack.pop() as (typeof stack)[number]
    let opened: OpenFolder | null = null
    try {
      let entries: Dirent[]
      try {
        realRoot ??= realpathSync.native(options.root)
        opened = openFolderSync(join(realRoot, folder))
        entries = readdirSync(opened.path, { withFileTypes: true })
        if (opened.device !== above && (folder !== start || choice.share.index === 0))
          yield { kind: 'device', folder, device: opened.device }
      } catch (error) {
        const isGone = folder === start && start !== '' && (error as NodeJS.ErrnoException).code === 'ENOENT'
        if (!isGone && (folder !== start || choice.share.index === 0))
          yield { kind: 'unreadable', path: folder, message: reasonOf(error, folder) }
        continue
      }
      const below = yield* walkFolder({ folder, real: join(realRoot, folder), at: opened.path, entries }, choice)
      // The stack returns the last folder first.
      if (below.length > 1) below.sort(compareNames).reverse()
      for (const one of below) stack.push({ folder: one, above: opened.device })
    } finally {
      opened?.close()
    }
  }
}

/** Which files and folders a walk includes. */
interface Choice extends Pick<WalkOptions, 'known'> {
  isExcluded: Excludes
  allowed: ReadonlySet<string> | null
  start: string
  share: { index: number; of: number }
  strategy: string
  explains: boolean
  /** Of a book in several formats, the first of these counts. */
  formats: readonly string[]
  /** Folders with the database of Calibre, with `/` at their end; '' is the root. */
  calibre: string[]
  /** Folders without books whose folders are runs of a publisher. */
  amongRuns: Set<string>
}

/** An open folder: `folder` is relative to the root, `real` is its path, and `at` that of the open descriptor. */
interface ListedFolder {
  folder: string
  real: string
  at: string
  entries: Dirent[]
}

/** Yields the books of one folder; returns the folders in it. */
function* walkFolder({ folder, real, at, entries }: ListedFolder, choice: Choice): Generator<WalkStep, string[]> {
  const { isExcluded, allowed, known, start } = choice
  const { index, of } = choice.share
  const prefix = folder === '' ? '' : `${folder}/`
  const below: string[] = []
  const books: Listing = { names: [], sizes: [], mtimesMs: [] }
  const sidecars: string[] = []
  let volumes = false
  const add = (name: string, { size, mtimeMs }: { size: number; mtimeMs: number }) => {
    books.names.push(name)
    books.sizes.push(size)
    books.mtimesMs.push(mtimeMs)
    volumes ||= LATER_VOLUME.test(name) && formatOfName(name) === 'cbr'
  }
  for (const entry of entries) {
    const { name } = entry
    if (of > 1 && folder === start && index !== (entry.isDirectory() ? shareOf(name, of) : 0)) continue
    const reason = choice.explains ? reasonToLeaveOut(prefix, entry, choice) : null
    if (reason) yield { kind: 'left_out', path: prefix + name, reason }
    if (name.startsWith('.')) continue
    if (entry.isDirectory()) {
      if (!isForeignFolder(name) && !isExcluded(prefix, name)) below.push(prefix + name)
      continue
    }
    const format = formatOfName(name)
    if (entry.isSymbolicLink()) {
      if (format !== null || !name.includes('.')) yield { kind: 'symlink', path: prefix + name }
      continue
    }
    if (format === null && isSidecarName(name) && entry.isFile()) sidecars.push(name)
    if (name === CALIBRE_DATABASE && entry.isFile()) choice.calibre.push(prefix)
    if (format === null || !entry.isFile() || (allowed !== null && !allowed.has(format)) || isExcluded(prefix, name)) continue
    if (choice.explains) {
      add(name, UNSEEN)
      continue
    }
    try {
      // The folder's listing says that it is not a link, and stat is a third faster here than lstat. This only detects changes, so the path may be that of
      // another folder meanwhile: paths of descriptors take three times as long, because threads of one process wait for each other there.
      const stat = statSync(`${real}/${name}`, { throwIfNoEntry: false }) ?? statSync(`${at}/${name}`)
      if (stat.isFile()) add(name, stat)
    } catch (error) {
      yield { kind: 'unreadable', path: prefix + name, message: reasonOf(error, name) }
    }
  }
  if (books.names.length > 0) {
    const whole = volumes ? dropLaterVolumes(books) : books
    const facts = factsOf(folder, whole.names, { choice, hasOpf: sidecars.includes(FOLDER_FILES.opf) })
    const listing = hasOtherFormats(facts, choice) ? dropOtherFormats(whole, choice.formats) : whole
    if (listing.names.length < books.names.length) {
      const kept = new Set(listing.names)
      for (const name of books.names) if (!kept.has(name)) yield { kind: 'left_out', path: prefix + name, reason: 'set' }
    }
    const decide = () => (choice.strategy === 'auto' || choice.explains ? decideFolder({ ...facts, names: listing.names }) : null)
    const walked = { folder, at, known: known.get(folder), decide }
    if (choice.explains) yield* partsOf(walked, listing)
    else yield* reportFolder(walked, { ...listing, sidecars: readSidecars(real, sidecars, listing.names) })
  } else if ((choice.strategy === 'auto' || choice.explains) && isAmongRuns(below.map(nameOfFolder))) choice.amongRuns.add(folder)
  return below
}

const factsOf = (folder: string, names: readonly string[], { choice, hasOpf }: { choice: Choice; hasOpf: boolean }): FolderFacts => ({
  folder,
  names,
  hasOpf,
  isBelowCalibre: choice.calibre.some((prefix) => folder !== '' && `${folder}/`.startsWith(prefix) && `${folder}/` !== prefix),
  isAmongRuns: folder !== '' && choice.amongRuns.has(parentOf(folder)),
})

/** Whether the folder is one of Calibre, whose files are one book in several formats. */
const hasOtherFormats = ({ folder, names, hasOpf, isBelowCalibre }: FolderFacts, { strategy }: Choice): boolean =>
  names.length > 1 && hasCalibreId(nameOfFolder(folder)) && (strategy === 'calibre' || (strategy === 'auto' && (hasOpf || isBelowCalibre)))

interface Sidecar {
  name: string
  /** The name of the book without its extension; null for the series. */
  stem: string | null
  size: number
  mtimeMs: number
}

/** Only those that describe something here are looked at: an edit of a file does not change the time of its folder. */
function readSidecars(real: string, names: readonly string[], books: readonly string[]): Sidecar[] {
  if (names.length === 0) return []
  return describedBy(names, books).flatMap((sidecar) => {
    try {
      const { size, mtimeMs } = statSync(`${real}/${sidecar.name}`)
      return { ...sidecar, size, mtimeMs }
    } catch {
      // It vanished meanwhile, or the analysis will say why it cannot be read.
      return []
    }
  })
}

const versionOf = (sidecars: readonly Sidecar[]): string | null =>
  sidecars.length === 0 ? null : hash('sha1', JSON.stringify(sidecars.map(({ name, size, mtimeMs }) => [name, size, mtimeMs])), 'base64')

/** By name, so that concurrent walks agree on the share of each folder even while folders appear and disappear. */
function shareOf(name: string, of: number): number {
  let sum = 0
  for (let at = 0; at < name.length; at++) sum = (sum * 31 + name.charCodeAt(at)) % 65_521
  return sum % of
}

const NATURAL = new Intl.Collator('en-u-kn-true')

/** In natural order, without the extensions of books. Runs of combining marks are limited: comparing them takes quadratic time. */
export function compareNames(a: string, b: string): number {
  return NATURAL.compare(comparedName(a), comparedName(b)) || (a < b ? -1 : a > b ? 1 : 0)
}

const comparedName = (name: string) => boundMarks(formatOfName(name) === null ? name : stemOf(name))

interface Listing {
  names: string[]
  sizes: number[]
  /** A double: exact to a quarter of a microsecond, enough to detect changes, and a third cheaper than nanoseconds. */
  mtimesMs: number[]
}

const LATER_VOLUME = /\.part(\d+)\.(?:rar|cbr)$/i

/** A later volume of a multi-volume RAR is not a book if its first volume is in the same folder. */
function dropLaterVolumes(listing: Listing): Listing {
  const volumes = listing.names.map((name) => {
    const match = LATER_VOLUME.exec(name)
    return match && { set: name.slice(0, match.index).toLowerCase(), number: Number(match[1]) }
  })
  const firsts = new Set(volumes.map((volume) => (volume?.number === 1 ? volume.set : null)))
  return pick(listing, (_name, index) => {
    const volume = volumes[index]
    return !volume || volume.number === 1 || !firsts.has(volume.set)
  })
}

/** Of files with one name, the first of the formats is the book. */
function dropOtherFormats(listing: Listing, formats: readonly string[]): Listing {
  const rank = (name: string) => formats.indexOf(formatOfName(name) as string)
  const best = new Map<string, number>()
  for (const name of listing.names) best.set(stemOf(name), Math.min(best.get(stemOf(name)) ?? Number.POSITIVE_INFINITY, rank(name)))
  return pick(listing, (name) => rank(name) === best.get(stemOf(name)))
}

const pick = ({ names, sizes, mtimesMs }: Listing, isKept: (name: string, index: number) => boolean): Listing => {
  const kept = [...names.keys()].filter((index) => isKept(names[index] as string, index))
  return {
    names: kept.map((index) => names[index] as string),
    sizes: kept.map((index) => sizes[index] as number),
    mtimesMs: kept.map((index) => mtimesMs[index] as number),
  }
}

type FolderListing = Listing & { sidecars: readonly Sidecar[] }

const UNSEEN = { size: 0, mtimeMs: 0 }

/** Of a walk that looks at no file. */
function* partsOf({ folder, decide }: WalkedFolder, { names }: Listing): Generator<WalkStep> {
  names.sort(compareNames)
  const decision = decide()
  const shared = decision && folder === '' ? [...sharedNames(names)] : null
  const files = { seriesFile: null, digest: null, files: names.length, decision, shared, sizes: [], mtimesNs: [], sidecars: [] }
  for (let at = 0; at < names.length; at += PART_FILES_MAX)
    yield { kind: 'changed', part: { folder, names: names.slice(at, at + PART_FILES_MAX), ...files } }
}

interface WalkedFolder {
  folder: string
  at: string
  known: string | undefined
  decide: () => FolderDecision | null
}

function* reportFolder(walked: WalkedFolder, listing: FolderListing): Generator<WalkStep> {
  const { folder, at } = walked
  // Names in the order of the file system, which stays the same while nothing changes; otherwise the folder is merely compared in full.
  const digest = digestOf(withSidecars(listing))
  if (digest === walked.known) {
    yield { kind: 'unchanged', folder, files: listing.names.length }
    return
  }
  const names = listing.names.sort(compareNames)
  const groups = Map.groupBy(listing.sidecars, ({ stem }) => stem)
  const sidecarsOf = (stem: string | null) => versionOf(groups.get(stem) ?? [])
  const decision = walked.decide()
  const shared = decision && folder === '' ? [...sharedNames(names)] : null
  const files = { seriesFile: sidecarsOf(null), files: names.length, decision, shared }
  let part: FolderPart = { folder, names: [], sizes: [], mtimesNs: [], sidecars: [], digest: null, ...files }
  for (const name of names) {
    try {
      const stat = lstatSync(`${at}/${name}`, { bigint: true })
      if (!stat.isFile()) throw new OutsideError(name)
      part.names.push(name)
      part.sizes.push(Number(stat.size))
      part.mtimesNs.push(fileTime(stat))
      part.sidecars.push(groups.size > 0 ? sidecarsOf(stemOf(name)) : null)
    } catch (error) {
      yield { kind: 'unreadable', path: folder === '' ? name : `${folder}/${name}`, message: reasonOf(error, name) }
    }
    if (part.names.length < PART_FILES_MAX) continue
    yield { kind: 'changed', part }
    part = { ...part, names: [], sizes: [], mtimesNs: [], sidecars: [] }
  }
  yield { kind: 'changed', part: { ...part, digest } }
}

/** No copy without them, as in most folders. */
function withSidecars({ sidecars, ...books }: FolderListing): Listing {
  if (sidecars.length === 0) return books
  return {
    names: [...books.names, ...sidecars.map(({ name }) => name)],
    sizes: [...books.sizes, ...sidecars.map(({ size }) => size)],
    mtimesMs: [...books.mtimesMs, ...sidecars.map(({ mtimeMs }) => mtimeMs)],
  }
}

let scratch = Buffer.alloc(65_536)

function digestOf({ names, sizes, mtimesMs }: Listing): string {
  const text = names.join('/')
  // At most three bytes of UTF-8 per UTF-16 code unit, and two doubles per file.
  const needed = text.length * 3 + names.length * 16
  if (scratch.length < needed) scratch = Buffer.alloc(needed * 2)
  let at = scratch.write(text, 0)
  for (let index = 0; index < names.length; index++) {
    scratch.writeDoubleLE(sizes[index] as number, at)
    scratch.writeDoubleLE(mtimesMs[index] as number, at + 8)
    at += 16
  }
  return hash('sha1', scratch.subarray(0, at), 'base64')
}
