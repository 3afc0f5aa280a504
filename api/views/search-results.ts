import type { SearchResult } from '#core/matching/provider-answers.ts'

/** A result of a plugin, with the address of its picture for the client, and every member that clients read: `relevanceScore` is the plugin's `relevance`. */
export function searchResultView(result: SearchResult) {
  return {
    externalId: result.externalId,
    title: result.title,
    alternateTitles: result.alternateTitles ?? [],
    year: result.year ?? null,
    coverUrl: result.coverUrl ?? null,
    relevanceScore: result.relevance ?? null,
    preview: result.preview ?? null,
  }
}

/** An answer to `search` for clients: each result as above, besides the members of the plugin. */
export function searchAnswerView(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('results' in answer) || !Array.isArray(answer.results)) return answer
  return { ...answer, results: answer.results.map((result: SearchResult) => ({ ...result, ...searchResultView(result) })) }
}
