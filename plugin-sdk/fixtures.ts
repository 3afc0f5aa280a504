import type { Json } from './types.ts'

/**
 * Responses of services in files, so that tests run without the services and give the same result every time. Write the files by hand, or record them
 * with `carrel-plugin test --record`. They contain no secrets: credentials are added to requests after the recording.
 */
export interface Fixtures {
  formatVersion: 1
  exchanges: Exchange[]
}

export interface Exchange {
  request: FixtureRequest
  /** The response of the service. */
  response?: FixtureResponse
  /** Instead of a response: the error with which `fetch` rejects. */
  failure?: { code: 'timeout' | 'upstream' | 'rate_limited' | 'too_large' | 'permission'; message: string }
  /** How often it is used before the next match; unlimited by default. */
  times?: number
  /** A test fails if it never sends this request. */
  required?: boolean
}

export interface FixtureRequest {
  /** GET by default. */
  method?: string
  /** Compared without its fragment, with query parameters in any order. */
  url: string
  /** Each must be present; others are allowed. Names are case-insensitive. */
  headers?: Record<string, string>
  /** If set, must be identical. */
  body?: string
  /** Instead of `body`: compared as JSON, with members in any order. */
  json?: Json
}

export interface FixtureResponse {
  /** 200 by default. */
  status?: number
  /** The address after redirects; the address of the request by default. */
  url?: string
  headers?: Record<string, string>
  body?: string
  /** Instead of `body`. */
  json?: Json
}

/** A larger file does not fit one test, and takes longer to search than the request would. */
const EXCHANGES_MAX = 1_000
/** Of a wrong value in a message: a line of a terminal. */
const SHOWN_LENGTH_MAX = 60
/** The limit of a server. */
const BODY_LENGTH_MAX = 5 * 1024 * 1024
/** Of an exchange and its parts: a misspelled member would be ignored, and the test would pass for another reason. */
const MEMBERS = {
  exchange: ['request', 'response', 'failure', 'times', 'required'],
  request: ['method', 'url', 'headers', 'body', 'json'],
  response: ['status', 'url', 'headers', 'body', 'json'],
  failure: ['code', 'message'],
} as const
const FAILURES = ['timeout', 'upstream', 'rate_limited', 'too_large', 'permission']

/**
 * Validates the content of a fixture file, parsed from JSON.
 * @param name of the file, for the message
 * @throws Error that names the invalid exchange and the reason
 */
export function readFixtures(value: unknown, name = 'fixtures'): Fixtures {
  const wrong = (place: string, message: string): never => {
    throw new Error(`${name}: ${place}${message}.`)
  }
  if (!isRecord(value) || value['formatVersion'] !== 1)
    return wrong('', `must be an object with "formatVersion": 1 and "exchanges"; it is ${shortened(value)}`)
  const { exchanges } = value
  if (!Array.isArray(exchanges)) return wrong('', '"exchanges" must be an array')
  if (exchanges.length > EXCHANGES_MAX) wrong('', `has ${exchanges.length} exchanges; the limit is ${EXCHANGES_MAX}`)
  for (const [index, exchange] of exchanges.entries()) {
    const problem = problemOf(exchange)
    if (problem !== null) wrong(`exchange ${index} `, problem)
  }
  return { formatVersion: 1, exchanges }
}

function problemOf(exchange: unknown): string | null {
  if (!isRecord(exchange)) return 'must be an object'
  const { request, response, failure, times, required } = exchange
  for (const [part, given] of Object.entries({ exchange, request, response, failure })) {
    const known: readonly string[] = MEMBERS[part as keyof typeof MEMBERS]
    const unknown = isRecord(given) ? Object.keys(given).find((name) => !known.includes(name)) : undefined
    const place = part === 'exchange' ? '' : ` in its ${part}`
    if (unknown !== undefined) return `has the unknown member "${unknown}"${place}; known are ${known.join(', ')}`
  }
  if (!isRecord(request) || typeof request['url'] !== 'string' || addressOf(request['url']) === null)
    return `needs a request with an absolute "url"; it is ${shortened(request)}`
  if (request['method'] !== undefined && typeof request['method'] !== 'string') return 'has a method that is not a string'
  if ((response === undefined) === (failure === undefined)) return 'needs either a "response" or a "failure"'
  if (times !== undefined && !(Number.isInteger(times) && (times as number) > 0)) return 'has "times" that is not a whole number above 0'
  if (required !== undefined && typeof required !== 'boolean') return 'has "required" that is not a boolean'
  for (const side of [request, response ?? {}]) {
    if (!isRecord(side)) return 'has a "response" that is not an object'
    const { headers = {}, body } = side
    if (!isRecord(headers) || !Object.values(headers).every((one) => typeof one === 'string')) return 'has headers that are not strings'
    if (body !== undefined && side['json'] !== undefined) return 'has both "body" and "json"'
    if (body !== undefined && typeof body !== 'string') return 'has a "body" that is not a string; use "json" for other values'
    if (typeof body === 'string' && body.length > BODY_LENGTH_MAX)
      return `has a body of ${body.length} characters; the limit is ${BODY_LENGTH_MAX}`
  }
  const status = isRecord(response) ? (response['status'] ?? 200) : 200
  if (!(Number.isInteger(status) && (status as number) >= 200 && (status as number) <= 599))
    return `has a status that is not a number from 200 to 599; it is ${shortened(status)}`
  if (failure !== undefined && !(isRecord(failure) && FAILURES.includes(String(failure['code'])) && typeof failure['message'] === 'string'))
    return `has a failure without a "message" or whose "code" is not ${FAILURES.join(', ')}`
  return null
}

/** A wrong value as JSON, for a message. */
function shortened(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing'
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`
}

export interface ReplayRequest {
  method: string
  url: string
  headers?: Record<string, string>
  body?: string | null
}

/** A service that is replayed from a file. */
export interface Replay {
  /** The matching exchange, which counts as used; null if none matches or all matches are used up. */
  next(request: ReplayRequest): Exchange | null
  /** Exchanges with `required` that have not been requested yet. */
  unused(): Exchange[]
}

/** Replays fixtures: the first match that is not used up provides the response. */
export function openReplay({ exchanges }: Fixtures): Replay {
  const used = exchanges.map(() => 0)
  return {
    next(request) {
      const index = exchanges.findIndex(
        (exchange, at) => (used[at] as number) < (exchange.times ?? Number.POSITIVE_INFINITY) && fits(exchange.request, request),
      )
      const found = exchanges[index]
      if (found === undefined) return null
      used[index] = (used[index] as number) + 1
      return found
    },
    unused: () => exchanges.filter(({ required }, at) => required === true && used[at] === 0),
  }
}

/** The body of a response as text. */
export const bodyOf = ({ body, json }: FixtureResponse): string => body ?? (json === undefined ? '' : JSON.stringify(json))

function fits(wanted: FixtureRequest, { method, url, headers = {}, body }: ReplayRequest): boolean {
  if ((wanted.method ?? 'GET').toUpperCase() !== method.toUpperCase()) return false
  if (addressOf(wanted.url) !== addressOf(url)) return false
  const given = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  for (const [name, value] of Object.entries(wanted.headers ?? {})) if (given.get(name.toLowerCase()) !== value) return false
  if (wanted.body !== undefined) return wanted.body === (body ?? '')
  return wanted.json === undefined || canonical(wanted.json) === canonical(readJson(body ?? ''))
}

/** A URL in normalized form; null when it is invalid. */
function addressOf(text: string): string | null {
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  url.hash = ''
  url.searchParams.sort()
  return url.href
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** JSON with sorted members, so that equal values have equal texts. */
const canonical = (value: unknown): string | undefined =>
  JSON.stringify(value, (_name, member: unknown) =>
    isRecord(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  )

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
