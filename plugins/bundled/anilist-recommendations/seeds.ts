import { type Context, externalIdOf, type LibraryEntry } from '../../../plugin-sdk/index.ts'
import { ask, idOf, isRec, numberOf, recsOf, textOf } from '../anilist-metadata/graphql.ts'
import { titleOf } from '../anilist-metadata/media.ts'

/** What a reader has read and likes, from the library here and from the list at AniList. */

/** A work that others are looked for by. */
export interface Seed {
  id: number
  title: string
  /** How much it says of the reader's taste, above 0 and at most 1. */
  weight: number
  /** False for what was rated and never begun here. */
  isRead: boolean
}

export interface Taste {
  /** Those that say most first. */
  seeds: Seed[]
  /** What the reader has begun, finished, dropped or rated: nothing of it is news. */
  known: Set<number>
  /** What stands on the list to be read some day. */
  planned: Set<number>
}

/** 200 series each. */
const LIBRARY_PAGES_MAX = 125
/** Of 500 entries, as many as AniList gives at a time. */
const LIST_CHUNKS_MAX = 6
/** What one reader is known by; asking for more tells little and takes AniList's time. */
export const SEEDS_MAX = 40
const TITLE_LENGTH_MAX = 150
/** Ratings below the middle say what somebody does not like. */
const LIKED_MIN = 50
const WEIGHT_MIN = 0.2
/** Of what nobody has rated: who went on liked it somewhat. */
const UNRATED = { read: 0.5, begun: 0.3 }
const DAY_MS = 86_400_000
/** What was read a year ago says three quarters of what it said then, and never less than half. */
const HALF_LIFE_DAYS = 365

const VIEWER = 'query { Viewer { id } }'
const LIST = `query ($userId: Int, $chunk: Int) {
  MediaListCollection(userId: $userId, type: MANGA, chunk: $chunk, perChunk: 500) {
    hasNextChunk
    lists { entries { mediaId status score(format: POINT_100) updatedAt media { title { english romaji native userPreferred } } } }
  }
}`

/** What one place knows of a work and the reader. */
interface Known {
  id: number
  title: string | null
  /** 1 to 100; null for what is not rated. */
  rating: number | null
  state: 'read' | 'begun' | 'dropped' | 'untouched'
  /** Milliseconds; null where it is not known. */
  at: number | null
}

const shorten = (title: string): string => title.replace(/\s+/g, ' ').trim().slice(0, TITLE_LENGTH_MAX).toWellFormed()

/** @param withList whether there is a sign-in by which AniList knows the reader */
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
  ctx.log.warn('The library is larger than what can be looked through: the rest was left out.', { pages: LIBRARY_PAGES_MAX })
  return known
}

/** Null for what AniList does not know, and for what the reader has not touched. */
function knownOf({ externalIds = {}, title, rating, booksRead = 0, booksStarted = 0, lastReadAt }: LibraryEntry): Known | null {
  const id = idOf(externalIdOf(externalIds, 'anilist'))
  const score = numberOf(rating)
  const state = booksRead > 0 ? 'read' : booksStarted > 0 ? 'begun' : 'untouched'
  if (id === null || (score === null && state === 'untouched')) return null
  return { id, title: textOf(title), rating: score, state, at: typeof lastReadAt === 'string' ? Date.parse(lastReadAt) || null : null }
}

const STATES: Readonly<Record<string, Known['state']>> = {
  ...{ COMPLETED: 'read', REPEATING: 'read', CURRENT: 'begun', PAUSED: 'begun', DROPPED: 'dropped' },
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
        ...{ id, state, title: isRec(entry['media']) ? titleOf(entry['media'], 'english') : null },
        // 0 stands for none.
        rating: score !== null && score > 0 ? Math.min(score, 100) : null,
        at: updatedAt !== null && updatedAt > 0 ? updatedAt * 1_000 : null,
      })
    }
    if (list['hasNextChunk'] !== true) break
  }
  return { known, planned }
}

/** What of both places says something, the same work once. */
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
      // The library comes first: by the name that it has here its reader knows it.
      title: before?.title || shorten(title ?? ''),
      weight: Math.max(before?.weight ?? 0, weight),
      isRead: (before?.isRead ?? false) || state !== 'untouched',
    })
  }
  const liked = [...seeds.values()].filter(({ id }) => !disliked.has(id))
  // Of those that say as much, the same ones every time.
  liked.sort((a, b) => b.weight - a.weight || a.id - b.id)
  return { seeds: liked.slice(0, SEEDS_MAX), known: new Set(all.map(({ id }) => id)) }
}
