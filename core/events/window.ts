import type { Announcement } from '#core/events/event.ts'
import { Register } from '#core/foundation/register.ts'

/** The most recent ones: minutes of analyses, days of ordinary use. About 5 MB. */
const KEPT_MAX = 10_000
/** Characters of notifications. */
const LENGTH_MAX = 8_000_000

/** The newest events in their order, by position and by id. A position is the number of earlier events. */
export class EventWindow {
  #kept: { announcement: Announcement; length: number }[] = []
  readonly #positions = new Register<number>()
  #start = 0
  #epoch = 0
  #length = 0
  /** Id of the event before the oldest one that is kept. */
  #before: string

  /** @param id for followers at the beginning */
  constructor(id: string) {
    this.#before = id
    this.#positions.set(id, 0)
  }

  /** Position of the oldest event that is kept. */
  get start(): number {
    return this.#start
  }

  /** Position after the newest event. */
  get end(): number {
    return this.#start + this.#kept.length
  }

  /** How often the window was cleared. */
  get epoch(): number {
    return this.#epoch
  }

  add(announcement: Announcement, length: number): void {
    this.#kept.push({ announcement, length })
    this.#length += length
    this.#positions.set(announcement.id, this.end)
    while (this.#kept.length > KEPT_MAX || this.#length > LENGTH_MAX) this.#dropOldest()
  }

  /** The position after the event with this id; null when it is not kept. */
  find(id: string): number | null {
    return this.#positions.get(id) ?? null
  }

  /** The id of the event before a position that is kept. */
  idAt(position: number): string {
    return position <= this.#start ? this.#before : (this.#kept[position - this.#start - 1]?.announcement.id ?? this.#before)
  }

  slice(from: number, to: number): readonly Announcement[] {
    return this.#kept.slice(from - this.#start, to - this.#start).map(({ announcement }) => announcement)
  }

  /** Removes all events. @param id for followers at the end */
  clear(id: string): void {
    this.#start = this.end
    this.#kept = []
    this.#length = 0
    this.#positions.clear()
    this.#positions.set(id, this.#start)
    this.#before = id
    this.#epoch += 1
  }

  #dropOldest(): void {
    // Several at a time: moving the whole rest for each would cost more than the events.
    const surplus = Math.max(1, Math.floor(this.#kept.length / 10))
    for (const dropped of this.#kept.slice(0, surplus)) {
      this.#positions.delete(this.#before)
      this.#before = dropped.announcement.id
      this.#length -= dropped.length
    }
    this.#kept = this.#kept.slice(surplus)
    this.#start += surplus
  }
}
