import { BoundedCache } from '#core/foundation/bounded.ts'

/** A row of a list: how many rows come before it, and its id. */
export interface ListAnchor {
  at: number
  id: string
}

/** Of one list. With more, every second one is forgotten, so that those that remain are spread over all that was read. */
const ANCHORS_MAX = 400
const ANCHOR_BYTES = 100

/** Rows whose anchors in the list are known. They are true for one state of the data, see {@link anchorsOf}. */
export class ListAnchors {
  /** Ascending. */
  #anchors: ListAnchor[] = []
  #apartMin: number
  /** How many rows the list has; null if unknown. */
  length: number | null = null

  constructor(apartMin: number) {
    this.#apartMin = apartMin
  }

  /** The last anchor at or before a row, and the first one behind it. */
  around(at: number): { before: ListAnchor | null; behind: ListAnchor | null } {
    const index = this.#indexBehind(at)
    return { before: this.#anchors[index - 1] ?? null, behind: this.#anchors[index] ?? null }
  }

  note(anchor: ListAnchor): void {
    const { before, behind } = this.around(anchor.at)
    const isNear =
      (before !== null && anchor.at - before.at < this.#apartMin) || (behind !== null && behind.at - anchor.at < this.#apartMin)
    if (isNear) return
    if (this.#anchors.length === ANCHORS_MAX) {
      this.#anchors = this.#anchors.filter((_, index) => index % 2 === 0)
      this.#apartMin *= 2
    }
    this.#anchors.splice(this.#indexBehind(anchor.at), 0, anchor)
  }

  #indexBehind(at: number): number {
    let [low, high] = [0, this.#anchors.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#anchors[middle] as ListAnchor).at <= at) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Some 200 lists of some users in some orders. */
const LISTS_BYTES_MAX = 8 * 1024 * 1024

// A list gets its anchors after it is kept.
const lists = new BoundedCache<ListAnchors>({ bytesMax: LISTS_BYTES_MAX, bytesOf: () => ANCHORS_MAX * ANCHOR_BYTES })

/**
 * The known anchors of a list.
 * @param key of everything that the list depends on: its filter, its order, who asks, and the state of the data
 * @param apartMin rows between two remembered anchors: it is not worth remembering one that is closer to another
 */
export function anchorsOf(key: string, apartMin: number): ListAnchors {
  let anchors = lists.get(key)
  if (anchors === undefined) {
    anchors = new ListAnchors(apartMin)
    lists.set(key, anchors)
  }
  return anchors
}
