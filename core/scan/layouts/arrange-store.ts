import type { Knex } from 'knex'
import { missingSuffix } from '#core/catalog/library-folder.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { announceBooks, announceSeries, announceSeriesGone } from '#core/events/event-store.ts'
import { fieldsOfPlaced, type PlacedBook } from '#core/fields/placed-values.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { raiseAgeRatings } from '#core/metadata/aggregate-series.ts'
import { applyChange, isSameContent } from '#core/metadata/apply-change.ts'
import { loadStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { passProtection } from '#core/metadata/protection-store.ts'
import { markBooksChanged, storeFolderTitles } from '#core/metadata/series-aggregate-store.ts'
import { listContestedTags, replaceContestedTags } from '#core/scan/layouts/contested-tag-store.ts'
import { placeKey, type SeriesPlace } from '#core/scan/layouts/place-book.ts'
import type { SeriesGroup } from '#core/scan/layouts/plan-moves.ts'
import { applyPlaceValues, ensureSeries, type PlacedLibrary, valuesOf, valuesText } from '#core/scan/layouts/series-place-store.ts'

/** Rows per statement; keeps it around a megabyte. */
const PIECE = 2_000

/** A book of a library that may have to move. */
export interface ArrangedBook extends PlacedBook {
  id: string
  seriesId: string
  /** Relative to the library. */
  path: string
  /** Another book has the path: this one is missing. */
  isDisplaced: boolean
  fileName: string
  /** Waits for its analysis. */
  isPending: boolean
  isAnalyzed: boolean
  /** Whether a file beside it describes it. */
  hasSidecar: boolean
  /** The series in its metadata. */
  named: string | null
  /** The one by which it was grouped first; '' for none, null before. */
  groupedBy: string | null
  /** Who wrote it; only of books that may lie in a folder of their author. */
  writers: string[] | null
}

/** Some books of a library by id, from the one after `after` on, missing ones too. */
export async function listArrangedBooks(
  database: Knex,
  library: { id: string; path: string },
  { after, limit }: { after: string; limit: number },
): Promise<ArrangedBook[]> {
  const { rows } = await database.raw(
    `SELECT b.id, b.series_id AS "seriesId", substr(b.path, ?) AS path, b.file_name AS "fileName", b.layout_values AS "layoutValues", b.side AS "isSide",
       b.state = 'pending' AND b.deleted_at IS NULL AS "isPending", b.sidecars IS NOT NULL AS "hasSidecar",
       b.state = 'analyzed' AS "isAnalyzed", b.grouped_by AS "groupedBy",
       m.embedded #>> '{series,fields,title}' AS named,
       CASE WHEN b.file_format IN ('epub', 'pdf') THEN ARRAY(
         SELECT a ->> 'name' FROM jsonb_array_elements(CAST(m.authors AS jsonb)) AS a WHERE a ->> 'role' IN ('author', 'writer')) END AS writers
     FROM books b LEFT JOIN book_metadata m ON m.book_id = b.id WHERE b.library_id = ? AND b.id > ? ORDER BY b.id LIMIT ?`,
    [[...library.path].length + 2, library.id, after, limit],
  )
  return rows.map((row: ArrangedBook) => {
    const path = row.path.replace(missingSuffix(row.id), '')
    return { ...row, path, isDisplaced: path !== row.path }
  })
}

/** The key of each series of a library, and its title. */
export async function listPlacedSeries(
  database: Knex,
  libraryId: string,
): Promise<Map<string, { key: string; title: string; path: string }>> {
  const rows = await database('series').where('library_id', libraryId).select('id', 'path', 'name_key AS nameKey', 'title')
  return new Map(rows.map((row) => [row.id, { key: placeKey(row), title: row.title, path: row.path }]))
}

export async function hasPendingBooks(database: Knex, libraryId: string): Promise<boolean> {
  return (await database('books').where({ library_id: libraryId, state: 'pending' }).whereNull('deleted_at').first('id')) !== undefined
}

/** Whether the metadata of books, or what was decided anew, may change the series of any folder. */
export async function hasWaitingFolders(database: Knex, libraryId: string): Promise<boolean> {
  const folder = await database('folder_layouts').where('library_id', libraryId).whereNot('kind', 'series').first('path')
  return folder !== undefined
}

/** Records by which names in their metadata books are grouped from now on. */
export async function keepGroupedNames(database: Knex, names: ReadonlyMap<string, string>): Promise<void> {
  // One order of locking prevents deadlocks.
  const ordered = [...names].sort(([a], [b]) => (a < b ? -1 : 1))
  for (let at = 0; at < ordered.length; at += PIECE) {
    const some = ordered.slice(at, at + PIECE)
    await database.raw(
      `WITH mine AS (SELECT id FROM books WHERE id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR NO KEY UPDATE)
       UPDATE books b SET grouped_by = p.name FROM unnest(CAST(:ids AS uuid[]), CAST(:names AS text[])) AS p (id, name) JOIN mine ON mine.id = p.id
       WHERE b.id = p.id`,
      { ids: some.map(([id]) => id), names: some.map(([, name]) => name) },
    )
  }
}

/** The layout that was applied is still that of the library: nothing is due any more. */
export async function endArranging(
  database: Knex,
  library: { id: string; series_strategy: string; series_config: unknown },
): Promise<void> {
  await database('libraries')
    .where({ id: library.id, series_strategy: library.series_strategy })
    .whereRaw('series_config IS NOT DISTINCT FROM CAST(? AS jsonb)', [
      library.series_config === null ? null : JSON.stringify(library.series_config),
    ] as string[])
    .update({ arrange_due: false })
}

interface GroupToMove {
  /** With `arrange_due`, books move because somebody has changed the layout, else because their files were analyzed. */
  library: PlacedLibrary & { arrange_due: boolean }
  rules: Rules
  group: SeriesGroup
  places: ReadonlyMap<string, SeriesPlace>
  placed: ReadonlyMap<string, { fileName: string } & PlacedBook>
}

/**
 * Moves the books of series that exchange some, all or nothing. Books keep everything; each series that receives a book gets the sharing tags and the age
 * rating of the one that the book leaves, so that nothing hidden becomes visible. False when a book has changed its series meanwhile: plan again.
 */
export async function moveGroup(trx: Knex.Transaction, { library, rules, group, places, placed }: GroupToMove): Promise<boolean> {
  const books = [...group.targets.values()].flatMap((target) => target.books)
  const before = [...new Set([...books.map(({ seriesId }) => seriesId), ...group.emptied])].sort()
  await trx.raw('SELECT 1 FROM series WHERE id = ANY(CAST(? AS uuid[])) ORDER BY id FOR UPDATE', [before])
  if (!(await isAsPlanned(trx, books, group.emptied))) return false
  // A key may be that of another series which moves too.
  await trx('series')
    .whereRaw('id = ANY(CAST(? AS uuid[]))', [before])
    .update({ name_key: trx.raw(`chr(1) || id`) })
  const kept = [...group.targets].flatMap(([key, { keeps }]) => (keeps === null ? [] : [[keeps, places.get(key) as SeriesPlace] as const]))
  await placeKept(trx, { library, rules }, new Map(kept))
  const fresh = [...group.targets].filter(([, { keeps }]) => keeps === null).map(([key]) => places.get(key) as SeriesPlace)
  const { ids } = await ensureSeries(trx, { library, rules }, fresh)
  const idOf = (key: string) => group.targets.get(key)?.keeps ?? (ids.get(key) as string)
  const moved = books.map((book) => ({ ...book, to: idOf(book.target) }))
  const contested = library.arrange_due ? await listContestedTags(trx, moved) : []
  await passProtection(trx, moved, { isChange: library.arrange_due })
  await replaceContestedTags(trx, contested)
  await writeBooks(trx, moved, placed)
  await announceSeriesGone(trx, { libraryId: library.id, ids: group.emptied }, async () => {
    const { rows } = await trx.raw(
      `DELETE FROM series s WHERE id = ANY(CAST(? AS uuid[])) AND NOT EXISTS (SELECT 1 FROM books WHERE series_id = s.id) RETURNING id`,
      [[...group.emptied]],
    )
    return rows.map(({ id }: { id: string }) => id)
  })
  await announceSeries(
    trx,
    kept.map(([id]) => id),
    ['path', 'books'],
  )
  return true
}

/** Locks the books. */
async function isAsPlanned(trx: Knex, books: readonly { id: string; seriesId: string }[], emptied: readonly string[]): Promise<boolean> {
  const { rows } = await trx.raw(
    `SELECT id, series_id AS "seriesId" FROM books WHERE id = ANY(CAST(? AS uuid[])) OR series_id = ANY(CAST(? AS uuid[])) ORDER BY id FOR NO KEY UPDATE`,
    [books.map(({ id }) => id), [...emptied]],
  )
  const now = new Map((rows as { id: string; seriesId: string }[]).map(({ id, seriesId }) => [id, seriesId]))
  return now.size === books.length && books.every(({ id, seriesId }) => now.get(id) === seriesId)
}

/** Gives series that keep their row the place that they have now. */
async function placeKept(
  trx: Knex.Transaction,
  { library, rules }: { library: PlacedLibrary; rules: Rules },
  kept: ReadonlyMap<string, SeriesPlace>,
): Promise<void> {
  if (kept.size === 0) return
  const rows = [...kept]
  const rewritten = await rules.rewriteTitles(
    library.title_preprocessing_rules,
    rows.map(([, { title }]) => title),
  )
  const titles = new Map(rows.map(([id], index) => [id, rewritten[index] as string]))
  await trx.raw(
    `UPDATE series s SET path = p.path, name_key = p.name_key, layout_title = p.title, layout_values = p.layout_values, oneshot = p.oneshot, updated_at = now()
     FROM unnest(CAST(? AS uuid[]), CAST(? AS text[]), CAST(? AS text[]), CAST(? AS text[]), CAST(? AS jsonb[]), CAST(? AS boolean[]))
       AS p (id, path, name_key, title, layout_values, oneshot) WHERE s.id = p.id`,
    [
      rows.map(([id]) => id),
      rows.map(([, { path }]) => path),
      rows.map(([, { nameKey }]) => nameKey),
      rows.map(([, { title }]) => title),
      // The driver's types do not allow null inside an array; PostgreSQL does.
      rows.map(([, place]) => valuesText(place)) as string[],
      rows.map(([, { oneshot }]) => oneshot),
    ],
  )
  const states = await loadStates(trx, 'series', [...kept.keys()], [])
  const changes = [...states.values()].map((before) => {
    const { next } = applyChange('series', before, { values: { title: titles.get(before.id) as string } }, 'file_name')
    return { before, next: withSortTitle(next) }
  })
  await storeStates(trx, 'series', changes)
  await storeFolderTitles(trx, titles)
  await applyPlaceValues(trx, new Map(rows.filter(([, place]) => valuesOf(place))))
}

/** Writes the series of books, and what the folders around them say now. */
async function writeBooks(
  trx: Knex.Transaction,
  moved: readonly { id: string; to: string }[],
  placed: GroupToMove['placed'],
): Promise<void> {
  for (let at = 0; at < moved.length; at += PIECE) {
    const some = moved.slice(at, at + PIECE).map((book) => ({ ...book, ...(placed.get(book.id) as { fileName: string } & PlacedBook) }))
    const ids = some.map(({ id }) => id)
    await trx.raw(
      `UPDATE books b SET series_id = p.series_id, side = p.side,
         layout_values = nullif(coalesce(p.layout_values, '{}') || jsonb_strip_nulls(jsonb_build_object('strategyTitle', b.layout_values -> 'strategyTitle')), '{}'), updated_at = now()
       FROM unnest(CAST(? AS uuid[]), CAST(? AS uuid[]), CAST(? AS jsonb[]), CAST(? AS boolean[])) AS p (id, series_id, layout_values, side)
       WHERE b.id = p.id`,
      [
        ids,
        some.map(({ to }) => to),
        some.map(({ layoutValues }) => layoutValues && JSON.stringify(layoutValues)) as string[],
        some.map(({ isSide }) => isSide),
      ],
    )
    const states = await loadStates(trx, 'book', ids, [])
    const changes = some.flatMap(({ id, fileName, ...book }) => {
      const before = states.get(id)
      if (!before) return []
      const { title: _, ...numbers } = fieldsOfPlaced(fileName, book)
      const { next } = applyChange('book', before, { values: numbers }, 'file_name')
      return isSameContent('book', before, next) ? [] : [{ before, next }]
    })
    await storeStates(trx, 'book', changes)
    await announceBooks(trx, ids, ['seriesId'])
    await markBooksChanged(trx, ids)
    // The rest of their metadata waits for the other series.
    await raiseAgeRatings(trx, ids)
  }
}
