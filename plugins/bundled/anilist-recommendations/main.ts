import { AuthError, type Context, definePlugin, type Recommendation } from '../../../plugin-sdk/index.ts'
import { numberOf, type Rec } from '../anilist-metadata/graphql.ts'
import {
  countOf,
  countryOf,
  coverOf,
  descriptionOf,
  formatOf,
  genresOf,
  idsOf,
  isAdult,
  pageOf,
  scoreOf,
  statusOf,
  TITLE_LANGUAGES,
  tagsOf,
  titleOf,
  yearOf,
} from '../anilist-metadata/media.ts'
import { storedRecommendations } from '../stored-recommendations.ts'
import { type Candidate, findCandidates, findDetails } from './community.ts'
import { readTaste, type Seed } from './seeds.ts'

/**
 * Recommends what AniList's users recommend to people who like what the user has read: series of this library that have AniList
 * identifiers, and the user's AniList list, where the account is connected.
 */

/** Stored for `get`: enough after the user dismisses some. Takes three requests. */
const KEPT_MAX = 150
const SUMMARY_LENGTH_MAX = 1_000
const TAGS_MAX = 15
const TAG_RANK_MIN = 60
const NAMES_IN_REASON = 3

/** `A`, `A and B`, `A, B and C`. */
const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

const reasonOf = (seeds: readonly Seed[]): string => {
  const named = seeds.slice(0, NAMES_IN_REASON)
  return `Because you ${named.every(({ isRead }) => isRead) ? 'read' : 'liked'} ${listed(named.map(({ title }) => title))}`
}

function shorten(text: string | null): string | null {
  if (text === null || text.length <= SUMMARY_LENGTH_MAX) return text
  const cut = text.slice(0, SUMMARY_LENGTH_MAX).toWellFormed()
  const end = cut.lastIndexOf(' ')
  return `${end > SUMMARY_LENGTH_MAX / 2 ? cut.slice(0, end) : cut}…`
}

/** Null for works without a title, and for adult works unless the configuration allows them. */
function recommend({ id, score, seeds }: Candidate, media: Rec, isPlanned: boolean, ctx: Context): Recommendation | null {
  const withAdult = ctx.config['adult'] === true && ctx.userConfig['adult'] === true
  const title = titleOf(media, TITLE_LANGUAGES.find((one) => one === ctx.userConfig['titleLanguage']) ?? 'english')
  if (title === null || (isAdult(media) && !withAdult)) return null
  return {
    externalId: String(id),
    title,
    externalUrl: pageOf(media),
    coverUrl: coverOf(media),
    summary: shorten(descriptionOf(media)),
    genres: genresOf(media, withAdult),
    tags: tagsOf(media, { withAdult, rankMin: TAG_RANK_MIN }).slice(0, TAGS_MAX),
    score,
    reason: reasonOf(seeds),
    basedOn: [...new Set(seeds.map((seed) => seed.title))],
    inLibrary: isPlanned,
    status: statusOf(media),
    format: formatOf(media),
    countryOfOrigin: countryOf(media),
    startYear: yearOf(media),
    rating: scoreOf(media),
    popularity: numberOf(media['popularity']),
    totalVolumeCount: countOf(media['volumes']),
    totalChapterCount: countOf(media['chapters']),
    externalIds: { anilist: String(id), ...idsOf(media) },
  }
}

async function compute(ctx: Context, dismissed: ReadonlySet<string>): Promise<Recommendation[]> {
  const signIn = await ctx.auth.status()
  // Send an expired token to AniList too: only AniList knows whether it is still valid.
  const withList = signIn === 'connected' || signIn === 'expired'
  const { seeds, known, planned } = await readTaste(ctx, withList)
  ctx.log.info('Read the taste of the user', { seeds: seeds.length, known: known.size, planned: planned.size, withList })
  if (seeds.length === 0) {
    if (!withList)
      throw new AuthError(
        'Nothing that you have read or rated here has an AniList identifier. Connect your AniList account to use your list there.',
      )
    return []
  }
  const isExcluded = (id: number) => known.has(id) || dismissed.has(String(id))
  const candidates = await findCandidates(seeds, { isExcluded, max: KEPT_MAX }, ctx)
  const details = await findDetails(
    candidates.map(({ id }) => id),
    ctx,
  )
  return candidates.flatMap((candidate) => {
    const media = details.get(candidate.id)
    const one = media === undefined ? null : recommend(candidate, media, planned.has(candidate.id), ctx)
    return one === null ? [] : [one]
  })
}

export default definePlugin({ recommendations: storedRecommendations(compute) })
