import { AuthError, type Context, type Json, NotFoundError, RateLimitError, UpstreamError } from '../../../plugin-sdk/index.ts'

/** Asking AniList, as https://docs.anilist.co describes it: one address, GraphQL, and faults in the answer as well as in its status. */

export type Rec = Record<string, unknown>

export const SITE = 'https://anilist.co'
const ENDPOINT = 'https://graphql.anilist.co/'
/** Where it asks to wait and does not say how long: its limit counts by the minute. */
const WAIT_SECONDS = 60
/** Nobody waits longer, whatever it says. */
const WAIT_SECONDS_MAX = 3_600
/** Of what it says of a fault; the rest is the text of the query. */
const SAID_LENGTH_MAX = 200

export const isRec = (value: unknown): value is Rec => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Objects of a list; what is none is left out, for lists of AniList have null where something was deleted. */
export const recsOf = (value: unknown): Rec[] => (Array.isArray(value) ? (value as unknown[]) : []).filter(isRec)

/** A text with something in it; null for anything else. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value.trim() : null)

export const numberOf = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null)

/** The number that AniList knows something by; null for what is none. */
export function idOf(value: unknown): number | null {
  const id = typeof value === 'string' && /^[1-9]\d{0,9}$/.test(value.trim()) ? Number(value) : numberOf(value)
  // Its numbers are those of GraphQL, which end there.
  return id !== null && Number.isInteger(id) && id > 0 && id <= 2_147_483_647 ? id : null
}

/**
 * The `data` of its answer.
 * @throws NotFoundError, RateLimitError, AuthError, UpstreamError
 */
export async function ask(ctx: Pick<Context, 'fetch'>, query: string, variables: Record<string, Json>): Promise<Rec> {
  const response = await ctx.fetch(ENDPOINT, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({ query: query.replace(/\s+/g, ' ').trim(), variables }),
  })
  const answer = readJson(await response.text())
  const [fault] = recsOf(answer?.['errors'])
  const said = (textOf(fault?.['message']) ?? '').replace(/\s+/g, ' ').slice(0, SAID_LENGTH_MAX)
  // Some faults come with status 200 and say theirs in the answer.
  const status = response.ok ? (numberOf(fault?.['status']) ?? response.status) : response.status
  const wait = response.headers.get('retry-after')
  if (status === 429 || (status === 503 && wait !== null)) throw new RateLimitError('AniList asks to wait.', waitOf(wait))
  // It answers 400 to a token that it does not know, and 403 to everybody while it is out of order.
  if (status === 401 || /\b(invalid token|unauthori[sz]ed)\b/i.test(said))
    throw new AuthError('AniList does not accept the sign-in any more: connect your account again.')
  if (status === 404) throw new NotFoundError('AniList has nothing by this identifier.')
  if (!response.ok) throw new UpstreamError(`AniList answered ${response.status}${said === '' ? '' : `: ${said}`}.`)
  const data = answer?.['data']
  if (fault !== undefined) throw new UpstreamError(`AniList could not answer${said === '' ? '' : `: ${said}`}.`)
  if (!isRec(data)) throw new UpstreamError('AniList answered something else than what it documents.')
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
