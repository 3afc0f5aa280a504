import { apiTexts } from '#texts/api.ts'

/** Why the server did not do something: a sentence for people, and what finds the request in the log of the server. */
export class Problem extends Error {
  /** Of HTTP; 0 when there was no answer. */
  readonly status: number
  /** The error's name in the API, for example `not_found`; null when the answer had none. */
  readonly code: string | null
  readonly requestId: string | null
  /** When it may be tried again; null when the server did not say. */
  readonly retryAfterSeconds: number | null
  /** What the server sent besides; `details` of the API's errors. */
  readonly details: unknown

  constructor(
    sentence: string,
    about: { status: number; code?: string | null; requestId?: string | null; retryAfterSeconds?: number | null; details?: unknown },
  ) {
    super(sentence)
    this.name = 'Problem'
    this.status = about.status
    this.code = about.code ?? null
    this.requestId = about.requestId ?? null
    this.retryAfterSeconds = about.retryAfterSeconds ?? null
    this.details = about.details ?? null
  }

  /** fetch says "TypeError: Failed to fetch" for every reason; a body that is not JSON is a SyntaxError. */
  static fromNetwork(error: unknown): Problem {
    return new Problem(error instanceof SyntaxError ? apiTexts.notJson() : apiTexts.notReached(), { status: 0 })
  }

  /** Whether nobody is signed in. With details it is about what was sent, such as a wrong current password. */
  get isSignedOut(): boolean {
    return this.status === 401 && this.details === null
  }

  /** Whether another try without a change may succeed. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 502
  }
}

/** Reads the error of an answer; `body` is what its JSON said, if it was JSON. */
export function readProblem(response: Response, body: unknown): Problem {
  const said = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const text = (name: string) => (typeof said[name] === 'string' ? (said[name] as string) : null)
  const wait = Number(response.headers.get('Retry-After'))
  return new Problem(text('message') ?? apiTexts.status({ status: response.status }), {
    status: response.status,
    code: text('error'),
    requestId: text('requestId') ?? response.headers.get('X-Request-Id'),
    retryAfterSeconds: Number.isFinite(wait) && wait > 0 ? wait : null,
    details: said['details'],
  })
}
