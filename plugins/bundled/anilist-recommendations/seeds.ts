import { type Context, externalIdOf, type LibraryEntry } from '../../../plugin-sdk/index.ts'
import { ask, idOf, isRec, numberOf, recsOf, textOf } from '../anilist-metadata/graphql.ts'
import { titleOf } from '../anilist-metadata/media.ts'

/** What a user has read and likes, from this library and from the AniList list. */

/** A work for which to find recommendations. */
export interface Seed {
  id: number
  title: string
  /** How much it says about the user's taste, above 0 and at most 1. */
  weight: number
  /** False for a work that was rated but never started here. */
  isRead: boolean
}

interface Taste {
  /** The highest weight first. */
  seeds: Seed[]
  /** Works that the user has started, finished, dropped or rated: never recommended. */
  known: Set<number>
  /** Works on the user's planning list. */
  planned: Set<number>
}

/** 200 series on each page. */
const LIBRARY_PAGES_MAX = 125
/** Chunks of 500 entries, AniList's maximum. */
const LIST_CHUNKS_MAX = 6
/** Seeds of one user; more add little and take AniList's time. */
export const SEEDS_MAX = 40
const TITLE_LENGTH_MAX = 150
/** Ratings below the middle express dislike. */
const LIKED_MIN = 50
const WEIGHT_MIN = 0.2
/** Weights of unrated works: people who continue like them somewhat. */
const UNRATED = { read: 0.5, begun: 0.3 }
const DAY_MS = 86_400_000
/** Weights fall to three quarters after a year, and never below half. */
const HALF_LIFE_DAYS = 365

const VIEWER = 'query { Viewer { id } }'
const LIST = `query ($userId: Int, $chunk: Int) {
  MediaListCollection(userId: $userId, type: MANGA, chunk: $chunk, perChunk: 500) {
    hasNextChunk
    lists { entries { mediaId status score(format: POINT_100) updatedAt media { title { english romaji native userPreferred } } } }
  }
}`

/** What one source says about a work and the user. */
interface Known {
  id: number
  title: string | null
  /** 1 to 100; null when not rated. */
  rating: number | null
  state: 'read' | 'begun' | 'dropped' | 'untouched'
  /** Milliseconds; null when unknown. */
  at: number | null
}

const shorten = (title: string): string => title.replace(/\s+/g, ' ').trim().slice(0, TITLE_LENGTH_MAX).toWellFormed()

/** @param withList whether the user's AniList account is connected */
export async function readTaste(ctx: Context, withList: boolean): Promise<Taste> {
  const all = await readLibrary(ctx)
  const planned = new Set<number>()
  if (withList) {
    const list = await readList(ctx)
    all.push(...list.known)
    for (const id of list.planned) planned.add(id)
  }
  return { ...weigh(all), planned }
}

async function readLibrary(ctx: Context): Promise<Known[]> {
  const known: Known[] = []
  let cursor: string | null = null
  for (let page = 0; page < LIBRARY_PAGES_MAX; page++) {
    const answer: Awaited<ReturnType<Context['library']['entries']>> = await ctx.library.entries({ cursor })
    for (const entry of answer.entries) {
      const one = knownOf(entry)
      if (one !== null) known.push(one)
    }
    cursor = answer.nextCursor
    if (cursor === null) return known
  }
  ctx.log.warn('The library is too large to read completely; the rest was left out.', { pages: LIBRARY_PAGES_MAX })
  return known
}

/** Null for series without an AniList identifier, and for those that the user has not started or rated. */
function knownOf({ externalIds = {}, title, rating, booksRead = 0, booksStarted = 0, lastReadAt }: LibraryEntry): Known | null {
  const id = idOf(externalIdOf(externalIds, 'anilist'))
  const score = numberOf(rating)
  const state = booksRead > 0 ? 'read' : booksStarted > 0 ? 'begun' : 'untouched'
  if (id === null || (score === null && state === 'untouched')) return null
  return { id, title: textOf(title), rating: score, state, at: typeof lastReadAt === 'string' ? Date.parse(lastReadAt) || null : null }
}

const STATES: Readonly<Record<string, Known['state']>> = {
  COMPLETED: 'read',
  REPEATING: 'read',
  CURRENT: 'begun',
  PAUSED: 'begun',
  DROPPED: 'dropped',
}

/** @throws AuthError, RateLimitError, UpstreamError */
async function readList(ctx: Context): Promise<{ known: Known[]; planned: number[] }> {
  const { Viewer: viewer } = await ask(ctx, VIEWER, {})
  const userId = isRec(viewer) ? idOf(viewer['id']) : null
  const [known, planned]: [Known[], number[]] = [[], []]
  for (let chunk = 1; userId !== null && chunk <= LIST_CHUNKS_MAX; chunk++) {
    ctx.progress(0.05 * chunk, 'Reading your list at AniList')
    const { MediaListCollection: list } = await ask(ctx, LIST, { userId, chunk })
    if (!isRec(list)) break
    for (const entry of recsOf(list['lists']).flatMap(({ entries }) => recsOf(entries))) {
      const id = idOf(entry['mediaId'])
      if (id === null) continue
      if (entry['status'] === 'PLANNING') planned.push(id)
      const state = STATES[String(entry['status'])]
      if (state === undefined) continue
      const [score, updatedAt] = [numberOf(entry['score']), numberOf(entry['updatedAt'])]
      known.push({
        id,
        state,
        title: isRec(entry['media']) ? titleOf(entry['media'], 'english') : null,
        // 0 means not rated.
        rating: score !== null && score > 0 ? Math.min(score, 100) : null,
        at: updatedAt !== null && updatedAt > 0 ? updatedAt * 1_000 : null,
      })
    }
    if (list['hasNextChunk'] !== true) break
  }
  return { known, planned }
}

/** Combines both sources, each work once. */
function weigh(all: readonly Known[]): Omit<Taste, 'planned'> {
  const now = Date.now()
  const seeds = new Map<number, Seed>()
  const disliked = new Set<number>()
  for (const { id, title, rating, state, at } of all) {
    if (state === 'dropped' || (rating !== null && rating < LIKED_MIN)) {
      disliked.add(id)
      continue
    }
    const liking =
      rating === null ? UNRATED[state === 'read' ? 'read' : 'begun'] : Math.max((rating - LIKED_MIN) / (100 - LIKED_MIN), WEIGHT_MIN)
    const days = at === null ? HALF_LIFE_DAYS : Math.max((now - at) / DAY_MS, 0)
    const weight = liking * (0.5 + 0.5 * 2 ** (-days / HALF_LIFE_DAYS))
    const before = seeds.get(id)
    seeds.set(id, {
      id,
      // The title in the library comes first: the user knows it.
      title: before?.title || shorten(title ?? ''),
      weight: Math.max(before?.weight ?? 0, weight),
      isRead: (before?.isRead ?? false) || state !== 'untouched',
    })
  }
  const liked = [...seeds.values()].filter(({ id }) => !disliked.has(id))
  // A stable order among equal weights.
  liked.sort((a, b) => b.weight - a.weight || a.id - b.id)
  return { seeds: liked.slice(0, SEEDS_MAX), known: new Set(all.map(({ id }) => id)) }
}
