import type { Context, Plugin, Recommendation } from '../../../plugin-sdk/types.ts'
import { storedRecommendations } from '../stored-recommendations.ts'
import { CatalogBuilder } from './catalog.ts'
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
const NAMES_SHOWN = 20

type Ctx = Context

async function compute(ctx: Ctx, dismissed: ReadonlySet<string>): Promise<Recommendation[]> {
  const open = new CatalogBuilder()
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
  const catalog = open.close()
  const likings = readTaste(catalog.series)
  const ranked = rank(catalog, likings, (id) => dismissed.has(id))
  const recommendations = pick(catalog, ranked, KEPT_MAX).map((picked): Recommendation => {
    const { id, title, genres, tags, year, status, communityRating, readers } = catalog.series[picked.index]!
    return {
      externalId: id,
      title,
      ...explain(catalog, picked),
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
  ctx.log.info('Compared the library', { series: catalog.series.length, known: catalog.series.filter(isKnown).length })
  return recommendations
}

export default { recommendations: storedRecommendations(compute) } satisfies Plugin
