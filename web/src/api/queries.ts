import { QueryClient } from '@tanstack/react-query'
import { Problem } from '#api/problem.ts'

/** Events tell what changed; this is for what has no event, and for a stream that was interrupted. */
const STALE_MS = 30_000
const RETRIES_MAX = 2

/**
 * The answers that pages share. Keys begin with the noun in the plural, as the API names it: `['books', { libraryId, … }]`, `['book', id]`;
 * #api/events.ts invalidates by these first words.
 */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      retry: (count, error) => error instanceof Problem && error.isPassing && count < RETRIES_MAX,
      retryDelay: (count, error) => (error instanceof Problem && error.retryAfterSeconds ? error.retryAfterSeconds : 2 ** count) * 1000,
    },
    // What a person does fails at once without a server, and says so.
    mutations: { networkMode: 'always' },
  },
})
