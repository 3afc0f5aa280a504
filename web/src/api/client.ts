import createClient from 'openapi-fetch'
import { Problem, readProblem } from '#api/problem.ts'
import type { paths } from '#api/schema.d.ts'

/** The path below which the server answers, without a slash at the end: '' or, behind a proxy, for example '/library'. */
export const SERVER_PATH = new URL(document.baseURI).pathname.replace(/\/$/, '')

/** Called for every answer that says that nobody is signed in (401). Set by #api/session.ts. */
let onSignedOut = (): void => {}

export function whenSignedOut(action: () => void): void {
  onSignedOut = action
}

/** The API of the server. The session is a cookie that scripts cannot read. Prefer `ask`, which turns refusals into exceptions. */
export const api = createClient<paths>({ baseUrl: location.origin + SERVER_PATH, credentials: 'same-origin' })

/**
 * The answer of a call of `api`: `await ask(api.GET('/api/v1/books/{bookId}', { params: { path: { bookId } }, signal }))`.
 * Throws a Problem when the server refuses, cannot be reached, or answers something else than JSON; an abort stays an abort.
 */
export async function ask<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const answer = await call.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw Problem.fromNetwork(error)
  })
  if (answer.response.ok) return answer.data as T
  const problem = readProblem(answer.response, answer.error)
  if (problem.isSignedOut) onSignedOut()
  throw problem
}

/** The address of a resource of the server for `src` and `href`, for example `serverAddress('api/v1/books/…/thumbnail')`. */
export function serverAddress(path: string): string {
  return `${SERVER_PATH}/${path.replace(/^\//, '')}`
}
