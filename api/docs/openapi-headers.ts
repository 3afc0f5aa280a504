/** Any part of the document. */
export type Json = Record<string, unknown>

/** Headers of every response. Only errors, which are described once, list them. */
export const HEADERS_OF_ALL = ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const

const header = (type: 'string' | 'integer', description: string): Json => ({ description, schema: { type } })

/** Headers of responses: description and type of each. */
export const HEADERS = {
  'Content-Range': header('string', 'The range of bytes in this response (RFC 9110).'),
  ETag: header('string', 'Identifies the content; a request with If-None-Match gets 304 while it is unchanged.'),
  Location: header('string', 'Path of the created record on this server; absent if it has no address of its own.'),
  'Retry-After': header('integer', 'Seconds to wait before the next request.'),
  'Set-Cookie': header('string', 'Session cookies, set at sign-in and cleared at sign-out.'),
  'X-RateLimit-Limit': header('integer', 'Number of requests that the caller can send at once; absent if the server has no rate limit.'),
  'X-RateLimit-Remaining': header('integer', 'Number of requests left.'),
  'X-RateLimit-Reset': header('integer', 'Seconds until another request is allowed; 0 if one is allowed now.'),
  'X-Request-Id': header('string', 'Id of the request, also in the log of the server.'),
} as const
export type HeaderName = keyof typeof HEADERS
