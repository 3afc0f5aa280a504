import type { Knex } from 'knex'
import type { Rules } from '#core/conditions/rules.ts'
import { type FolderDecision, ownerOf } from '#core/scan/layouts/decide-folder.ts'
import { keepDecisions } from '#core/scan/layouts/folder-layout-store.ts'
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

/** A folder without books of its own never is a bundle. */
const PLAIN: FolderDecision = { kind: 'series', isPublished: false }

/** Gives new files their series; what is decided for their folders now is kept. In the order of the paths. */
export async function placeFiles(
  trx: Knex.Transaction,
  of: { libraryId: string; layout: SeriesLayout; rules: Rules; walked: WalkedFolders },
  paths: readonly string[],
): Promise<BookPlace[]> {
  const { layout, walked } = of
  const folders = layout.strategy === 'auto' ? new Set(paths.map(parentOf)) : []
  const owners = new Set([...folders].map((folder) => ownerOf(folder, layout.words).folder))
  const decided = new Map([...owners].map((owner) => [owner, walked.decisions.get(owner) ?? PLAIN]))
  const decisions = await keepDecisions(trx, of.libraryId, decided)
  const groups = await matchPatterns(of.rules, layout, paths)
  const contexts = new FolderContexts(layout, { decisionOf: (folder) => decisions.get(folder), shared: () => walked.shared })
  return paths.map((path, index) => contexts.place({ path, ...(groups && { groups: groups[index] ?? null }) }))
}
