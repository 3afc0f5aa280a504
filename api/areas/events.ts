import type { Events } from '#core/events/follow.ts'

/** What happens in the library, for clients that follow it. */
export interface EventServices {
  /** Events, for clients that follow them. */
  events: Events
}
