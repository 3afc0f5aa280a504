import {
  type Context,
  definePlugin,
  externalIdOf,
  hasCode,
  type MatchAnswer,
  type MatchInput,
  NotFoundError,
  type SearchAnswer,
  type SearchQuery,
  type SearchResult,
  type SeriesMetadata,
} from '../../../plugin-sdk/index.ts'
import { titleSimilarity } from '../../../plugin-sdk/text.ts'
import { ask, idOf, isRec, numberOf, type Rec, recsOf, textOf } from './graphql.ts'
import {
  countOf,
  countryOf,
  coverOf,
  descriptionOf,
  formatOf,
  genresOf,
  idsOf,
  isAdult,
  linksOf,
  namesOf,
  pageOf,
  scoreOf,
  statusOf,
  TITLE_LANGUAGES,
  type TitleLanguage,
  tagsOf,
  titleOf,
  yearOf,
} from './media.ts'
import { peopleOf } from './people.ts'

interface Config {
  titleLanguage: TitleLanguage
  adult: boolean
  tagRankMin: number
  editionLanguage: string
}
type Ctx = Context<Config>

/** The fields that tell works apart, for all results; the others are requested only for the chosen one. */
const SHOWN = `id title { romaji english native userPreferred } synonyms status format startDate { year } countryOfOrigin genres
  description(asHtml: false) coverImage { extraLarge large } averageScore meanScore volumes isAdult`
const SEARCH = `query ($search: String, $page: Int, $perPage: Int, $isAdult: Boolean) {
  Page(page: $page, perPage: $perPage) {
    pageInfo { hasNextPage }
    media(search: $search, type: MANGA, isAdult: $isAdult, sort: SEARCH_MATCH) { ${SHOWN} }
  }
}`
const CANDIDATES = `query ($search: String, $perPage: Int, $isAdult: Boolean) {
  Page(page: 1, perPage: $perPage) {
    media(search: $search, type: MANGA, isAdult: $isAdult, sort: SEARCH_MATCH) {
      ${SHOWN} popularity staff(perPage: 8) { edges { role node { name { full native } } } }
    }
  }
}`
const ONE = `query ($id: Int, $idMal: Int) { Media(id: $id, idMal: $idMal, type: MANGA) { ${SHOWN} } }`
const WHOLE = `query ($id: Int) {
  Media(id: $id, type: MANGA) {
    ${SHOWN} idMal chapters siteUrl
    tags { name rank category isGeneralSpoiler isMediaSpoiler isAdult }
    staff(perPage: 25, sort: RELEVANCE) { edges { role node { name { full native } } } }
    externalLinks { url site }
  }
}`

/** AniList's maximum. */
const PAGE_MAX = 50
/** Results on further pages are not worth a request. */
const PAGES_MAX = 100
const QUERY_LENGTH_MAX = 200
const CANDIDATES_COUNT = 10
/** Requests for one match: the title, and two alternate titles. AniList allows 30 a minute. */
const SEARCHES_MAX = 3
/** Certain enough that no other title needs a search. */
const SURE = 0.85
/** Below this, it is another work. */
const POSSIBLE = 0.5
/** Two results this close are indistinguishable: a manga and the novel that it adapts have the same title. */
const TIE = 0.02
const TIE_FACTOR = 0.75
const TAG_RANK_MIN = 50

const languageOf = ({ config }: Ctx): TitleLanguage => TITLE_LANGUAGES.find((one) => one === config.titleLanguage) ?? 'english'
/** Null is a value in AniList's filter, and matches nothing. */
const adultOf = ({ config }: Ctx): Record<string, boolean> => (config.adult === true ? {} : { isAdult: false })
const round = (value: number) => Math.round(value * 1_000) / 1_000
const byRelevance = (a: SearchResult, b: SearchResult) => (b.relevance ?? 0) - (a.relevance ?? 0)

/** How well its titles match, from 0 to 1. */
const likeness = (media: Rec, title: string): number =>
  Math.max(
    0,
    ...namesOf(media)
      .slice(0, 15)
      .map((name) => titleSimilarity(title, name.title)),
  )

/** Null for a medium without identifier or title. */
function resultOf(media: Rec, relevance: number, ctx: Ctx): SearchResult | null {
  const [id, title] = [idOf(media['id']), titleOf(media, languageOf(ctx))]
  if (id === null || title === null) return null
  return {
    externalId: String(id),
    title,
    alternateTitles: namesOf(media)
      .map((name) => name.title)
      .filter((name) => name !== title)
      .slice(0, 10),
    year: yearOf(media),
    coverUrl: coverOf(media),
    relevance: round(relevance),
    preview: {
      status: statusOf(media),
      genres: genresOf(media, ctx.config.adult === true).slice(0, 5),
      rating: scoreOf(media),
      description: descriptionOf(media),
      bookCount: countOf(media['volumes']),
    },
  }
}

const searchedFor = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, QUERY_LENGTH_MAX).toWellFormed()

/** The query may be the URL of an AniList page. */
const idInAddress = (query: string): number | null => idOf(/^https?:\/\/anilist\.co\/manga\/(\d+)(?:[/?#]|$)/i.exec(query.trim())?.[1])

async function findOne(variables: { id: number } | { idMal: number }, ctx: Ctx): Promise<Rec | null> {
  try {
    const { Media: media } = await ask(ctx, ONE, variables)
    return isRec(media) ? media : null
  } catch (error) {
    if (hasCode(error, 'not_found')) return null
    throw error
  }
}

async function search({ query, limit, cursor }: SearchQuery, ctx: Ctx): Promise<SearchAnswer> {
  const id = idInAddress(query)
  if (id !== null) {
    const media = await findOne({ id }, ctx)
    const result = media === null ? null : resultOf(media, 1, ctx)
    return { results: result === null ? [] : [result], nextCursor: null }
  }
  const wanted = searchedFor(query)
  if (wanted === '') return { results: [], nextCursor: null }
  const page = cursor !== undefined && /^[1-9]\d{0,2}$/.test(cursor) ? Number(cursor) : 1
  const perPage = Math.min(Math.max(Math.floor(limit), 1), PAGE_MAX)
  const data = await ask(ctx, SEARCH, { search: wanted, page, perPage, ...adultOf(ctx) })
  const found = isRec(data['Page']) ? data['Page'] : {}
  const hasNext = isRec(found['pageInfo']) && found['pageInfo']['hasNextPage'] === true
  const results = recsOf(found['media'])
    .map((media) => resultOf(media, likeness(media, wanted), ctx))
    .filter((result) => result !== null)
    .slice(0, perPage)
  ctx.log.debug('searched', { shown: results.length, page })
  return { results: results.sort(byRelevance), nextCursor: hasNext && results.length > 0 && page < PAGES_MAX ? String(page + 1) : null }
}

async function get({ externalId }: { externalId: string }, ctx: Ctx): Promise<SeriesMetadata> {
  const id = idOf(externalId)
  if (id === null)
    throw new NotFoundError(`"${externalId.slice(0, 100)}" is not an identifier of AniList. Identifiers are numbers such as 30013.`)
  const { Media: media } = await ask(ctx, WHOLE, { id })
  if (!isRec(media)) throw new NotFoundError('AniList has no entry with this identifier.')
  const title = titleOf(media, languageOf(ctx))
  const withAdult = ctx.config.adult === true
  const score = scoreOf(media)
  return {
    externalId: String(id),
    externalUrl: pageOf({ ...media, id }),
    title,
    alternateTitles: namesOf(media).filter((name) => name.title !== title),
    summary: descriptionOf(media),
    status: statusOf(media),
    year: yearOf(media),
    authors: peopleOf(media, textOf(ctx.config.editionLanguage) ?? 'English'),
    genres: genresOf(media, withAdult),
    tags: tagsOf(media, { withAdult, rankMin: numberOf(ctx.config.tagRankMin) ?? TAG_RANK_MIN }).map(({ name }) => name),
    coverUrl: coverOf(media),
    rating: score === null ? null : { score },
    externalLinks: linksOf(media),
    externalIds: idsOf(media),
    readingDirection: directionOf(media),
    ageRating: isAdult(media) ? 18 : null,
    totalVolumeCount: countOf(media['volumes']),
    totalChapterCount: countOf(media['chapters']),
  }
}

/** Japanese comics read from right to left; strips for phones scroll down, which a tag of AniList marks. Unknown for others. */
function directionOf(media: Rec): 'rtl' | 'webtoon' | null {
  if (formatOf(media) === 'NOVEL') return null
  if (recsOf(media['tags']).some(({ name, rank }) => name === 'Long Strip' && (numberOf(rank) ?? 0) >= TAG_RANK_MIN)) return 'webtoon'
  return countryOf(media) === 'JP' ? 'rtl' : null
}

// ── Match ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const NOTHING: MatchAnswer = { match: null, confidence: 0, alternatives: [] }

async function match(input: MatchInput, ctx: Ctx): Promise<MatchAnswer> {
  const { title, alternateTitles = [], externalIds = {} } = input
  const known = await findKnown(externalIds, ctx)
  if (known !== null) return { match: known, confidence: known.relevance ?? 1, alternatives: [] }
  const titles = [...new Set([title, ...alternateTitles].map(searchedFor))].filter((one) => one !== '')
  if (titles.length === 0) return NOTHING
  const rated = new Map<string, { result: SearchResult; popularity: number }>()
  for (const wanted of titles.slice(0, SEARCHES_MAX)) {
    const data = await ask(ctx, CANDIDATES, { search: wanted, perPage: CANDIDATES_COUNT, ...adultOf(ctx) })
    for (const media of recsOf(isRec(data['Page']) ? data['Page']['media'] : null)) {
      const result = resultOf(media, likelihood(media, titles, input), ctx)
      if (result !== null) rated.set(result.externalId, { result, popularity: numberOf(media['popularity']) ?? 0 })
    }
    if ([...rated.values()].some(({ result }) => (result.relevance ?? 0) >= SURE)) break
  }
  const [best, ...others] = [...rated.values()]
    .sort((a, b) => byRelevance(a.result, b.result) || b.popularity - a.popularity)
    .map(({ result }) => result)
  if (best === undefined) return NOTHING
  const confidence = best.relevance ?? 0
  if (confidence < POSSIBLE) return { match: null, confidence: 0, alternatives: [best, ...others] }
  const isTie = others.some(({ relevance = 0 }) => relevance >= confidence - TIE)
  return { match: best, confidence: isTie ? round(confidence * TIE_FACTOR) : confidence, alternatives: others }
}

/** Finds the work by the external identifiers that it already has. */
async function findKnown(externalIds: Readonly<Record<string, string>>, ctx: Ctx): Promise<SearchResult | null> {
  const id = idOf(externalIdOf(externalIds, 'anilist'))
  const own = id === null ? null : await findOne({ id }, ctx)
  if (own !== null) return resultOf(own, 1, ctx)
  const idMal = idOf(externalIdOf(externalIds, 'myanimelist', 'mal'))
  const other = idMal === null ? null : await findOne({ idMal }, ctx)
  // The link between the two identifiers may be wrong.
  return other === null ? null : resultOf(other, 0.95, ctx)
}

/** The title counts most; another author, or a year before the work began, means another work with this title. */
function likelihood(media: Rec, titles: readonly string[], { authors = [], year }: MatchInput): number {
  const title = Math.max(...titles.slice(0, 10).map((one) => likeness(media, one)))
  const people = [...new Set(peopleOf(media, '').map(({ name }) => name))].slice(0, 10)
  const known =
    authors.length === 0 || people.length === 0
      ? null
      : Math.max(...authors.slice(0, 5).flatMap((author) => people.map((name) => titleSimilarity(author, name))))
  const author = known === null ? 0.95 : known >= 0.6 ? 1 : 0.6
  const began = yearOf(media)
  // Editions in other languages appear later, by any time; none appears earlier.
  const time = !year || began === null || Math.abs(year - began) <= 1 ? 1 : year > began ? 0.96 : 0.8
  return title * author * time
}

export default definePlugin<Config>({ metadata: { series: { search, get, match } } })
