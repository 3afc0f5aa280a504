import type { Knex } from 'knex'
import type { Context } from '#core/conditions/context.ts'
import type { Rules } from '#core/conditions/rules.ts'
import type { Proposal } from '#core/matching/proposal.ts'
import { proposalOf } from '#core/matching/proposal-of.ts'
import type { Answered, Provider, ProviderClient } from '#core/matching/provider-client.ts'
import { rankResults, type Scored, type Wanted } from '#core/matching/rank-results.ts'
import { searchTitle } from '#core/matching/search-title.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import type { Kind } from '#core/metadata/metadata-record-store.ts'
import { pluginKey } from '#core/metadata/source-key.ts'
import type { RenderTemplate } from '#core/templates/render-template.ts'

/** Finds records at providers. */
export interface RecordFinder {
  /** The data of one provider record, as a proposal. */
  propose(
    kind: Kind,
    provider: Provider,
    externalId: string,
    signal?: AbortSignal,
  ): Promise<Answered<{ proposal: Proposal; externalUrl: string | null }>>
  /** The best match at a provider: from its `match` function if it has one, else from a search that is ranked here. Null if there is none. */
  find(
    kind: Kind,
    provider: Provider,
    context: Context,
    how: { query?: string | null; signal?: AbortSignal },
  ): Promise<Answered<Scored | null>>
}

/** Search results that a task requests. */
const SEARCH_LIMIT = 10
/** How much the relevance of a provider may add to the score computed here. */
const BELIEVED = 0.25

/** The key of a provider's identifiers. */
export const idKeyOf = ({ idSources }: Provider, kind: Kind): string => pluginKey(idSources[kind])

export function openRecordFinder(parts: { database: Knex; providers: ProviderClient; render: RenderTemplate; rules: Rules }): RecordFinder {
  const { database, providers } = parts

  return {
    async propose(kind, provider, externalId, signal) {
      const got = await providers.get(provider.id, kind, externalId, signal)
      if ('failure' in got) return got
      const idNames = await listIdNames(database)
      const proposal = proposalOf(kind, got.answer, { idKey: idKeyOf(provider, kind), pluginKey: provider.key, idNames })
      return { answer: { proposal, externalUrl: got.answer.externalUrl ?? null } }
    },

    async find(kind, provider, context, how) {
      const { searchTitle: title } = how.query ? { searchTitle: how.query } : await searchTitle(parts, provider.matching, context)
      const wanted = wantedOf(context, title)
      const { alternateTitles, year, authors, isbn } = wanted
      if (provider.methods.includes(`metadata.${kind}.match`) && !how.query) {
        const externalIds = Object.fromEntries(Object.entries(context.externalIds).map(([source, { id }]) => [source, id]))
        const query = { title, alternateTitles, year, authors, isbn, externalIds }
        const matched = await providers.match(provider.id, kind, query, how.signal)
        if ('failure' in matched) return matched
        const { match, confidence } = matched.answer
        const [own] = match === null ? [] : await rankResults(wanted, [match])
        // The provider's confidence counts only up to a limit above the score computed here.
        return { answer: own ? { ...own, confidence: Math.min(confidence, own.confidence + BELIEVED) } : null }
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
    },
  }
}

function wantedOf(context: Context, title: string): Wanted {
  const metadata = context.metadata as Record<string, unknown>
  const series = 'series' in context ? (context.series.metadata as Record<string, unknown>) : metadata
  const authors = ((metadata['authors'] ?? series['authors'] ?? []) as { name: string }[]).map(({ name }) => name)
  const isbn = typeof metadata['isbns'] === 'string' ? (metadata['isbns'].split(',')[0] ?? null) : null
  return {
    title,
    alternateTitles: ((metadata['alternateTitles'] ?? []) as { title: string }[]).map((one) => one.title),
    year: typeof metadata['year'] === 'number' ? metadata['year'] : null,
    authors,
    isbn: isbn === '' ? null : isbn,
  }
}
