import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'

/** The names that plugins which an administrator has agreed to have for their services; `plugin:` and such a name is a key of identifiers. */
export async function listIdNames(database: Knex): Promise<Set<string>> {
  const { rows } = await database.raw('SELECT carrel_id_names() AS names')
  return new Set(rows[0].names as string[])
}

/**
 * What is kept under a name that has become one of {@link listIdNames} gets `plugin:` in front, in applications of metadata too.
 * @param before the names that were known until now
 */
export async function prefixNewNames(trx: Knex, before: ReadonlySet<string>): Promise<void> {
  const added = [...(await listIdNames(trx))].filter((name) => !before.has(name))
  // Most versions have the names of the one before, and what was applied may be much to look through.
  if (added.length > 0) await trx.raw('SELECT carrel_prefix_keys(CAST(? AS text[]))', [added])
}

/** Which of these are keys of identifiers of something that the caller may see. */
export async function listUsedKeys(database: Knex, caller: Pick<Caller, 'userId'>, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const series = database('series_external_ids AS e').whereRaw('e.source = asked.key').modify(visibleTo(caller, 'e.series_id'))
  const books = database('book_external_ids AS e')
    .join('books AS b', 'b.id', 'e.book_id')
    .whereRaw('e.source = asked.key')
    .modify(visibleTo(caller, 'b.series_id'))
  const found = await database
    .with('asked', database.raw('SELECT unnest(CAST(? AS text[])) AS key', [[...keys]]))
    .from('asked')
    .where((query) => query.whereExists(series.select(database.raw('1'))).orWhereExists(books.select(database.raw('1'))))
    .pluck('asked.key')
  return new Set(found as string[])
}
