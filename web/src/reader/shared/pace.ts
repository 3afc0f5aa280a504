/** How fast somebody reads books of one kind. */
export interface Pace {
  /** Of reading, in seconds. */
  seconds: number
  /** Read in this time. */
  pages: number
}

/** Kinds of books that are read at different speeds. A page of a text is a position of the server, about a thousand letters. */
const PACE_KINDS = ['comic', 'pdf', 'text'] as const
export type PaceKind = (typeof PACE_KINDS)[number]

/** A shorter look at a page is leafing, a longer one a pause; both in seconds. */
const LOOK_MIN = 1
const LOOK_MAX = 300
/** More pages at once are a jump: a spread of two, or a wide screen of text. */
const TURN_PAGES_MAX = 6
/** Fewer say nothing about a reader. */
const KNOWN_PAGES = 20
const KNOWN_SECONDS = 60
/** Above it half is forgotten: people change, and so do the books that they read. */
const REMEMBERED_PAGES = 400

/** The pace after a turn of the page. @param turn how long what was turned was looked at, and how many pages further it led */
export function paceAfter(pace: Pace, turn: Pace): Pace {
  const looked = turn.seconds / Math.max(turn.pages, 0.01)
  if (turn.pages <= 0 || turn.pages > TURN_PAGES_MAX || turn.seconds < LOOK_MIN || turn.seconds > LOOK_MAX || looked > LOOK_MAX) return pace
  const share = pace.pages > REMEMBERED_PAGES ? 0.5 : 1
  return { seconds: pace.seconds * share + turn.seconds, pages: pace.pages * share + turn.pages }
}

/** Seconds that so many pages will take; null while the pace is not known. */
export function secondsFor({ seconds, pages }: Pace, ahead: number): number | null {
  return pages >= KNOWN_PAGES && seconds >= KNOWN_SECONDS ? (seconds / pages) * Math.max(0, ahead) : null
}

/** The paces of a preference; what is no pace, of another version or another program, is as if nothing was read yet. */
export function readPaces(value: unknown): Record<PaceKind, Pace> {
  const kept = (typeof value === 'object' && value !== null ? value : {}) as Record<string, Partial<Pace> | null>
  const paces = PACE_KINDS.map((kind) => {
    const { seconds, pages } = kept[kind] ?? {}
    const isPace = Number.isFinite(seconds) && Number.isFinite(pages) && Number(seconds) >= 0 && Number(pages) >= 0
    return [kind, isPace ? { seconds: Number(seconds), pages: Number(pages) } : { seconds: 0, pages: 0 }]
  })
  return Object.fromEntries(paces) as Record<PaceKind, Pace>
}
