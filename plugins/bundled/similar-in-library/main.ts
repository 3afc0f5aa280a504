import type { Context, Json, Plugin, Recommendation, Recommendations } from '../../../plugin-sdk/types.ts'
import { CatalogueBuilder } from './catalogue.ts'
import { pick, rank } from './ranking.ts'
import { explain } from './reason.ts'
import { isKnown, readTaste } from './taste.ts'

/**
 * Recommends unread series of the library by what the user has read and rated. Everything is computed from the library as this user may see
 * it, without requests to other services. An `externalId` is the id of the series in this library.
 */

/** Stored for `get`: enough after the user dismisses some or has them in another list. */
const KEPT_MAX = 150
const STATUSES = ['ongoing', 'ended', 'hiatus', 'abandoned', 'unknown'] as const
/** 200 series each. Comparing 25,000 takes half of the memory and time of a refresh: a busy machine needs the other half. */
const PAGES_MAX = 125
/** A storage value has at most 256 K characters. */
const KEPT_LENGTH_MAX = 240_000
const DISMISSED_MAX = 5_000
/** Longer than the daily refresh needs, but not forever. */
const KEPT_SECONDS = 30 * 86_400
const KEPT = 'kept'
const DISMISSED = 'dismissed'
const NAMES_SHOWN = 20

type Ctx = Context

async function readDismissed(ctx: Ctx): Promise<string[]> {
  const kept = await ctx.storage.get<unknown[]>(DISMISSED)
  return Array.isArray(kept) ? kept.filter((id): id is string => typeof id === 'string') : []
}

async function compute(ctx: Ctx): Promise<Recommendation[]> {
  const dismissed = new Set(await readDismissed(ctx))
  const open = new CatalogueBuilder()
  let cursor: string | null = null
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer: Awaited<ReturnType<Ctx['library']['entries']>> = await ctx.library.entries({ cursor })
    open.add(answer.entries)
    cursor = answer.nextCursor
    if (cursor === null) break
    // The number of pages is unknown: the progress approaches the end and never reaches it.
    ctx.progress(0.9 * (1 - 1 / (1 + page / 20)), 'Reading the library')
  }
  if (cursor !== null) ctx.log.warn('The library is too large to compare completely; the rest was left out.', { pages: PAGES_MAX })

  ctx.progress(0.9, 'Comparing')
  const catalogue = open.close()
  const likings = readTaste(catalogue.series)
  const ranked = rank(catalogue, likings, (id) => dismissed.has(id))
  const recommendations = pick(catalogue, ranked, KEPT_MAX).map((picked): Recommendation => {
    const { id, title, genres, tags, year, status, communityRating, readers } = catalogue.series[picked.index]!
    return {
      externalId: id,
      title,
      ...explain(catalogue, picked),
      score: Math.round(picked.score * 10_000) / 10_000,
      inLibrary: true,
      genres: genres.slice(0, NAMES_SHOWN),
      tags: tags.slice(0, NAMES_SHOWN).map((name) => ({ name })),
      startYear: year,
      status: STATUSES.find((known) => known === status) ?? null,
      rating: communityRating === null ? null : Math.round(communityRating),
      popularity: readers === 0 ? null : readers,
    }
  })
  ctx.log.info('Compared the library', { series: catalogue.series.length, known: catalogue.series.filter(isKnown).length })
  return recommendations
}

/** Computes new recommendations and stores them; they are returned even when the storage is full. */
async function gather(ctx: Ctx): Promise<Recommendation[]> {
  const found = await compute(ctx)
  let kept = found
  while (kept.length > 0 && JSON.stringify(kept).length > KEPT_LENGTH_MAX) kept = kept.slice(0, kept.length >> 1)
  try {
    await ctx.storage.set(KEPT, kept as unknown as Json, { ttlSeconds: KEPT_SECONDS })
  } catch (error) {
    ctx.log.warn('Could not store the recommendations', String(error))
  }
  ctx.progress(1)
  return found
}

const shownOf = (recommendations: readonly Recommendation[], limit: number, isExcluded: (id: string) => boolean): Recommendations => ({
  recommendations: recommendations.filter(({ externalId }) => !isExcluded(externalId)).slice(0, Math.max(0, Math.floor(limit))),
})

/** Dismissals run one after another, because each reads, extends and writes the same value. */
let dismissing: Promise<unknown> = Promise.resolve()

export default {
  recommendations: {
    async get({ limit, exclude }, ctx) {
      const kept = await ctx.storage.get<Recommendation[]>(KEPT)
      const dismissed = new Set([...(await readDismissed(ctx)), ...exclude])
      return shownOf(Array.isArray(kept) ? kept : await gather(ctx), limit, (id) => dismissed.has(id))
    },

    async refresh({ limit }, ctx) {
      return shownOf(await gather(ctx), limit, () => false)
    },

    async dismiss({ externalId }, ctx) {
      const add = async () => {
        const before = await readDismissed(ctx)
        if (!before.includes(externalId)) await ctx.storage.set(DISMISSED, [...before, externalId].slice(-DISMISSED_MAX))
      }
      const added = dismissing.then(add)
      dismissing = added.catch(() => {})
      await added
      return null
    },
  },
} satisfies Plugin
