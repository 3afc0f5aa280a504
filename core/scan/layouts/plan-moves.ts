/** A book with the key of the series that it belongs to. */
interface BookToMove {
  id: string
  seriesId: string
  target: string
}

/** Series that exchange books, with every book of them. */
export interface SeriesGroup {
  /** Keys of the series afterwards; the id of the row that each keeps, null for a new one. */
  targets: ReadonlyMap<string, { keeps: string | null; books: readonly BookToMove[] }>
  /** Rows that have no books afterwards. */
  emptied: readonly string[]
}

/**
 * Which series keeps which row. A series that keeps more than half of its books keeps its row; of several that become one, the one that is there already,
 * else the largest. Only groups in which something changes.
 * @param keyOf of the rows as they are
 */
export function planMoves(books: readonly BookToMove[], keyOf: ReadonlyMap<string, string>): SeriesGroup[] {
  const groups = new UnionFind()
  for (const { seriesId, target } of books) groups.join(keyOf.get(seriesId) as string, target)
  const rowsOf = Map.groupBy(keyOf.keys(), (id) => groups.find(keyOf.get(id) as string))
  const booksOf = Map.groupBy(books, ({ target }) => groups.find(target))
  return [...booksOf].flatMap(([root, mine]) => {
    const isSettled = mine.every(({ seriesId, target }) => keyOf.get(seriesId) === target)
    return isSettled ? [] : [planGroup(mine, rowsOf.get(root) ?? [], keyOf)]
  })
}

function planGroup(books: readonly BookToMove[], rows: readonly string[], keyOf: ReadonlyMap<string, string>): SeriesGroup {
  const totals = new Map<string, number>()
  for (const { seriesId } of books) totals.set(seriesId, (totals.get(seriesId) ?? 0) + 1)
  const kept = new Set<string>()
  const targets = new Map<string, { keeps: string | null; books: readonly BookToMove[] }>()
  for (const [target, mine] of Map.groupBy(books, (book) => book.target)) {
    const from = [...Map.groupBy(mine, ({ seriesId }) => seriesId)]
      .filter(([seriesId, moved]) => moved.length * 2 > (totals.get(seriesId) as number))
      .sort(([a, left], [b, right]) => isAt(b) - isAt(a) || right.length - left.length || (a < b ? -1 : 1))
    function isAt(seriesId: string): number {
      return keyOf.get(seriesId) === target ? 1 : 0
    }
    const keeps = from[0]?.[0] ?? null
    if (keeps !== null) kept.add(keeps)
    targets.set(target, { keeps, books: mine })
  }
  return { targets, emptied: rows.filter((id) => !kept.has(id)) }
}

/** Which keys exchange books, directly or through others. */
class UnionFind {
  readonly #above = new Map<string, string>()

  find(key: string): string {
    let root = key
    for (let above = this.#above.get(root); above !== undefined; above = this.#above.get(root)) root = above
    // Shortens the way for the next time.
    for (let at = key; at !== root; ) {
      const above = this.#above.get(at) as string
      this.#above.set(at, root)
      at = above
    }
    return root
  }

  join(one: string, other: string): void {
    const [a, b] = [this.find(one), this.find(other)]
    if (a !== b) this.#above.set(a, b)
  }
}
