/** A part of the document. */
export type Json = Record<string, unknown>

/** On every answer. Only refusals, which are described once, repeat them. */
export const HEADERS_OF_ALL = ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const

const header = (type: 'string' | 'integer', description: string): Json => ({ description, schema: { type } })

/** Headers of answers, each once: what they say, and their type. */
export const HEADERS = {
  'Content-Range': header('string', 'Which bytes of the whole these are (RFC 9110).'),
  ETag: header('string', 'Names the content; If-None-Match asks whether it is still the same, and is answered 304 where it is.'),
  Location: header('string', 'Where what was made is found, as a path of this server; absent where it has no address of its own.'),
  'Retry-After': header('integer', 'Seconds to wait before asking again.'),
  'Set-Cookie': header('string', 'The cookies of a browser that signs in or out.'),
  'X-RateLimit-Limit': header('integer', 'Requests that the caller has at once; absent while the server sets no limits.'),
  'X-RateLimit-Remaining': header('integer', 'Requests that are left of them.'),
  'X-RateLimit-Reset': header('integer', 'Seconds until all of them are there again.'),
  'X-Request-Id': header('string', 'Id of the request; the log of the server knows it.'),
} as const
export type HeaderName = keyof typeof HEADERS
