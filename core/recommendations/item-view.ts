import { OWN_SOURCE, serviceOf } from '#core/fields/source-key.ts'
import type { Recommendation } from '#core/matching/provider-answers.ts'
import { type ExternalSeries, externalKey } from '#core/recommendations/external-series-query.ts'

/** A recommendation as users see it; unknown members are omitted. */
export interface RecommendationView {
  externalId: string
  title: string
  externalUrl?: string
  coverUrl?: string
  summary?: string
  genres: string[]
  tags: { category: string; name: string; rank: number }[]
  /** 0 to 1. */
  score: number
  reason: string
  basedOn: string[]
  /** A series of this server that the user may see. */
  serviceSeriesId?: string
  inService: boolean
  /** In the user's library, according to the plugin; for callers from whom something is hidden only with a `serviceSeriesId`. */
  inLibrary: boolean
  status?: NonNullable<Recommendation['status']>
  format?: string
  countryOfOrigin?: string
  startYear?: number
  /** 0 to 100. */
  rating?: number
  popularity?: number
  totalVolumeCount?: number
  totalChapterCount?: number
}

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
