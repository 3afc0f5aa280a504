import { formatOfName } from '#core/fields/book-format.ts'
import { FOLDER_FILES } from '#core/fields/sidecar.ts'
import {
  decideFolder,
  decidePersons,
  decisionFor,
  type FolderDecision,
  type FolderFacts,
  isAmongRuns,
  type KnownBook,
  ownerOf,
  partDecision,
  sharedNames,
} from '#core/scan/layouts/decide-folder.ts'
import { nameOfFolder, parentOf } from '#core/scan/layouts/folder-name.ts'
import { type BookPlace, type FileToPlace, type FolderContext, placeBook } from '#core/scan/layouts/place-book.ts'
import type { SeriesLayout } from '#core/scan/layouts/series-config.ts'

/** A file of Calibre in the root of a library. */
export const CALIBRE_DATABASE = 'metadata.db'

/** What is known of folders. */
interface FolderKnowledge {
  decisionOf: (folder: string) => FolderDecision | undefined
  /** Whether a folder of years or editions in it is a bundle. */
  holdsSeries: (owner: string) => boolean
  shared: () => ReadonlySet<string>
}

/** The contexts of the folders of one library; remembers the last one, because files of one folder come one after the other. */
export class FolderContexts {
  readonly #layout: SeriesLayout
  readonly #of: FolderKnowledge
  #last: { folder: string; context: FolderContext } | null = null

  constructor(layout: SeriesLayout, of: FolderKnowledge) {
    this.#layout = layout
    this.#of = of
  }

  place(file: FileToPlace): BookPlace {
    const folder = parentOf(file.path)
    if (this.#last?.folder !== folder) {
      const owner = ownerOf(folder, this.#layout.words)
      const shared = folder === '' ? this.#of.shared() : new Set<string>()
      const holdsSeries = owner.mayHoldSeries && this.#of.holdsSeries(owner.folder)
      this.#last = { folder, context: { owner, decision: decisionFor(owner, this.#of.decisionOf(owner.folder), holdsSeries), shared } }
    }
    return placeBook(this.#layout, file, this.#last.context)
  }
}

/** What is known besides the paths. */
interface TreeKnowledge {
  /** The metadata of a book; null before its analysis. */
  known?: (path: string) => KnownBook | null
  groupsOf?: (path: string) => FileToPlace['groups']
  /** Decisions that hold. */
  decided?: ReadonlyMap<string, FolderDecision>
}

/** The series of a whole tree, of the paths of all of its files. Decides about a folder when its first book asks. */
export class TreePlaces {
  readonly books: readonly string[]
  /** Also those that the books made necessary. */
  readonly decisions: Map<string, FolderDecision>
  readonly #known: TreeKnowledge['known']
  readonly #groupsOf: TreeKnowledge['groupsOf']
  readonly #layout: SeriesLayout
  readonly #byFolder: ReadonlyMap<string, string[]>
  readonly #files: ReadonlySet<string>
  readonly #below: ReadonlyMap<string, string[]>
  readonly #contexts: FolderContexts
  #holders: ReadonlySet<string> | null = null

  constructor(layout: SeriesLayout, paths: readonly string[], of: TreeKnowledge = {}) {
    this.#files = new Set(paths)
    this.books = [...this.#files].filter((path) => formatOfName(path) !== null).sort()
    this.#byFolder = Map.groupBy(this.books, parentOf)
    const folders = new Set<string>()
    for (const path of this.#files) for (let at = parentOf(path); at !== '' && !folders.has(at); at = parentOf(at)) folders.add(at)
    this.#below = Map.groupBy(folders, parentOf)
    this.decisions = new Map(of.decided)
    this.#known = of.known
    this.#groupsOf = of.groupsOf
    this.#layout = layout
    let shared: ReadonlySet<string> | null = null
    this.#contexts = new FolderContexts(layout, {
      decisionOf: (folder) => this.#decide(folder),
      holdsSeries: (folder) => {
        this.#holders ??= this.#findHolders()
        return this.#holders.has(folder)
      },
      shared: () => {
        shared ??= sharedNames(this.#byFolder.get('') ?? [])
        return shared
      },
    })
  }

  /** @param path one of `books` */
  place(path: string): BookPlace {
    return this.#contexts.place({
      path,
      named: this.#known?.(path)?.named,
      ...(this.#groupsOf && { groups: this.#groupsOf(path) ?? null }),
    })
  }

  /** A folder without books of its own needs no decision. */
  #decide(folder: string, isPart = false): FolderDecision | undefined {
    const decided = this.decisions.get(folder)
    const isOpen = decided === undefined || decided.kind === 'persons'
    if (this.#layout.strategy !== 'auto' || !isOpen || !this.#byFolder.has(folder)) return decided
    const found = decideFolder(this.#factsOf(folder))
    const decision = isPart ? partDecision(found) : found
    const kind = decision.kind === 'persons' ? this.#decidePersons(folder) : decision.kind
    const final = { kind, isPublished: (decided ?? decision).isPublished }
    this.decisions.set(folder, final)
    return final
  }

  /** The owners of which a folder of years or editions is a bundle. */
  #findHolders(): ReadonlySet<string> {
    const holders = new Set<string>()
    for (const folder of this.#byFolder.keys()) {
      const owner = ownerOf(folder, this.#layout.words)
      if (owner.mayHoldSeries && this.#decide(folder, true)?.kind === 'bundle') holders.add(owner.folder)
    }
    return holders
  }

  /** Waits until all books of the folder are analyzed. */
  #decidePersons(folder: string): FolderDecision['kind'] {
    const books = (this.#byFolder.get(folder) ?? []).map((path) => this.#known?.(path) ?? null)
    return books.includes(null) ? 'persons' : decidePersons(folder, books as KnownBook[])
  }

  #factsOf(folder: string): FolderFacts {
    const inFolder = (at: string, name: string) => this.#files.has(at === '' ? name : `${at}/${name}`)
    let isBelowCalibre = false
    for (let at = folder; at !== ''; at = parentOf(at)) isBelowCalibre ||= inFolder(parentOf(at), CALIBRE_DATABASE)
    const above = parentOf(folder)
    return {
      folder,
      names: (this.#byFolder.get(folder) ?? []).map(nameOfFolder),
      hasOpf: inFolder(folder, FOLDER_FILES.opf),
      isBelowCalibre,
      isAmongRuns: folder !== '' && !this.#byFolder.has(above) && isAmongRuns((this.#below.get(above) ?? []).map(nameOfFolder)),
    }
  }
}
