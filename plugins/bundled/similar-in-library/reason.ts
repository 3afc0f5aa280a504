import type { Catalog, Series } from './catalog.ts'
import { likeness, type Picked, spread, unspread, worthOf } from './ranking.ts'
import type { Liking } from './taste.ts'

/** When taste is less than this share of the worth, the opinion of others is the reason. */
const TASTE_SHARE = 0.3
/** Other causes with at least this share of the largest one are named too. */
const ALSO_SHARE = 0.3
const BASED_ON_MAX = 3
/** When people are at least this share of the similarity, they are the reason. */
const PEOPLE_SHARE = 0.5
/** A rating high enough to be a reason. */
const GOOD_RATING = 70
/** A genre or tag in this share of the series is popular. */
const POPULAR_SHARE = 0.1
const POPULAR_NAMES = 2
const SHOWN_LENGTH_MAX = 120

const shortened = (text: string) => (text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX - 1).toWellFormed()}…`)
/** On the scale of user ratings: from 1 to 100. */
const ratingText = (rating: number) => `${Math.round(rating)} out of 100`
/** A title without letters still needs a name. */
const titleOf = ({ title }: Series) => (title === '' ? 'a series without a title' : shortened(title))

/** Why a series was picked, and which series that is based on. Says only what is true. */
export function explain(catalog: Catalog, picked: Picked): { reason: string; basedOn: string[] } {
  const { series } = catalog
  const one = series[picked.index]!
  const [most] = picked.causes
  if (most === undefined || picked.affinity < worthOf(picked) * TASTE_SHARE) return { reason: meritReason(catalog, one), basedOn: [] }

  const cause = series[most.liking.index]!
  const also = picked.causes.filter(({ share }) => share >= most.share * ALSO_SHARE).slice(0, BASED_ON_MAX)
  const basedOn = also.map(({ liking }) => series[liking.index]!.title).filter((title) => title !== '')
  const did = deedOf(cause, most.liking.state)

  const own = new Float32Array(catalog.termsEnd)
  spread(catalog, picked.index, own)
  const byPeople = likeness(catalog, most.liking.index, own, catalog.isPerson) / likeness(catalog, most.liking.index, own)
  unspread(catalog, picked.index, own)
  const people = new Set(cause.authors)
  const person = one.authors.find((name) => people.has(name))
  if (person !== undefined && byPeople >= PEOPLE_SHARE) return { reason: `More by ${shortened(person)}, because ${did}`, basedOn }
  return { reason: `Because ${did}`, basedOn }
}

/** What the user did with the series that led to it. */
function deedOf(cause: Series, state: Liking['state']): string {
  const rated = cause.rating === null ? null : `you gave ${titleOf(cause)} ${ratingText(cause.rating)}`
  if (rated !== null && (cause.rating ?? 0) >= GOOD_RATING) return rated
  if (state === 'finished') return `you finished ${titleOf(cause)}`
  if (state === 'reading' && cause.bookCount > 0) return `you are reading ${titleOf(cause)}`
  return rated ?? `you read ${titleOf(cause)}`
}

/** For candidates without a cause in the user's taste: the reason in this library. */
function meritReason({ series, countOf }: Catalog, one: Series): string {
  if (one.readers > 0) return `${one.readers} users of this server have started it`
  if (one.communityRating !== null && one.communityRating >= GOOD_RATING) return `Rated ${ratingText(one.communityRating)} on average`
  const named = [
    ...one.genres.map((name) => ({ name, count: countOf('genre', name) })),
    ...one.tags.map((name) => ({ name, count: countOf('tag', name) })),
  ]
  const popular = named.filter(({ count }) => count >= Math.max(2, series.length * POPULAR_SHARE)).sort((a, b) => b.count - a.count)
  if (popular.length === 0) return 'You have not read it yet'
  const names = popular.slice(0, POPULAR_NAMES).map(({ name }) => shortened(name))
  return `Popular in this library: ${names.join(', ')}`
}
