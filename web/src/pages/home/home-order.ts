/** How a user has arranged the home page. */
export interface HomeOrder {
  /** Ids of shelves; those that are not named follow in their usual order. */
  order: readonly string[]
  hidden: readonly string[]
}

export const USUAL_ORDER: HomeOrder = { order: [], hidden: [] }

/** What stands in a preference, which can be anything. */
export function readHomeOrder(value: unknown): HomeOrder {
  const { order, hidden } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  const texts = (list: unknown) => (Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [])
  return { order: texts(order), hidden: texts(hidden) }
}

/** Shelves in the order of the user. One that is new stands behind the one that it follows usually. @param ids in their usual order */
export function inOrder(ids: readonly string[], { order }: HomeOrder): string[] {
  const known = order.filter((id, at) => ids.includes(id) && order.indexOf(id) === at)
  for (const [at, id] of ids.entries()) {
    if (known.includes(id)) continue
    const before = ids[at - 1]
    known.splice(before === undefined ? 0 : known.indexOf(before) + 1, 0, id)
  }
  return known
}

/** @param by −1 for up */
export function moved(ids: readonly string[], id: string, by: -1 | 1): string[] {
  const from = ids.indexOf(id)
  const next = ids.toSpliced(from, 1)
  next.splice(Math.max(0, Math.min(ids.length - 1, from + by)), 0, id)
  return next
}
