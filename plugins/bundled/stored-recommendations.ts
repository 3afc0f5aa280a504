import type { Context, Plugin, Recommendation, Recommendations } from '../../plugin-sdk/types.ts'

/** A value of the storage holds 256 K characters. */
const STORED_LENGTH_MAX = 240_000
/** The server refreshes daily; older recommendations are out of date. */
const STORED_SECONDS = 30 * 86_400
const DISMISSED_MAX = 5_000
const STORED = 'kept'
const DISMISSED = 'dismissed'

/** Finds what to recommend. The result may contain dismissed items; callers that return it leave them out. */
type Compute = (ctx: Context, dismissed: ReadonlySet<string>) => Promise<Recommendation[]>

/** `refresh` computes and stores the recommendations; `get` returns the stored ones without those that the user has dismissed. */
export function storedRecommendations(compute: Compute): Required<NonNullable<Plugin['recommendations']>> {
  /** Dismissals of one user run one after another, because each reads the list, adds to it and writes it. */
  let dismissing: Promise<unknown> = Promise.resolve()
  return {
    async get({ limit, exclude }, ctx) {
      const stored = await ctx.storage.get<Recommendation[]>(STORED)
      const dismissed = new Set([...(await readDismissed(ctx)), ...exclude])
      return answerOf(Array.isArray(stored) ? stored : await gather(ctx, compute), limit, (id) => dismissed.has(id))
    },

    async refresh({ limit }, ctx) {
      return answerOf(await gather(ctx, compute), limit, () => false)
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
  const stored = await ctx.storage.get<unknown[]>(DISMISSED)
  return Array.isArray(stored) ? stored.filter((id): id is string => typeof id === 'string') : []
}

/** Computes and stores the recommendations. If the storage is full, the answer is still complete. */
async function gather(ctx: Context, compute: Compute): Promise<Recommendation[]> {
  const found = await compute(ctx, new Set(await readDismissed(ctx)))
  let stored = found
  while (stored.length > 0 && JSON.stringify(stored).length > STORED_LENGTH_MAX) stored = stored.slice(0, Math.floor(stored.length * 0.8))
  try {
    // A recommendation is JSON, which the compiler does not see in an interface.
    await ctx.storage.set(STORED, stored, { ttlSeconds: STORED_SECONDS })
  } catch (error) {
    ctx.log.warn('Could not store the recommendations', String(error))
  }
  ctx.progress(1)
  return found
}

const answerOf = (recommendations: readonly Recommendation[], limit: number, isExcluded: (id: string) => boolean): Recommendations => ({
  recommendations: recommendations.filter(({ externalId }) => !isExcluded(externalId)).slice(0, Math.max(0, Math.floor(limit))),
})
