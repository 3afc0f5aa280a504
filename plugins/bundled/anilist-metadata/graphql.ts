import { AuthError, type Context, type Json, NotFoundError, RateLimitError, UpstreamError } from '../../../plugin-sdk/index.ts'

/** Requests to AniList, by https://docs.anilist.co: one URL, GraphQL, and errors both in the body and in the status. */

export type Rec = Record<string, unknown>

export const SITE = 'https://anilist.co'
const ENDPOINT = 'https://graphql.anilist.co/'
/** The wait when AniList names none: its rate limit counts per minute. */
const WAIT_SECONDS = 60
/** The longest wait that is passed on, whatever AniList says. */
const WAIT_SECONDS_MAX = 3_600
/** Length of AniList's error message; the rest repeats the query. */
const MESSAGE_LENGTH_MAX = 200

export const isRec = (value: unknown): value is Rec => typeof value === 'object' && value !== null && !Array.isArray(value)

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** The objects of a list, without others: lists of AniList contain null for deleted entries. */
export const recsOf = (value: unknown): Rec[] => listOf(value).filter(isRec)

/** A text that is not blank; null for anything else. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value.trim() : null)

export const numberOf = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null)

/** A numeric identifier of AniList; null when invalid. */
export function idOf(value: unknown): number | null {
  const id = typeof value === 'string' && /^[1-9]\d{0,9}$/.test(value.trim()) ? Number(value) : numberOf(value)
  // Identifiers are 32-bit integers of GraphQL.
  return id !== null && Number.isInteger(id) && id > 0 && id <= 2_147_483_647 ? id : null
}

/**
 * Returns the `data` of the response.
 * @throws NotFoundError, RateLimitError, AuthError, UpstreamError
 */
export async function ask(ctx: Pick<Context, 'fetch'>, query: string, variables: Record<string, Json>): Promise<Rec> {
  const response = await ctx.fetch(ENDPOINT, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({ query: query.replace(/\s+/g, ' ').trim(), variables }),
  })
  const answer = readJson(await response.text())
  const [first] = recsOf(answer?.['errors'])
  const errorMessage = (textOf(first?.['message']) ?? '').replace(/\s+/g, ' ').slice(0, MESSAGE_LENGTH_MAX)
  // Some errors come with status 200 and have their own status in the body.
  const status = response.ok ? (numberOf(first?.['status']) ?? response.status) : response.status
  const wait = response.headers.get('retry-after')
  if (status === 429 || (status === 503 && wait !== null))
    throw new RateLimitError('AniList has reached its rate limit. Try again later.', waitOf(wait))
  // AniList answers 400 to an unknown token, and 403 to everybody during an outage.
  if (status === 401 || /\b(invalid token|unauthori[sz]ed)\b/i.test(errorMessage))
    throw new AuthError('AniList no longer accepts the sign-in. Connect your account again.')
  if (status === 404) throw new NotFoundError('AniList has no entry with this identifier.')
  if (!response.ok) throw new UpstreamError(`AniList answered ${response.status}${errorMessage === '' ? '' : `: ${errorMessage}`}.`)
  const data = answer?.['data']
  if (first !== undefined) throw new UpstreamError(`AniList returned an error${errorMessage === '' ? '' : `: ${errorMessage}`}.`)
  if (!isRec(data)) throw new UpstreamError('AniList returned an unexpected response.')
  return data
}

function readJson(text: string): Rec | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRec(value) ? value : null
  } catch {
    return null
  }
}

const waitOf = (header: string | null): number => {
  const seconds = header !== null && /^\s*\d{1,9}\s*$/.test(header) ? Number(header) : WAIT_SECONDS
  return Math.min(Math.max(seconds, 1), WAIT_SECONDS_MAX)
}
