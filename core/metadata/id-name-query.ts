import type { Knex } from 'knex'
import { type Viewer, visibleTo } from '#core/account/visibility.ts'

/** The names that plugins with an administrator's consent use for their services; `plugin:` followed by such a name is a key of identifiers. */
export async function listIdNames(database: Knex): Promise<Set<string>> {
  const { rows } = await database.raw('SELECT carrel_id_names() AS names')
  return new Set(rows[0].names as string[])
}

/**
 * Adds `plugin:` to stored keys that have become names of {@link listIdNames}, also in stored applications of metadata.
 * @param before the names before the change
 */
export async function prefixNewNames(trx: Knex, before: ReadonlySet<string>): Promise<void> {
  const added = [...(await listIdNames(trx))].filter((name) => !before.has(name))
  // Most versions of a plugin keep the names of the previous one, and updating all applications may take long.
  if (added.length > 0) await trx.raw('SELECT carrel_prefix_keys(CAST(? AS text[]))', [added])
}

/** Those of these keys under which a book or series that the caller may see has an identifier. */
export async function listUsedKeys(database: Knex, caller: Viewer, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const series = database('series_external_ids AS e').whereRaw('e.source = wanted.key').modify(visibleTo(caller, 'e.series_id'))
  const books = database('book_external_ids AS e')
    .join('books AS b', 'b.id', 'e.book_id')
    .whereRaw('e.source = wanted.key')
    .modify(visibleTo(caller, 'b.series_id'))
  const found = await database
    .with('wanted', database.raw('SELECT unnest(CAST(? AS text[])) AS key', [[...keys]]))
    .from('wanted')
    .where((query) => query.whereExists(series.select(database.raw('1'))).orWhereExists(books.select(database.raw('1'))))
    .pluck('wanted.key')
  return new Set(found as string[])
}
