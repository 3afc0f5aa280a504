import type { Announcement } from '#core/events/event.ts'

/** Of those that were announced last: minutes of analyses, days of ordinary life. About 5 MB. */
const KEPT_MAX = 10_000
/** Characters of notifications. */
const LENGTH_MAX = 8_000_000

/** The newest events in their order, by place and by id. A place is how many came before. */
export interface Window {
  /** Place of the oldest that is kept. */
  readonly start: number
  /** Place after the newest. */
  readonly end: number
  /** Counts how often it was cleared. */
  readonly epoch: number
  add(announcement: Announcement, length: number): void
  /** The place after the event of this id; null when it is not kept. */
  find(id: string): number | null
  /** The id of the event before a place that is kept. */
  idAt(place: number): string
  slice(from: number, to: number): readonly Announcement[]
  /** Forgets all. @param id for who stands at the end now */
  clear(id: string): void
}

/** @param id for who stands at the beginning */
export function openWindow(id: string): Window {
  let kept: { announcement: Announcement; length: number }[] = []
  const places = new Map([[id, 0]])
  let start = 0
  let epoch = 0
  let length = 0
  /** Of the event before the oldest one that is kept. */
  let before = id

  function dropOldest(): void {
    // Some at a time: moving all that is left for each would cost more than the events.
    const surplus = Math.max(1, Math.floor(kept.length / 10))
    for (const dropped of kept.slice(0, surplus)) {
      places.delete(before)
      before = dropped.announcement.id
      length -= dropped.length
    }
    kept = kept.slice(surplus)
    start += surplus
  }

  return {
    get start() {
      return start
    },
    get end() {
      return start + kept.length
    },
    get epoch() {
      return epoch
    },
    add(announcement, announcementLength) {
      kept.push({ announcement, length: announcementLength })
      length += announcementLength
      places.set(announcement.id, start + kept.length)
      while (kept.length > KEPT_MAX || length > LENGTH_MAX) dropOldest()
    },
    find: (wanted) => places.get(wanted) ?? null,
    idAt: (place) => (place <= start ? before : (kept[place - start - 1]?.announcement.id ?? before)),
    slice: (from, to) => kept.slice(from - start, to - start).map(({ announcement }) => announcement),
    clear(next) {
      start += kept.length
      kept = []
      length = 0
      places.clear()
      places.set(next, start)
      before = next
      epoch += 1
    },
  }
}
