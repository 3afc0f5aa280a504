import type { Announcement } from '#core/events/event.ts'

/** The most recent ones: minutes of analyses, days of ordinary use. About 5 MB. */
const KEPT_MAX = 10_000
/** Characters of notifications. */
const LENGTH_MAX = 8_000_000

/** The newest events in their order, by position and by id. A position is the number of earlier events. */
interface Window {
  /** Position of the oldest event that is kept. */
  readonly start: number
  /** Position after the newest event. */
  readonly end: number
  /** How often the window was cleared. */
  readonly epoch: number
  add(announcement: Announcement, length: number): void
  /** The position after the event with this id; null when it is not kept. */
  find(id: string): number | null
  /** The id of the event before a position that is kept. */
  idAt(place: number): string
  slice(from: number, to: number): readonly Announcement[]
  /** Removes all events. @param id for followers at the end */
  clear(id: string): void
}

/** @param id for followers at the beginning */
export function openWindow(id: string): Window {
  let kept: { announcement: Announcement; length: number }[] = []
  const places = new Map([[id, 0]])
  let start = 0
  let epoch = 0
  let length = 0
  /** Id of the event before the oldest one that is kept. */
  let before = id

  function dropOldest(): void {
    // Several at a time: moving the whole rest for each would cost more than the events.
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
