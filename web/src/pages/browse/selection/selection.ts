/** What is selected in a list of any length. */
export interface Selection {
  /** All of the list but `ids`; else only `ids`. */
  isAll: boolean
  ids: ReadonlySet<string>
  /** Where a range begins: the item that was selected last without shift, and what was selected then. */
  anchor: { index: number; ids: ReadonlySet<string> } | null
}

export const NOTHING: Selection = { isAll: false, ids: new Set(), anchor: null }
export const EVERYTHING: Selection = { isAll: true, ids: new Set(), anchor: null }

export const isSelected = ({ isAll, ids }: Selection, id: string): boolean => isAll !== ids.has(id)

/** @param total of the list */
export const countSelected = ({ isAll, ids }: Selection, total: number): number => (isAll ? Math.max(0, total - ids.size) : ids.size)

/** Selects an item, or takes it out. */
export function toggled({ isAll, ids }: Selection, id: string, index: number): Selection {
  const next = new Set(ids)
  if (!next.delete(id)) next.add(id)
  return { isAll, ids: next, anchor: { index, ids: next } }
}

/** Selects everything between the anchor and another item; a range that was longer before becomes shorter. */
export function withRange({ isAll, ids, anchor }: Selection, range: readonly string[], at: number): Selection {
  const from = anchor ?? { index: at, ids }
  const next = new Set(from.ids)
  for (const id of range) {
    if (isAll) next.delete(id)
    else next.add(id)
  }
  return { isAll, ids: next, anchor: from }
}
