import type { Context, Json, Plugin, Recommendation, Recommendations } from '../../plugin-sdk/types.ts'

/** A value of the storage holds 256 K characters. */
const KEPT_LENGTH_MAX = 240_000
/** Longer than a server that refreshes every day needs it, and not for ever. */
const KEPT_SECONDS = 30 * 86_400
const DISMISSED_MAX = 5_000
const KEPT = 'kept'
const DISMISSED = 'dismissed'

/** Finds what to recommend; what the reader has dismissed is left out, however it is computed. */
type Compute = (ctx: Context, dismissed: ReadonlySet<string>) => Promise<Recommendation[]>

/** Recommendations that are computed by `refresh`, kept, and given from there without those that the reader has dismissed. */
export function keptRecommendations(compute: Compute): Required<NonNullable<Plugin['recommendations']>> {
  /** Dismissals of one reader come one after the other, for each is read, added to and written. */
  let dismissing: Promise<unknown> = Promise.resolve()
  return {
    async get({ limit, exclude }, ctx) {
      const kept = await ctx.storage.get<Recommendation[]>(KEPT)
      const dismissed = new Set([...(await readDismissed(ctx)), ...exclude])
      return shownOf(Array.isArray(kept) ? kept : await gather(ctx, compute), limit, (id) => dismissed.has(id))
    },

    async refresh({ limit }, ctx) {
      return shownOf(await gather(ctx, compute), limit, () => false)
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
  }
}

async function readDismissed(ctx: Context): Promise<string[]> {
  const kept = await ctx.storage.get<unknown[]>(DISMISSED)
  return Array.isArray(kept) ? kept.filter((id): id is string => typeof id === 'string') : []
}

/** Computes afresh and keeps what it found; a storage that is full takes nothing from the answer. */
async function gather(ctx: Context, compute: Compute): Promise<Recommendation[]> {
  const found = await compute(ctx, new Set(await readDismissed(ctx)))
  let kept = found
  while (kept.length > 0 && JSON.stringify(kept).length > KEPT_LENGTH_MAX) kept = kept.slice(0, Math.floor(kept.length * 0.8))
  try {
    await ctx.storage.set(KEPT, kept as unknown as Json, { ttlSeconds: KEPT_SECONDS })
  } catch (error) {
    ctx.log.warn('What was found could not be kept', String(error))
  }
  ctx.progress(1)
  return found
}

const shownOf = (recommendations: readonly Recommendation[], limit: number, isExcluded: (id: string) => boolean): Recommendations => ({
  recommendations: recommendations.filter(({ externalId }) => !isExcluded(externalId)).slice(0, Math.max(0, Math.floor(limit))),
})
