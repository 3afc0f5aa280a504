import type { Series } from './catalogue.ts'

/** How far a reader has come with a series, and what that says of their taste. */
export interface Liking {
  /** Position in the catalogue. */
  index: number
  /** From -1, not again, to 1, more of this. */
  strength: number
  /** `left`: begun and not gone on with; `rated`: not read here. */
  state: 'finished' | 'reading' | 'left' | 'rated'
}

const DAY_MS = 86_400_000
/** Begun, not finished, and not touched for so long while the reader went on reading others: they have left it. */
const LEFT_AFTER_DAYS = 90
/** Who has read most of it has not left it, but waits for the next book. */
const LEFT_SHARE_MAX = 0.5
/** After so long taste counts half as much as lately, of the part that fades. */
const HALF_LIFE_DAYS = 240
const FADES = 0.5
/** What a rating is measured against before there are others: the middle that people give, above that of the scale. */
const USUAL_RATING = 60
/** As many ratings of the reader weigh as much as that. */
const USUAL_WEIGHT = 4
/** A reader's own middle stays within these: who gives 95 to everything likes everything. */
const OWN_MIDDLE = { min: 45, max: 70 }
const LEFT_STRENGTH = -0.35
/** Having begun is a little, having finished is all; between them it grows with what was read. */
const BEGUN_STRENGTH = 0.35
/** What was rated and not read, or read elsewhere. */
const UNREAD_STRENGTH = 0.7

/** Whether a reader has anything to do with a series yet. */
export const isKnown = ({ booksStarted, rating }: Series): boolean => booksStarted > 0 || rating !== null

/**
 * What a reader's progress and ratings say, the strongest first. Days are counted from when they last read anything: who comes back after a year
 * has not left everything.
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
    // A rating is said outright: it counts for more than all that is guessed from reading.
    const said = rating === null ? null : rating >= middle ? (rating - middle) / (100 - middle) : (rating - middle) / middle
    const strength = said === null ? read * 0.7 : 0.8 * said + 0.2 * read
    const fresh = 1 - FADES + FADES * 2 ** (-days / HALF_LIFE_DAYS)
    likings.push({ index, strength: strength * fresh, state })
  }
  return likings.sort((a, b) => Math.abs(b.strength) - Math.abs(a.strength) || a.index - b.index)
}
