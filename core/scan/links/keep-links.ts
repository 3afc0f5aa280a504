import type { Knex } from 'knex'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import type { FollowedLink } from '#core/scan/links/link-follower.ts'
import { listFollowedLinks, recordLinks } from '#core/scan/links/link-store.ts'
import { isInPart, SCAN_PATH_LENGTH_MAX } from '#core/scan/scan-part.ts'

/** Links whose targets are recorded: some megabytes. More are followed, but what two of them lead to may move from one to the other. */
const LINKS_MAX = 20_000

interface Walked {
  library: LibraryRow
  /** The folder that was walked, relative to the library; '' for all of it. */
  part: string
  followed: readonly FollowedLink[]
  unreadable: ReadonlySet<string>
}

/** Records the links that a walk has followed; those of other and unreadable places stay as they were. */
export async function keepLinks(database: Knex, { library, part, followed, unreadable }: Walked): Promise<void> {
  if (library.link_targets.length === 0) return
  const before = await listFollowedLinks(database, library.id)
  const isHidden = (link: string) => [...unreadable].some((path) => isInPart(path, link))
  const kept = before.filter(({ path }) => !isInPart(part, path) || isHidden(path))
  const storable = [...kept, ...followed].filter(({ path }) => Buffer.byteLength(path) <= SCAN_PATH_LENGTH_MAX)
  const now = new Map(storable.slice(0, LINKS_MAX).map(({ path, target }) => [path, target]))
  const isSame = now.size === before.length && before.every(({ path, target }) => now.get(path) === target)
  if (!isSame)
    await recordLinks(
      database,
      library.id,
      [...now].map(([path, target]) => ({ path, target })),
    )
}
