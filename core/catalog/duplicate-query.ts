import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { type Sameness, sameColumn, severalOf } from '#core/catalog/duplicate-store.ts'

/** How many ids of one group are returned; `duplicateCount` has the full number. */
const IDS_PER_GROUP_MAX = 500

/** Books with the same file, or different files with the same pages. Times are ISO 8601. */
interface DuplicateGroup {
  id: string
  /** SHA-256 of the file, or what identifies the pages. */
  hash: string
  bookIds: string[]
  duplicateCount: number
  createdAt: string
  updatedAt: string
}

type GroupRow = Omit<DuplicateGroup, 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date }

/** Groups with at least two books that the caller sees, of which at least one is not dismissed. */
const groupsSeenBy = (database: Knex, caller: Caller, same: Sameness): Knex.QueryBuilder =>
  database('duplicate_groups AS g')
    .where('g.same', same)
    .join('books', sameColumn(same), 'g.file_hash')
    .whereNull('books.deleted_at')
    .modify(visibleTo(caller, 'books.series_id'))
    .groupBy('g.id')
    .havingRaw(`${severalOf(same)} AND bool_or(books.id <> ALL(g.dismissed_books))`)

/** Some of the groups, the largest first, and the total numbers of groups and books. */
export async function listDuplicates(
  database: Knex,
  caller: Caller,
  same: Sameness,
  window: { offset: number; limit: number },
): Promise<{ groups: DuplicateGroup[]; totalGroups: number; totalBooks: number }> {
  const counted = database
    .from(groupsSeenBy(database, caller, same).select(database.raw('count(*) AS books')).as('seen'))
    .first(database.raw('count(*)::int AS groups, coalesce(sum(books), 0)::int AS books'))
  const read = groupsSeenBy(database, caller, same)
    .select('g.id', 'g.file_hash AS hash')
    // Of the books that the caller sees: the stored times of a group tell of the others.
    .select(database.raw('(array_agg(books.created_at ORDER BY books.created_at))[2] AS "createdAt", max(books.created_at) AS "updatedAt"'))
    .select(
      database.raw(
        'count(*)::int AS "duplicateCount", (array_agg(books.id ORDER BY books.created_at, books.id))[:?] AS "bookIds"',
        IDS_PER_GROUP_MAX,
      ),
    )
    .orderByRaw('count(*) DESC, g.file_hash')
    .offset(window.offset)
    .limit(window.limit)
  const [rows, totals] = await Promise.all([read as Promise<GroupRow[]>, counted as Promise<{ groups: number; books: number }>])
  const groups = rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString(), updatedAt: row.updatedAt.toISOString() }))
  return { groups, totalGroups: totals.groups, totalBooks: totals.books }
}

/** The books of one group that the caller sees; null when the caller sees no such group. */
export async function findGroupBooks(database: Knex, caller: Caller, groupId: string): Promise<string[] | null> {
  for (const same of ['content', 'pages'] as const) {
    const row = await groupsSeenBy(database, caller, same).where('g.id', groupId).first(database.raw('array_agg(books.id) AS book_ids'))
    if (row) return row.book_ids
  }
  return null
}
