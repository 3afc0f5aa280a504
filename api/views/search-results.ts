import type { SearchResult } from '#core/matching/provider-answers.ts'

/** What a plugin found, with every member that clients read: `relevanceScore` is what plugins call `relevance`. */
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

/** An answer to `search` as clients know it: each result as above, beside the members that the plugin gave. */
export function searchAnswerView(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('results' in answer) || !Array.isArray(answer.results)) return answer
  return { ...answer, results: answer.results.map((result: SearchResult) => ({ ...result, ...searchResultView(result) })) }
}
