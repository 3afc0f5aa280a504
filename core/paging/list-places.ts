import { BoundedCache } from '#core/foundation/bounded.ts'

/** A row of a list: how many rows come before it, and its id. */
export interface Place {
  at: number
  id: string
}

/** Of one list. A walk through a longer list leaves more rows between its places. */
const PLACES_MAX = 400
const PLACE_BYTES = 100

/** Rows whose places in the list are known. They are true for one state of the data, see {@link placesOf}. */
export class ListPlaces {
  /** Ascending. */
  readonly #places: Place[] = []
  readonly #apartMin: number
  /** How many rows the list has; null if unknown. */
  length: number | null = null

  constructor(apartMin: number) {
    this.#apartMin = apartMin
  }

  /** The last place at or before a row, and the first one behind it. */
  around(at: number): { before: Place | null; behind: Place | null } {
    const index = this.#indexBehind(at)
    return { before: this.#places[index - 1] ?? null, behind: this.#places[index] ?? null }
  }

  note(place: Place): void {
    const { before, behind } = this.around(place.at)
    const isNear = (before !== null && place.at - before.at < this.#apartMin) || (behind !== null && behind.at - place.at < this.#apartMin)
    if (!isNear && this.#places.length < PLACES_MAX) this.#places.splice(this.#indexBehind(place.at), 0, place)
  }

  #indexBehind(at: number): number {
    let [low, high] = [0, this.#places.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#places[middle] as Place).at <= at) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Some 200 lists of some users in some orders. */
const LISTS_BYTES_MAX = 8 * 1024 * 1024

// A list gets its places after it is kept.
const lists = new BoundedCache<ListPlaces>({ bytesMax: LISTS_BYTES_MAX, bytesOf: () => PLACES_MAX * PLACE_BYTES })

/**
 * The known places of a list.
 * @param key of everything that the list depends on: its filter, its order, who asks, and the state of the data
 * @param apartMin rows between two remembered places: it is not worth remembering one that is closer to another
 */
export function placesOf(key: string, apartMin: number): ListPlaces {
  let places = lists.get(key)
  if (places === undefined) {
    places = new ListPlaces(apartMin)
    lists.set(key, places)
  }
  return places
}
