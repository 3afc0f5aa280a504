import {
  AuthError,
  ConfigError,
  type Context,
  definePlugin,
  type MatchAnswer,
  type MatchInput,
  NotFoundError,
  RateLimitError,
  type Recommendation,
  type SearchAnswer,
  type SearchQuery,
  type SearchResult,
  UpstreamError,
} from '../../../plugin-sdk/index.ts'
import { titleSimilarity } from '../../../plugin-sdk/text.ts'

/** As the manifest describes it. */
interface Config {
  prefix: string
  delayMs: number
  fail: string
  failMethod: string
  retryAfterSeconds: number
}
type Ctx = Context<Config>

/** Results for any query, enough for a second page. */
const FOUND = 12
const DISMISSED = 'dismissed'

/** Wraps a function so that it answers, fails or waits as the configuration says. */
const answering =
  <Input, Answer>(method: string, run: (input: Input, ctx: Ctx) => Promise<Answer> | Answer) =>
  async (input: Input, ctx: Ctx): Promise<Answer> => {
    const { fail = '', failMethod = '', delayMs = 0 } = ctx.config
    ctx.log.debug('called', { method })
    if (delayMs > 0) await ctx.sleep(delayMs)
    if (failMethod !== '' && failMethod !== method) return await run(input, ctx)
    await failAs(fail, ctx)
    return fail === 'invalid_result' ? INVALID : await run(input, ctx)
  }

// An answer that every server rejects: it deliberately violates its type.
const INVALID = { results: 'none', externalId: 1, match: 'none', recommendations: null } as never

async function failAs(way: string, ctx: Ctx): Promise<void> {
  switch (way) {
    case 'not_found':
      throw new NotFoundError()
    case 'rate_limited':
      throw new RateLimitError('The echo is rate limited.', ctx.config.retryAfterSeconds ?? 60)
    case 'auth':
      throw new AuthError()
    case 'upstream':
      throw new UpstreamError('The echo is unavailable.')
    case 'config':
      throw new ConfigError('The configuration demands a failure.')
    case 'thrown':
      throw new Error('The echo has a bug.')
    case 'permission':
      await ctx.fetch('https://not-granted.example.org/')
      return
    case 'cpu':
      for (;;);
    case 'memory':
      for (const kept: number[][] = []; ; ) kept.push(new Array<number>(10_000).fill(kept.length))
    case 'timeout':
      for (;;) await ctx.sleep(60_000)
  }
}

const resultOf = (title: string, index: number, { config }: Ctx): SearchResult => ({
  externalId: `${index}:${title}`.slice(0, 200),
  title: `${config.prefix ?? ''}${title}${index === 1 ? '' : ` ${index}`}`,
  relevance: 1 / index,
  preview: { status: 'ended', genres: ['Echo'], description: `Number ${index} for "${title}".` },
})

/** The cursor gives the start of a further page. */
function search({ query, limit, cursor }: SearchQuery, ctx: Ctx): SearchAnswer {
  const from = cursor === undefined || !/^\d{1,2}$/.test(cursor) ? 0 : Number(cursor)
  const to = Math.min(from + Math.max(limit, 1), FOUND)
  const results = Array.from({ length: Math.max(to - from, 0) }, (_, index) => resultOf(query, from + index + 1, ctx))
  return { results: query.trim() === '' ? [] : results, nextCursor: to < FOUND && query.trim() !== '' ? String(to) : null }
}

function match({ title, alternateTitles = [] }: MatchInput, ctx: Ctx): MatchAnswer {
  const found = resultOf(title, 1, ctx)
  return {
    match: found,
    confidence: titleSimilarity(title, found.title),
    alternatives: alternateTitles.slice(0, 5).map((other, index) => resultOf(other, index + 2, ctx)),
  }
}

/** The title in an identifier of this plugin. @throws NotFoundError for any other */
function titleOf(externalId: string): string {
  const title = /^\d{1,2}:(.+)$/su.exec(externalId)?.[1]
  if (title === undefined)
    throw new NotFoundError(`"${externalId}" is not an identifier of the echo. Identifiers begin with a number and a colon.`)
  return title
}

const describe = (externalId: string, { config, plugin }: Ctx) => {
  const title = titleOf(externalId)
  return {
    externalId,
    externalUrl: `https://example.org/echo/${encodeURIComponent(externalId)}`,
    title: `${config.prefix ?? ''}${title}`,
    summary: `The summary of "${title}" by ${plugin.id} ${plugin.version}.`,
    year: 2000 + (title.length % 25),
    authors: [{ name: 'Echo', role: 'author' as const }],
    genres: ['Echo'],
    tags: [title.toLowerCase()],
    rating: { score: title.length % 101, voteCount: title.length },
    externalIds: { echo: externalId },
    language: 'en',
  }
}

/** Recommends every series of the library that was not dismissed. */
async function recommend({ limit, exclude }: { limit: number; exclude: readonly string[] }, ctx: Ctx): Promise<Recommendation[]> {
  const dismissed = (await ctx.storage.get<string[]>(DISMISSED)) ?? []
  const left = new Set([...exclude, ...dismissed])
  const found: Recommendation[] = []
  for (let cursor: string | null = null; ; ) {
    const page: Awaited<ReturnType<Ctx['library']['entries']>> = await ctx.library.entries({ cursor })
    for (const { seriesId, title = '' } of page.entries) {
      if (left.has(seriesId)) continue
      found.push({
        externalId: seriesId,
        title: `${ctx.config.prefix ?? ''}${title}`,
        score: 1 / (found.length + 1),
        reason: `It is in your library.`,
        basedOn: [title],
        inLibrary: true,
      })
      if (found.length >= limit) return found
    }
    cursor = page.nextCursor
    if (cursor === null) return found
  }
}

export default definePlugin<Config>({
  setup(ctx) {
    ctx.log.info('ready', { prefix: ctx.config.prefix ?? '' })
  },

  metadata: {
    series: {
      search: answering('metadata.series.search', search),
      get: answering('metadata.series.get', ({ externalId }: { externalId: string }, ctx) => ({
        ...describe(externalId, ctx),
        status: 'ended' as const,
        readingDirection: 'ltr' as const,
        totalVolumeCount: FOUND,
      })),
      match: answering('metadata.series.match', match),
    },
    book: {
      search: answering('metadata.book.search', search),
      get: answering('metadata.book.get', ({ externalId }: { externalId: string }, ctx) => ({
        ...describe(externalId, ctx),
        number: 1,
        pageCount: 100,
        subjects: ['Echo'],
      })),
      match: answering('metadata.book.match', match),
    },
  },

  recommendations: {
    get: answering('recommendations.get', async (request: { limit: number; exclude: string[] }, ctx) => ({
      recommendations: await recommend(request, ctx),
    })),
    refresh: answering('recommendations.refresh', async ({ limit }: { limit: number }, ctx) => {
      ctx.progress(0, 'Reading the library')
      const recommendations = await recommend({ limit, exclude: [] }, ctx)
      ctx.progress(1, 'Done')
      return { recommendations }
    }),
    dismiss: answering('recommendations.dismiss', async ({ externalId }: { externalId: string }, ctx) => {
      const dismissed = (await ctx.storage.get<string[]>(DISMISSED)) ?? []
      // The newest 500: storage values have a size limit.
      await ctx.storage.set(DISMISSED, [...dismissed.filter((id) => id !== externalId), externalId].slice(-500))
    }),
  },
})
