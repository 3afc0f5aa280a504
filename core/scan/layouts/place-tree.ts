import { formatOfName } from '#core/fields/book-format.ts'
import { FOLDER_FILES } from '#core/fields/sidecar.ts'
import {
  decideFolder,
  decidePersons,
  type FolderDecision,
  type FolderFacts,
  isAmongRuns,
  type KnownBook,
  ownerOf,
  sharedNames,
} from '#core/scan/layouts/decide-folder.ts'
import { nameOfFolder, parentOf } from '#core/scan/layouts/folder-name.ts'
import { type BookPlace, type FileToPlace, type FolderContext, placeBook } from '#core/scan/layouts/place-book.ts'
import type { SeriesLayout } from '#core/scan/layouts/series-config.ts'

/** A file of Calibre in the root of a library. */
export const CALIBRE_DATABASE = 'metadata.db'

/** The contexts of the folders of one library; remembers those that come again. */
export class FolderContexts {
  readonly #layout: SeriesLayout
  readonly #decisionOf: (folder: string) => FolderDecision | undefined
  readonly #shared: () => ReadonlySet<string>
  #last: { folder: string; context: FolderContext } | null = null

  constructor(
    layout: SeriesLayout,
    of: { decisionOf: (folder: string) => FolderDecision | undefined; shared?: () => ReadonlySet<string> },
  ) {
    this.#layout = layout
    this.#decisionOf = of.decisionOf
    this.#shared = of.shared ?? (() => new Set())
  }

  /** Files of one folder come one after the other. */
  place(file: FileToPlace): BookPlace {
    const folder = parentOf(file.path)
    if (this.#last?.folder !== folder) {
      const owner = ownerOf(folder, this.#layout.words)
      this.#last = {
        folder,
        context: { owner, decision: this.#decisionOf(owner.folder), shared: folder === '' ? this.#shared() : new Set() },
      }
    }
    return placeBook(this.#layout, file, this.#last.context)
  }
}

/** Series of a whole tree, of the paths of all of its files. @param of.known the metadata of an analyzed book; without it, as before the first analysis */
export function placeTree(
  layout: SeriesLayout,
  paths: readonly string[],
  of: { known?: (path: string) => KnownBook; groupsOf?: (path: string) => FileToPlace['groups'] } = {},
): Map<string, BookPlace> {
  const sorted = [...new Set(paths)].sort()
  const books = sorted.filter((path) => formatOfName(path) !== null)
  const { known } = of
  const decisions = new Map(
    factsOf(sorted).map((facts) => {
      const decision = decideFolder(facts)
      if (decision.kind !== 'persons' || !known) return [facts.folder, decision]
      const kind = decidePersons(
        facts.folder,
        facts.names.map((name) => known(`${facts.folder}/${name}`)),
      )
      return [facts.folder, { ...decision, kind }]
    }),
  )
  const shared = sharedNames(books.filter((path) => parentOf(path) === ''))
  const contexts = new FolderContexts(layout, { decisionOf: (folder) => decisions.get(folder), shared: () => shared })
  return new Map(
    books.map((path) => [
      path,
      contexts.place({ path, named: known?.(path).named, ...(of.groupsOf && { groups: of.groupsOf(path) ?? null }) }),
    ]),
  )
}

function factsOf(paths: readonly string[]): FolderFacts[] {
  const books = Map.groupBy(
    paths.filter((path) => formatOfName(path) !== null),
    parentOf,
  )
  const others = new Set(paths)
  const folders = new Set<string>()
  for (const path of paths) for (let at = parentOf(path); at !== '' && !folders.has(at); at = parentOf(at)) folders.add(at)
  const below = Map.groupBy(folders, parentOf)
  const inFolder = (folder: string, name: string) => others.has(folder === '' ? name : `${folder}/${name}`)
  const isBelowCalibre = (folder: string): boolean => {
    for (let at = folder; at !== ''; at = parentOf(at)) if (inFolder(parentOf(at), CALIBRE_DATABASE)) return true
    return false
  }
  return [...books].map(([folder, files]) => ({
    folder,
    names: files.map(nameOfFolder),
    hasOpf: inFolder(folder, FOLDER_FILES.opf),
    isBelowCalibre: isBelowCalibre(folder),
    isAmongRuns: folder !== '' && !books.has(parentOf(folder)) && isAmongRuns((below.get(parentOf(folder)) ?? []).map(nameOfFolder)),
  }))
}
