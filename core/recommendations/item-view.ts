import type { Static } from 'typebox'
import Type from 'typebox'
import { SERIES_STATUSES } from '#core/fields/series-metadata.ts'
import { OWN_SOURCE, serviceOf } from '#core/fields/source-key.ts'
import { described, OneOf, Uuid } from '#core/foundation/schema.ts'
import type { Recommendation } from '#core/matching/provider-answers.ts'
import { type ExternalSeries, externalKey } from '#core/recommendations/external-series-query.ts'

const Text = Type.Optional(Type.String())
const Count = Type.Optional(Type.Integer({ minimum: 0 }))

/** A recommendation as users see it; unknown members are omitted. */
export const RecommendationView = Type.Object({
  externalId: Type.String(),
  title: Type.String(),
  externalUrl: Text,
  coverUrl: Text,
  summary: Text,
  genres: Type.Array(Type.String()),
  tags: Type.Array(
    Type.Object(
      { category: Type.String(), name: Type.String(), rank: Type.Integer({ minimum: 0, maximum: 100 }) },
      { title: 'RecommendationTag' },
    ),
  ),
  score: Type.Number({ minimum: 0, maximum: 1 }),
  reason: Type.String(),
  basedOn: Type.Array(Type.String(), { description: 'Titles that led to the recommendation.' }),
  serviceSeriesId: Type.Optional(described(Uuid, 'The matching series of this library, if the user may see one.')),
  inService: Type.Boolean({ description: 'Whether there is such a series.' }),
  /** For callers from whom something is hidden only with a `serviceSeriesId`. */
  inLibrary: Type.Boolean({ description: "Whether the plugin says that it is in the user's library." }),
  status: Type.Optional(OneOf([...SERIES_STATUSES])),
  format: Text,
  countryOfOrigin: Text,
  startYear: Type.Optional(Type.Integer()),
  rating: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  popularity: Count,
  totalVolumeCount: Count,
  totalChapterCount: Type.Optional(Type.Number({ minimum: 0 })),
})
export type RecommendationView = Static<typeof RecommendationView>

/** More than a user looks through. */
export const SHOWN_MAX = 100
/** How many are stored, so that enough remain after dismissals until the next list. */
export const KEPT_MAX = 200
/** The member of a user's configuration that limits the number. */
const COUNT_MEMBER = 'maxRecommendations'
const INT_MAX = 2_147_483_647
const LIST_SHOWN = 50
/** For plugins that do not name the kind of a tag. */
const TAG = 'tag'

/** How many to show, according to the user's configuration. */
export function visibleCount(userConfig: Readonly<Record<string, unknown>>): number {
  const count = userConfig[COUNT_MEMBER]
  return typeof count === 'number' && count >= 1 ? Math.min(Math.floor(count), SHOWN_MAX) : SHOWN_MAX
}

/** All identifiers of an item at services; its own first. */
export function externalSeriesOf({ externalId, externalIds }: Recommendation, idSource: string): ExternalSeries[] {
  const others = Object.entries(externalIds ?? {}).map(([source, id]) => ({ source, externalId: id }))
  return [{ source: idSource, externalId }, ...others.filter(({ source }) => serviceOf(source) !== idSource && !source.includes('\n'))]
}

/** Columns cannot store NUL or half of a surrogate pair, and no service uses them on purpose. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed()
  if (value === null || typeof value !== 'object') return true
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorable(member))
}

/** The part of an answer that is stored: the best item for each identifier, best first. */
export function keptItems(items: readonly Recommendation[]): Recommendation[] {
  const seen = new Set<string>()
  // Sorting is stable: it keeps the order of items with equal scores.
  const sorted = items.filter(isStorable).toSorted((a, b) => b.score - a.score)
  return sorted.filter(({ externalId }) => !seen.has(externalId) && seen.add(externalId)).slice(0, KEPT_MAX)
}

/**
 * The items of a list that a user sees, best first. What a plugin says about this library is looked up, not trusted.
 * @param about.visible series of this library that the user may see, among those that the items name
 * @param about.known series of this server that the user may see, by `externalKey`
 * @param about.seesAll whether nothing is hidden from the caller; otherwise the plugin may know of a series that is
 */
export function recommendationViews(
  items: readonly Recommendation[],
  about: {
    idSource: string
    dismissed: ReadonlySet<string>
    visible: ReadonlySet<string>
    known: ReadonlyMap<string, string>
    seesAll: boolean
    count: number
  },
): RecommendationView[] {
  const views: RecommendationView[] = []
  const taken = new Set<string>()
  for (const item of items) {
    if (views.length >= about.count) break
    if (about.dismissed.has(item.externalId)) continue
    const isOwn = about.idSource === OWN_SOURCE
    // Hidden or deleted: the user learns nothing about series that they cannot see.
    if (isOwn && !about.visible.has(item.externalId)) continue
    const seriesId = isOwn ? item.externalId : findKnown(item, about)
    // The same series under two names.
    if (seriesId !== null && taken.has(seriesId)) continue
    if (seriesId !== null) taken.add(seriesId)
    const inLibrary = item.inLibrary === true && (about.seesAll || seriesId !== null)
    views.push(recommendationView(item, seriesId, inLibrary))
  }
  return views
}

function findKnown(item: Recommendation, { idSource, known }: { idSource: string; known: ReadonlyMap<string, string> }): string | null {
  for (const name of externalSeriesOf(item, idSource)) {
    const seriesId = known.get(externalKey(name))
    if (seriesId !== undefined) return seriesId
  }
  return null
}

const whole = (value: number | null | undefined, max: number): number | null =>
  value === null || value === undefined ? null : Math.min(Math.max(Math.round(value), 0), max)

/** The URL as a browser would parse it: percent-encoded, and null when invalid. */
function addressOf(text: string | null | undefined): string | null {
  if (text === null || text === undefined || !URL.canParse(text)) return null
  const { protocol, href } = new URL(text)
  return protocol === 'https:' || protocol === 'http:' ? href : null
}

/** Optional members of plugins. */
const PLAIN = [
  'externalUrl',
  'coverUrl',
  'summary',
  'status',
  'format',
  'countryOfOrigin',
  'startYear',
  'totalVolumeCount',
  'totalChapterCount',
] as const satisfies readonly (keyof Recommendation & keyof RecommendationView)[]

function recommendationView(item: Recommendation, seriesId: string | null, inLibrary: boolean): RecommendationView {
  const rating = whole(item.rating, 100)
  const popularity = whole(item.popularity, INT_MAX)
  const addresses = { externalUrl: addressOf(item.externalUrl), coverUrl: addressOf(item.coverUrl) }
  const plain = PLAIN.flatMap((name) => {
    const value = { ...item, ...addresses }[name]
    return value === undefined || value === null ? [] : [[name, value]]
  })
  return {
    ...(Object.fromEntries(plain) as Pick<RecommendationView, (typeof PLAIN)[number]>),
    externalId: item.externalId,
    title: item.title,
    genres: (item.genres ?? []).slice(0, LIST_SHOWN),
    // A tag without a rank simply applies.
    tags: (item.tags ?? [])
      .slice(0, LIST_SHOWN)
      .map(({ name, category, rank }) => ({ category: category || TAG, name, rank: whole(rank, 100) ?? 100 })),
    score: item.score,
    reason: item.reason,
    basedOn: (item.basedOn ?? []).slice(0, LIST_SHOWN),
    ...(seriesId !== null && { serviceSeriesId: seriesId }),
    inService: seriesId !== null,
    inLibrary,
    ...(rating !== null && { rating }),
    ...(popularity !== null && { popularity }),
  }
}
