import type { Context } from '#core/conditions/context.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { plainIdentifiers } from '#core/fields/identifier-form.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import type { Answered, Provider, ProviderClient } from '#core/matching/provider-client.ts'
import { rankResults, type Scored, type Wanted } from '#core/matching/rank-results.ts'
import { searchTitle } from '#core/matching/search-title.ts'
import type { RenderTemplate } from '#core/templates/render-template.ts'

/** Search results that a task requests. */
const SEARCH_LIMIT = 10
/** How much the relevance of a provider may add to the score computed here. */
const CONFIDENCE_BONUS_MAX = 0.25

interface Dependencies {
  providers: ProviderClient
  render: RenderTemplate
  rules: Rules
}

/** The best match at a provider: from its `match` function if it has one, else from a search that is ranked here. Null if there is none. */
export async function findRecord(
  dependencies: Dependencies,
  provider: Provider,
  { kind, context }: { kind: Kind; context: Context },
  how: { query?: string | null; signal?: AbortSignal },
): Promise<Answered<Scored | null>> {
  const { providers } = dependencies
  const { searchTitle: title } = how.query ? { searchTitle: how.query } : await searchTitle(dependencies, provider.matching, context)
  const wanted = wantedOf(context, title)
  const { alternateTitles, year, authors, isbn } = wanted
  if (provider.methods.includes(`metadata.${kind}.match`) && !how.query) {
    const externalIds = plainIdentifiers(Object.fromEntries(Object.entries(context.externalIds).map(([source, { id }]) => [source, id])))
    const query = { title, alternateTitles, year, authors, isbn, externalIds }
    const matched = await providers.match(provider.id, kind, query, how.signal)
    if ('failure' in matched) return matched
    const { match, confidence } = matched.answer
    const [own] = match === null ? [] : await rankResults(wanted, [match])
    // The provider's confidence counts only up to a limit above the score computed here.
    return { answer: own ? { ...own, confidence: Math.min(confidence, own.confidence + CONFIDENCE_BONUS_MAX) } : null }
  }
  const query = {
    query: title,
    limit: SEARCH_LIMIT,
    ...(isbn && { isbn }),
    ...(authors[0] && { author: authors[0] }),
    ...(year !== null && { year }),
  }
  const found = await providers.search(provider.id, kind, query, how.signal)
  if ('failure' in found) return found
  const [best] = await rankResults(wanted, found.answer.results)
  return { answer: best ?? null }
}

function wantedOf(context: Context, title: string): Wanted {
  const { metadata } = context
  const isbn = 'isbns' in metadata ? metadata.isbns?.split(',')[0] : undefined
  return {
    title,
    alternateTitles: 'alternateTitles' in metadata ? metadata.alternateTitles.map((one) => one.title) : [],
    year: metadata.year,
    authors: metadata.authors.map(({ name }) => name),
    isbn: isbn || null,
  }
}
