import type { Knex } from 'knex'
import type { Rules } from '#core/conditions/rules.ts'
import { type FolderDecision, ownerOf, partDecision } from '#core/scan/layouts/decide-folder.ts'
import { keepDecisions, listBundlesBelow } from '#core/scan/layouts/folder-layout-store.ts'
import { parentOf } from '#core/scan/layouts/folder-name.ts'
import { matchPatterns } from '#core/scan/layouts/match-patterns.ts'
import type { BookPlace } from '#core/scan/layouts/place-book.ts'
import { FolderContexts } from '#core/scan/layouts/place-tree.ts'
import type { SeriesLayout } from '#core/scan/layouts/series-config.ts'

/** What a walk has decided of folders with new or changed files. */
export interface WalkedFolders {
  decisions: ReadonlyMap<string, FolderDecision>
  /** Keys of the series names that several files in the root have. */
  shared: ReadonlySet<string>
}

/** A library that is walked. */
interface WalkedLibrary {
  library: { id: string; path: string }
  layout: SeriesLayout
  walked: WalkedFolders
}

/** Gives new files their series; what is decided for their folders now is kept. In the order of the paths. */
export async function placeFiles(
  trx: Knex.Transaction,
  of: WalkedLibrary & { rules: Rules },
  paths: readonly string[],
): Promise<BookPlace[]> {
  const { layout, walked } = of
  const { decisions, holders } = await decideFolders(trx, of, { paths, areNew: true })
  const groups = await matchPatterns(of.rules, layout, paths)
  const contexts = new FolderContexts(layout, {
    decisionOf: (folder) => decisions.get(folder),
    holdsSeries: (folder) => holders.has(folder),
    shared: () => walked.shared,
  })
  return paths.map((path, index) => contexts.place({ path, ...(groups && { groups: groups[index] ?? null }) }))
}

/**
 * Decides, with `auto`, about the folders of these files. A folder without books of its own needs no decision.
 * @returns the decisions that hold, and the owners of which a folder of years or editions holds several series
 */
export async function decideFolders(
  trx: Knex.Transaction,
  { library, layout, walked }: WalkedLibrary,
  { paths, areNew }: { paths: readonly string[]; areNew: boolean },
): Promise<{ decisions: ReadonlyMap<string, FolderDecision>; holders: ReadonlySet<string> }> {
  if (layout.strategy !== 'auto') return { decisions: new Map(), holders: new Set() }
  const inFolders = Map.groupBy(paths, parentOf)
  const found = new Map<string, { decision: FolderDecision; added: number }>()
  const folders = new Set<string>()
  const mayHold = new Set<string>()
  for (const folder of inFolders.keys()) {
    const owner = ownerOf(folder, layout.words)
    if (owner.mayHoldSeries) mayHold.add(owner.folder)
    for (const one of owner.mayHoldSeries ? [owner.folder, folder] : [owner.folder]) {
      folders.add(one)
      const decision = walked.decisions.get(one)
      const added = areNew ? (inFolders.get(one)?.length ?? 0) : 0
      if (decision) found.set(one, { decision: one === owner.folder ? decision : partDecision(decision), added })
    }
  }
  const decisions = await keepDecisions(trx, library, { folders: [...folders], found })
  const bundles = await listBundlesBelow(trx, library.id, [...mayHold])
  const owners = bundles.map((folder) => ownerOf(folder, layout.words))
  return { decisions, holders: new Set(owners.filter(({ mayHoldSeries }) => mayHoldSeries).map(({ folder }) => folder)) }
}
