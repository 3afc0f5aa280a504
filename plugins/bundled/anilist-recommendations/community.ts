import type { Context } from '../../../plugin-sdk/index.ts'
import { ask, idOf, isRec, numberOf, type Rec, recsOf } from '../anilist-metadata/graphql.ts'
import { titleOf } from '../anilist-metadata/media.ts'
import { SEEDS_MAX, type Seed } from './seeds.ts'

/** Finds works that AniList's users recommend to people who like a given work, and combines them for a user who likes several. */

/** The identifier of a recommended work, and its votes in favor minus its votes against. */
type Vote = [id: number, rating: number]

/** The recommendations for one work. A type, because for the compiler an interface is no JSON. */
type Community = {
  /** Time of the request, in milliseconds. */
  at: number
  title: string
  votes: Vote[]
}

export interface Candidate {
  id: number
  /** 0 to 1; the best candidate has 1. */
  score: number
  /** The works that led to it, the largest contribution first. */
  seeds: Seed[]
}

/** Seeds per request: each returns up to 25 recommendations. */
const SEEDS_EACH = 10
/** Works per request, AniList's maximum. */
const DETAILS_EACH = 50
const VOTES_MAX = 25
/** Recommendations change slowly. */
const FRESH_MS = 7 * 86_400_000
/** Cached works, including earlier ones, because a user's taste goes back and forth. */
const KEPT_MAX = 3 * SEEDS_MAX
const KEPT = 'communities'
const KEPT_SECONDS = 30 * 86_400
/** Few votes are weak evidence: recommendations with fewer votes count less, even if they are the only ones. */
const ENOUGH_VOTES = 20
const SEEDS_NAMED_MAX = 5

const VOTES = `query ($ids: [Int], $perPage: Int) {
  Page(page: 1, perPage: $perPage) {
    media(id_in: $ids, type: MANGA) {
      id title { english romaji native userPreferred }
      recommendations(sort: RATING_DESC, perPage: ${VOTES_MAX}) { nodes { rating mediaRecommendation { id type isAdult } } }
    }
  }
}`
const DETAILS = `query ($ids: [Int], $perPage: Int) {
  Page(page: 1, perPage: $perPage) {
    media(id_in: $ids, type: MANGA) {
      id idMal title { english romaji native userPreferred } description(asHtml: false) status format chapters volumes startDate { year }
      countryOfOrigin genres tags { name rank category isGeneralSpoiler isMediaSpoiler isAdult } coverImage { extraLarge large }
      averageScore meanScore popularity isAdult siteUrl
    }
  }
}`

const mediaOf = (data: Rec): Rec[] => recsOf(isRec(data['Page']) ? data['Page']['media'] : null)

function* groups<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size)
}

/** The valid part of the cached value. */
function readKept(kept: unknown): Map<number, Community> {
  const communities = new Map<number, Community>()
  for (const [key, one] of Object.entries(isRec(kept) ? kept : {})) {
    const id = idOf(key)
    if (id === null || !isRec(one) || !Array.isArray(one['votes'])) continue
    const votes = one['votes'].filter(
      (vote: unknown): vote is Vote => Array.isArray(vote) && idOf(vote[0]) !== null && numberOf(vote[1]) !== null,
    )
    communities.set(id, { at: numberOf(one['at']) ?? 0, title: String(one['title'] ?? ''), votes })
  }
  return communities
}

/** Requests recommendations that are not cached or are stale, and caches them, so that they need no request while AniList rate-limits. */
async function findCommunities(seeds: readonly Seed[], ctx: Context): Promise<Map<number, Community>> {
  const now = Date.now()
  const known = readKept(await ctx.storage.get(KEPT))
  const isFresh = (one: Community | undefined) => one !== undefined && one.at <= now && now - one.at < FRESH_MS
  const wanted = seeds.filter(({ id }) => !isFresh(known.get(id))).map(({ id }) => id)
  let requested = 0
  for (const ids of groups(wanted, SEEDS_EACH)) {
    ctx.progress(0.35 + (0.35 * requested) / wanted.length, 'Requesting recommendations')
    const found = new Map(mediaOf(await ask(ctx, VOTES, { ids, perPage: SEEDS_EACH })).map((media) => [idOf(media['id']), media]))
    for (const id of ids) {
      const media = found.get(id)
      known.delete(id)
      // A work that AniList has deleted has no recommendations, and needs no request every day.
      known.set(id, {
        at: now,
        title: media === undefined ? '' : (titleOf(media, 'english') ?? ''),
        votes: media === undefined ? [] : votesOf(media),
      })
    }
    requested += ids.length
    await keep([...known].slice(-KEPT_MAX), ctx)
  }
  return known
}

async function keep(communities: [number, Community][], ctx: Context): Promise<void> {
  try {
    await ctx.storage.set(KEPT, Object.fromEntries(communities), { ttlSeconds: KEPT_SECONDS })
  } catch (error) {
    ctx.log.warn('Could not cache the recommendations', String(error))
  }
}

/** The list contains anime too, and null for deleted entries. */
const votesOf = (media: Rec): Vote[] =>
  recsOf(isRec(media['recommendations']) ? media['recommendations']['nodes'] : null).flatMap(
    ({ rating, mediaRecommendation: other }): Vote[] => {
      const [id, votes] = [isRec(other) && other['type'] === 'MANGA' ? idOf(other['id']) : null, numberOf(rating) ?? 0]
      return id === null || votes <= 0 ? [] : [[id, votes]]
    },
  )

/** Recommendations for what a user likes, the best first. */
export async function findCandidates(
  seeds: readonly Seed[],
  { isExcluded, max }: { isExcluded: (id: number) => boolean; max: number },
  ctx: Context,
): Promise<Candidate[]> {
  const communities = await findCommunities(seeds, ctx)
  const shares = new Map<number, { total: number; from: { seed: Seed; share: number }[] }>()
  for (const seed of seeds) {
    const { votes, title } = communities.get(seed.id) ?? { votes: [], title: '' }
    const most = Math.max(ENOUGH_VOTES, ...votes.map(([, rating]) => rating))
    for (const [id, rating] of votes) {
      if (isExcluded(id) || id === seed.id) continue
      const share = (seed.weight * Math.log1p(rating)) / Math.log1p(most)
      const before = shares.get(id) ?? { total: 0, from: [] }
      before.from.push({ seed: { ...seed, title: seed.title || title }, share })
      shares.set(id, { total: before.total + share, from: before.from })
    }
  }
  const best = Math.max(0, ...[...shares.values()].map(({ total }) => total))
  return [...shares]
    .map(([id, { total, from }]) => ({
      id,
      score: Math.round((total / best) * 10_000) / 10_000,
      seeds: from
        .filter(({ seed }) => seed.title !== '')
        .sort((a, b) => b.share - a.share)
        .slice(0, SEEDS_NAMED_MAX)
        .map(({ seed }) => seed),
    }))
    .filter((candidate) => candidate.seeds.length > 0)
    .sort((a, b) => b.score - a.score || a.id - b.id)
    .slice(0, max)
}

/** AniList's data for works, by identifier. */
export async function findDetails(ids: readonly number[], ctx: Context): Promise<Map<number, Rec>> {
  const found = new Map<number, Rec>()
  for (const some of groups(ids, DETAILS_EACH)) {
    ctx.progress(0.7 + (0.3 * found.size) / ids.length, 'Requesting details')
    for (const media of mediaOf(await ask(ctx, DETAILS, { ids: some, perPage: DETAILS_EACH }))) {
      const id = idOf(media['id'])
      if (id !== null) found.set(id, media)
    }
  }
  return found
}
