import { type Dirent, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { formatOfName, stemOf } from '#core/fields/book-format.ts'
import { FOLDER_FILES, isSidecarName } from '#core/fields/sidecar.ts'
import { fileTime } from '#core/foundation/column-number.ts'
import { isForeignFolder, isHiddenName, isIncompleteName } from '#core/foundation/foreign-folder.ts'
import { type OpenFolder, OutsideError, openFolderSync } from '#core/foundation/open-inside.ts'
import { boundMarks } from '#core/foundation/text.ts'
import { isFirstAmongRuns, listCalibreAbove, namesIn, prefixOf, seriesFileIn, seriesFilesAbove, shareOf } from '#core/scan/first-folder.ts'
import { digestOf, type FolderListing, readSidecars, versionOf, withSidecarFiles } from '#core/scan/folder-digest.ts'
import { decideFolder, type FolderDecision, type FolderFacts, isAmongRuns, sharedNames } from '#core/scan/layouts/decide-folder.ts'
import { hasCalibreId, nameOfFolder, parentOf } from '#core/scan/layouts/folder-name.ts'
import { CALIBRE_DATABASE } from '#core/scan/layouts/place-tree.ts'
import { isBookOrFolder, type LeftOutReason, reasonToLeaveOut } from '#core/scan/left-out.ts'
import { findAlike } from '#core/scan/links/alike-names.ts'
import { type FollowedLink, LinkFollower, type WalkedEntry } from '#core/scan/links/link-follower.ts'
import { dropLaterVolumes, dropOtherFormats, isBookName, type Listing, type NameFilter, nameFilterOf } from '#core/scan/set-files.ts'
import { NOT_UTF8, reasonOf } from '#core/scan/unreadable-reason.ts'

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
  /** Folders of series that a file described at the last scan. */
  described?: ReadonlySet<string> | undefined
  /** The folder at which the walk begins, relative to the root; the root by default. One that does not exist is empty. */
  start?: string | undefined
  /** Without it, no link is followed. */
  links?: { targets: readonly string[]; known: readonly FollowedLink[] } | undefined
  /** Of the library. Only `auto` decides about folders, and only it and `calibre` leave out the other formats of a book. */
  strategy?: string
  /** Only names and decisions, for people: looks at no file, and reports the files that are no books, with the reason. */
  explains?: boolean
  /** When several walks share a library: the first one takes the files of the first folder, and each its share of the folders in it. */
  share?: { index: number; of: number }
}

/** Some or all books of one folder. A folder with more than {@link PART_FILES_MAX} comes in several parts, the last with its digest. */
interface FolderPart {
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

/** What a walk reports, by kind. Paths are relative to the root. */
export interface WalkItems {
  changed: FolderPart
  /** Since the last scan. */
  unchanged: { folder: string; files: number }
  /** Of a folder without books, whose series may have its books in the folders below. Null: there is none any more. */
  seriesFiles: { path: string; seriesFile: string | null }
  /** The files below it were not seen, but may exist. */
  unreadable: { path: string; message: string }
  /** Links that might have been books or folders of books: not followed, or to what is found by another way. */
  symlinks: string
  followed: FollowedLink
  /** Two names of one folder that differ only in case or Unicode form. */
  alike: [string, string]
  /** The root, or a folder on another device than the one above it. */
  devices: { folder: string; device: number }
  /** But for parts of a set and incomplete files, only of a walk that explains. */
  leftOut: { path: string; reason: LeftOutReason }
}
export type WalkStep = { [Kind in keyof WalkItems]: { kind: Kind; item: WalkItems[Kind] } }[keyof WalkItems]

/**
 * Walks a library folder by folder, synchronously: in a thread this is three times as fast as with promises. Symbolic links are followed only into the
 * link targets, so that no link leads out of the library, or in a circle; a link that replaces a folder during the walk is not followed.
 * @param onCall is called before each look at the disk, which may take as long as the disk likes
 */
export function* walkFolders(options: WalkOptions, onCall: () => void = () => {}): Generator<WalkStep> {
  const { known, start = '', share = { index: 0, of: 1 } } = options
  const choice: Choice = {
    known,
    described: options.described,
    ...nameFilterOf(options),
    start,
    share,
    strategy: options.strategy ?? '',
    explains: options.explains ?? false,
    decides: options.strategy === 'auto' || options.explains === true,
    formats: options.allowedFormats ?? CALIBRE_FORMATS,
    calibre: [],
    amongRuns: new Set(),
    links: null,
    onCall,
  }
  const stack: (FolderBelow & { above: number | null })[] = [{ folder: start, above: null, real: null, link: '' }]
  while (stack.length > 0) {
    const { above, ...next } = stack.pop() as (typeof stack)[number]
    const { folder } = next
    let opened: OpenFolder | null = null
    onCall()
    try {
      let entries: Dirent[]
      try {
        if (next.real === null) {
          choice.links = options.links ? new LinkFollower(options.root, options.links) : null
          const entered = choice.links?.enterPath(folder)
          for (const followed of entered?.through ?? []) yield { kind: 'followed', item: followed }
          next.real = entered?.real ?? join(realpathSync.native(options.root), folder)
          next.link = entered?.through.at(-1)?.path ?? ''
        }
        opened = openFolderSync(next.real as string)
        if (choice.links?.enter(opened.path, next.link) === false) {
          yield { kind: 'symlinks', item: folder }
          continue
        }
        if (folder === start) yield* lookAbove(options.root, choice)
        entries = readdirSync(opened.path, { withFileTypes: true })
        if (opened.device !== above && (folder !== start || choice.share.index === 0))
          yield { kind: 'devices', item: { folder, device: opened.device } }
      } catch (error) {
        const isGone = folder === start && start !== '' && (error as NodeJS.ErrnoException).code === 'ENOENT'
        if (!isGone && (folder !== start || choice.share.index === 0))
          yield { kind: 'unreadable', item: { path: folder, message: reasonOf(error, folder) } }
        continue
      }
      const below = yield* walkFolder({ folder, real: next.real as string, link: next.link, at: opened.path, entries }, choice)
      // The stack returns the last folder first.
      if (below.length > 1) below.sort((a, b) => compareNames(b.folder, a.folder))
      for (const one of below) stack.push({ ...one, above: opened.device })
    } finally {
      opened?.close()
    }
  }
}

/** What the folders above the first one say about it, and about those in it. */
function* lookAbove(root: string, choice: Choice): Generator<WalkStep> {
  const first = { root, start: choice.start, onCall: choice.onCall }
  choice.calibre.push(...listCalibreAbove(first))
  if (choice.decides && isFirstAmongRuns(first, choice)) choice.amongRuns.add(parentOf(choice.start))
  if (!choice.explains && choice.share.index === 0) yield* seriesFilesAbove(first, choice)
}

/** Which files and folders a walk includes. */
interface Choice extends Pick<WalkOptions, 'known' | 'described'>, NameFilter {
  start: string
  share: { index: number; of: number }
  strategy: string
  explains: boolean
  /** Whether it decides what folders are. */
  decides: boolean
  /** Of a book in several formats, the first of these counts. */
  formats: readonly string[]
  /** Folders with the database of Calibre, with `/` at their end; '' is the root. */
  calibre: string[]
  /** Folders without books whose folders are runs of a publisher. */
  amongRuns: Set<string>
  /** Null when no link is followed. */
  links: LinkFollower | null
  onCall: () => void
}

/** A folder to walk: `folder` is relative to the root, `real` is its path without links, and `link` the link that it is found through, '' for none. */
interface FolderBelow {
  folder: string
  /** Null for the first folder, until it is opened. */
  real: string | null
  link: string
}

/** An open folder; `at` is the path of the open descriptor. */
interface ListedFolder extends FolderBelow {
  real: string
  at: string
  entries: Dirent[]
}

/** What a folder holds. */
interface FolderContents {
  below: FolderBelow[]
  books: Listing
  sidecars: string[]
  /** What books that are links lead to, by name. */
  targets: Map<string, string>
}

function* listFolder({ folder, real, link, at, entries }: ListedFolder, choice: Choice): Generator<WalkStep, FolderContents> {
  const { isExcluded, start, links } = choice
  const { index, of } = choice.share
  const prefix = prefixOf(folder)
  const below: FolderBelow[] = []
  const books: Listing = { names: [], sizes: [], mtimesMs: [] }
  const sidecars: string[] = []
  const targets = new Map<string, string>()
  const lossy = new Set<string>()
  for (const listed of entries) {
    choice.onCall()
    const { name } = listed
    if (of > 1 && folder === start && index !== (listed.isDirectory() ? shareOf(name, of) : 0)) continue
    const entry: WalkedEntry | Error = isSecond(name, lossy) ? new Error(NOT_UTF8) : (links?.follow(listed, prefix, real) ?? listed)
    if (entry instanceof Error) {
      yield { kind: 'unreadable', item: { path: prefix + name, message: reasonOf(entry, name) } }
      continue
    }
    const { target } = entry
    const reason = reasonOfEntry(prefix, entry, choice)
    if (reason) yield { kind: 'leftOut', item: { path: prefix + name, reason } }
    if (reason === 'incomplete' || isHiddenName(name)) continue
    if (entry.isDirectory()) {
      if (isForeignFolder(name) || isExcluded(prefix, name)) continue
      const path = prefix + name
      if (target === undefined) below.push({ folder: path, real: join(real, name), link })
      else if (yield* take(links, { path, target })) below.push({ folder: path, real: target, link: path })
      continue
    }
    const format = formatOfName(name)
    if (entry.isSymbolicLink()) {
      if (isBookOrFolder(name)) yield { kind: 'symlinks', item: prefix + name }
      continue
    }
    if (format === null && isSidecarName(name) && entry.isFile()) sidecars.push(name)
    if (name === CALIBRE_DATABASE && entry.isFile()) choice.calibre.push(prefix)
    if (!entry.isFile() || !isBookName(prefix, name, choice)) continue
    try {
      // The folder's listing says that it is not a link, and stat is a third faster here than lstat. This only detects changes, so the path may be that of
      // another folder meanwhile: paths of descriptors take three times as long, because threads of one process wait for each other there.
      const stat = choice.explains ? null : (statSync(target ?? `${real}/${name}`, { throwIfNoEntry: false }) ?? statSync(`${at}/${name}`))
      if (stat && !stat.isFile()) continue
      if (target !== undefined) {
        if (!(yield* take(links, { path: prefix + name, target }))) continue
        targets.set(name, target)
      } else if (link !== '' && links?.isLinked(`${real}/${name}`)) {
        yield { kind: 'symlinks', item: prefix + name }
        continue
      }
      books.names.push(name)
      books.sizes.push(stat?.size ?? 0)
      books.mtimesMs.push(stat?.mtimeMs ?? 0)
    } catch (error) {
      yield { kind: 'unreadable', item: { path: prefix + name, message: reasonOf(error, name) } }
    }
  }
  return { below, books, sidecars, targets }
}

/** Why an entry is left out, as far as the walk reports it. */
function reasonOfEntry(prefix: string, entry: WalkedEntry, choice: Choice): LeftOutReason | null {
  if (choice.explains) return reasonToLeaveOut(prefix, entry, choice)
  return isIncompleteName(entry.name) && !entry.isDirectory() ? 'incomplete' : null
}

/** Yields the books of one folder; returns the folders in it. */
function* walkFolder(listed: ListedFolder, choice: Choice): Generator<WalkStep, FolderBelow[]> {
  const { folder, at, real, entries } = listed
  const { below, books, sidecars, targets } = yield* listFolder(listed, choice)
  const prefix = prefixOf(folder)
  // Of a folder that several walks share, each of them has a part.
  const isShared = folder === choice.start && choice.share.of > 1
  const names = isShared ? namesIn(entries, prefix, choice) : null
  const folders = names?.folders ?? below.map((one) => nameOfFolder(one.folder))
  if (!isShared || choice.share.index === 0)
    for (const [one, other] of [...findAlike(books.names), ...findAlike(folders)])
      yield { kind: 'alike', item: [prefix + one, prefix + other] }
  if (books.names.length > 0) {
    const whole = dropLaterVolumes(books)
    const facts = factsOf(folder, whole.names, { choice, hasOpf: sidecars.includes(FOLDER_FILES.opf) })
    const listing = hasOtherFormats(facts, choice) ? dropOtherFormats(whole, choice.formats) : whole
    if (listing.names.length < books.names.length) {
      const kept = new Set(listing.names)
      for (const name of books.names) if (!kept.has(name)) yield { kind: 'leftOut', item: { path: prefix + name, reason: 'set' } }
    }
    const decide = () => (choice.decides ? decideFolder({ ...facts, names: listing.names }) : null)
    const walked = { folder, at, targets, known: choice.known.get(folder), decide, onCall: choice.onCall }
    if (choice.explains) yield* partsOf(walked, listing)
    else
      yield* reportFolder(walked, { ...listing, sidecars: readSidecars(real, sidecars, { books: listing.names, onCall: choice.onCall }) })
  } else {
    if (choice.decides && !names?.hasBooks && isAmongRuns(folders)) choice.amongRuns.add(folder)
    // Of the first folder, only the first of several walks lists the files.
    if (!choice.explains && folder !== '' && (folder !== choice.start || choice.share.index === 0))
      yield* seriesFileIn({ folder, real, sidecars, isEmpty: folders.length === 0 }, choice)
  }
  return below
}

/** Node replaces bytes that are no UTF-8: names that are equal then are those of different files, of which the path leads to one at most. */
const isSecond = (name: string, lossy: Set<string>) => name.includes('\uFFFD') && lossy.size === lossy.add(name).size

/** Yields what became of a link; returns whether it is followed. */
function* take(links: LinkFollower | null, link: FollowedLink): Generator<WalkStep, boolean> {
  try {
    const isFollowed = links?.claim(link) ?? false
    yield isFollowed ? { kind: 'followed', item: link } : { kind: 'symlinks', item: link.path }
    return isFollowed
  } catch (error) {
    yield { kind: 'unreadable', item: { path: link.path, message: reasonOf(error, link.path) } }
    return false
  }
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

const NATURAL = new Intl.Collator('en-u-kn-true')

/** In natural order, without the extensions of books. Runs of combining marks are limited: comparing them takes quadratic time. */
export function compareNames(a: string, b: string): number {
  return NATURAL.compare(comparedName(a), comparedName(b)) || (a < b ? -1 : a > b ? 1 : 0)
}

const comparedName = (name: string) => boundMarks(formatOfName(name) === null ? name : stemOf(name))

/** Of a walk that looks at no file. */
function* partsOf({ folder, decide }: WalkedFolder, { names }: Listing): Generator<WalkStep> {
  names.sort(compareNames)
  const decision = decide()
  const shared = decision && folder === '' ? [...sharedNames(names)] : null
  const files = { seriesFile: null, digest: null, files: names.length, decision, shared, sizes: [], mtimesNs: [], sidecars: [] }
  for (let at = 0; at < names.length; at += PART_FILES_MAX)
    yield { kind: 'changed', item: { folder, names: names.slice(at, at + PART_FILES_MAX), ...files } }
}

interface WalkedFolder {
  folder: string
  at: string
  /** Of names that are links. */
  targets: ReadonlyMap<string, string>
  known: string | undefined
  decide: () => FolderDecision | null
  onCall: () => void
}

function* reportFolder(walked: WalkedFolder, listing: FolderListing): Generator<WalkStep> {
  const { folder, at, targets } = walked
  // Names in the order of the file system, which stays the same while nothing changes; otherwise the folder is merely compared in full.
  const digest = digestOf(withSidecarFiles(listing))
  if (digest === walked.known) return yield { kind: 'unchanged', item: { folder, files: listing.names.length } }
  const names = listing.names.sort(compareNames)
  const groups = Map.groupBy(listing.sidecars, ({ stem }) => stem)
  const sidecarsOf = (stem: string | null) => versionOf(groups.get(stem) ?? [])
  const decision = walked.decide()
  const shared = decision && folder === '' ? [...sharedNames(names)] : null
  const files = { seriesFile: sidecarsOf(null), files: names.length, decision, shared }
  let part: FolderPart = { folder, names: [], sizes: [], mtimesNs: [], sidecars: [], digest: null, ...files }
  for (const name of names) {
    walked.onCall()
    try {
      const stat = lstatSync(targets.get(name) ?? `${at}/${name}`, { bigint: true })
      if (!stat.isFile()) throw new OutsideError(name)
      part.names.push(name)
      part.sizes.push(Number(stat.size))
      part.mtimesNs.push(fileTime(stat))
      part.sidecars.push(groups.size > 0 ? sidecarsOf(stemOf(name)) : null)
    } catch (error) {
      yield { kind: 'unreadable', item: { path: prefixOf(folder) + name, message: reasonOf(error, name) } }
    }
    if (part.names.length < PART_FILES_MAX) continue
    yield { kind: 'changed', item: part }
    part = { ...part, names: [], sizes: [], mtimesNs: [], sidecars: [] }
  }
  yield { kind: 'changed', item: { ...part, digest } }
}
