import type { Series } from './catalog.ts'

/** How far a user has read a series, and what that says about their taste. */
export interface Liking {
  /** Position in the catalog. */
  index: number
  /** From -1, disliked, to 1, liked. */
  strength: number
  /** `left`: started and abandoned; `rated`: not read here. */
  state: 'finished' | 'reading' | 'left' | 'rated'
}

const DAY_MS = 86_400_000
/** Started, not finished, and not opened for this long while the user read others: abandoned. */
const LEFT_AFTER_DAYS = 90
/** A user who has read more than this share has not abandoned the series but waits for the next book. */
const LEFT_SHARE_MAX = 0.5
/** The decaying part of a liking halves in this time. */
const HALF_LIFE_DAYS = 240
const FADES = 0.5
/** The average rating to compare with before there are others: what people usually give, above the middle of the scale. */
const USUAL_RATING = 60
/** The average counts as much as this many ratings of the user. */
const USUAL_WEIGHT = 4
/** Bounds of the user's own average: users who rate everything 95 like everything. */
const OWN_MIDDLE = { min: 45, max: 70 }
const LEFT_STRENGTH = -0.35
/** Starting counts a little, finishing fully; between them it grows with what was read. */
const BEGUN_STRENGTH = 0.35
/** For series that were rated without being read here. */
const UNREAD_STRENGTH = 0.7

/** Whether the user has started or rated a series. */
export const isKnown = ({ booksStarted, rating }: Series): boolean => booksStarted > 0 || rating !== null

/**
 * The user's likings from progress and ratings, the strongest first. Days count back from the last time they read anything: users who come
 * back after a year have not abandoned everything.
 */
export function readTaste(series: readonly Series[]): Liking[] {
  const ratings = series.flatMap(({ rating }) => (rating === null ? [] : [rating]))
  const sum = ratings.reduce((total, rating) => total + rating, USUAL_RATING * USUAL_WEIGHT)
  const middle = Math.min(Math.max(sum / (ratings.length + USUAL_WEIGHT), OWN_MIDDLE.min), OWN_MIDDLE.max)
  const latest = series.reduce((last, { lastReadAt }) => Math.max(last, lastReadAt), 0)

  const likings: Liking[] = []
  for (const [index, one] of series.entries()) {
    if (!isKnown(one)) continue
    const { booksStarted, booksRead, bookCount, rating, lastReadAt } = one
    const days = lastReadAt === 0 ? 0 : (latest - lastReadAt) / DAY_MS
    const share = booksStarted === 0 ? 0 : Math.min(booksRead / Math.max(bookCount, 1), 1)
    const finished = share >= 1
    const left = !finished && booksStarted > 0 && share < LEFT_SHARE_MAX && days > LEFT_AFTER_DAYS
    const state = booksStarted === 0 ? 'rated' : finished ? 'finished' : left ? 'left' : 'reading'
    const read = left ? LEFT_STRENGTH : booksStarted === 0 ? UNREAD_STRENGTH : BEGUN_STRENGTH + (1 - BEGUN_STRENGTH) * share
    // A rating is explicit: it counts more than any inference from reading.
    const said = rating === null ? null : rating >= middle ? (rating - middle) / (100 - middle) : (rating - middle) / middle
    const strength = said === null ? read * 0.7 : 0.8 * said + 0.2 * read
    const fresh = 1 - FADES + FADES * 2 ** (-days / HALF_LIFE_DAYS)
    likings.push({ index, strength: strength * fresh, state })
  }
  return likings.sort((a, b) => Math.abs(b.strength) - Math.abs(a.strength) || a.index - b.index)
}
