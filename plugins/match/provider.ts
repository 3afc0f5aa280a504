import type { Knex } from 'knex'
import type { CarrelError } from '#core/errors.ts'
import type { Proposal } from '#core/match/proposal.ts'
import type { Kind } from '#core/metadata/holding-store.ts'
import { pluginKey } from '#core/metadata/source-key.ts'
import { listIdNames } from '#core/plugin/id-name-query.ts'
import type { Context } from '#core/template/context.ts'
import type { Rules } from '#core/template/rules.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { type Attempt, hasFailed } from '#plugins/host/plugin-calls.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import { methodsOf } from '#plugins/manifest/manifest.ts'
import { rankResults, type Scored, type SearchResult, type Wanted } from '#plugins/match/choose.ts'
import { type BookAnswer, proposalOf, type SeriesAnswer } from '#plugins/match/proposal-of.ts'
import { searchTitle } from '#plugins/match/search-title.ts'
import type { Templates } from '#plugins/template/templates.ts'

/** Plugins as providers of metadata: what they say of a record, and which of theirs it is. Whatever they do, it is no fault of whoever asks. */
export interface Providers {
  /** What a provider says of one of its records, in the terms of this house. */
  propose(
    kind: Kind,
    plugin: InstalledPlugin,
    externalId: string,
    signal?: AbortSignal,
  ): Promise<{ proposal: Proposal; externalUrl: string | null } | { failed: CarrelError }>
  /** The best that a provider has for a record; from its `match` where it has one, else from a search that is ranked here. Null where it has none. */
  find(
    kind: Kind,
    plugin: InstalledPlugin,
    context: Context,
    how: { query?: string | null; signal?: AbortSignal },
  ): Promise<Scored | null | { failed: CarrelError }>
}

/** Of a search that a person does not look at. */
const SEARCH_LIMIT = 10
/** How much beyond its own eyes this house believes a plugin. */
const BELIEVED = 0.25

/** Under which key identifiers of a plugin are kept. */
export const idKeyOf = ({ key, manifest }: InstalledPlugin, kind: Kind): string =>
  pluginKey(manifest.capabilities[`metadata.${kind}`]?.idSource ?? key)

export function openProviders(parts: { database: Knex; plugins: PluginHost; templates: Templates; rules: Rules }): Providers {
  const { database, plugins } = parts
  const ask = async (plugin: InstalledPlugin, method: string, input: unknown, signal?: AbortSignal): Promise<Attempt> =>
    await plugins.attempt({ pluginId: plugin.id, method, input, userId: null, ...(signal && { signal }) })

  async function propose(
    kind: Kind,
    plugin: InstalledPlugin,
    externalId: string,
    signal?: AbortSignal,
  ): Promise<{ proposal: Proposal; externalUrl: string | null } | { failed: CarrelError }> {
    const attempt = await ask(plugin, `metadata.${kind}.get`, { externalId }, signal)
    if (hasFailed(attempt)) return attempt
    const answer = attempt.result as SeriesAnswer | BookAnswer
    const idNames = await listIdNames(database)
    const proposal = proposalOf(kind, answer, { idKey: idKeyOf(plugin, kind), pluginKey: plugin.key, idNames })
    return { proposal, externalUrl: answer.externalUrl ?? null }
  }

  async function find(
    kind: Kind,
    plugin: InstalledPlugin,
    context: Context,
    how: { query?: string | null; signal?: AbortSignal },
  ): Promise<Scored | null | { failed: CarrelError }> {
    const { searchTitle: title } = how.query ? { searchTitle: how.query } : await searchTitle(parts, plugin.matching, context)
    const wanted = wantedOf(context, title)
    const capability = `metadata.${kind}`
    const { alternateTitles, year, authors, isbn } = wanted
    if (methodsOf(plugin.manifest).includes(`${capability}.match`) && !how.query) {
      const externalIds = Object.fromEntries(Object.entries(context.externalIds).map(([source, { id }]) => [source, id]))
      const input = { title, alternateTitles, year, authors, isbn, externalIds }
      const attempt = await ask(plugin, `${capability}.match`, input, how.signal)
      if (hasFailed(attempt)) return attempt
      const answer = attempt.result as { match: SearchResult | null; confidence: number }
      const [own] = answer.match === null ? [] : await rankResults(wanted, [answer.match])
      // It has its say, and is not believed much beyond what can be seen here.
      return own ? { ...own, confidence: Math.min(answer.confidence, own.confidence + BELIEVED) } : null
    }
    const query = {
      query: title,
      limit: SEARCH_LIMIT,
      ...(isbn && { isbn }),
      ...(authors[0] && { author: authors[0] }),
      ...(year !== null && { year }),
    }
    const attempt = await ask(plugin, `${capability}.search`, query, how.signal)
    if (hasFailed(attempt)) return attempt
    const [best] = await rankResults(wanted, (attempt.result as { results: SearchResult[] }).results)
    return best ?? null
  }

  return { propose, find }
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
