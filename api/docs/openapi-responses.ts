import { STATUS_CODES } from 'node:http'
import type { TSchema } from 'typebox'
import Type from 'typebox'
import type { Components } from '#api/docs/openapi-components.ts'
import type { Example } from '#api/docs/openapi-examples.ts'
import type { Json } from '#api/docs/openapi-headers.ts'
import { HEADERS_OF_ALL } from '#api/docs/openapi-headers.ts'
import type { Route } from '#api/http/endpoint.ts'

/** The body of an error. */
export const ERROR = Type.Object(
  {
    error: Type.String({ description: 'Error code in lower case, such as not_found.' }),
    message: Type.String({ description: 'Explanation for people.' }),
    requestId: Type.String({ description: 'Same as the X-Request-Id header; also in the log.' }),
    details: Type.Optional(Type.Unknown({ description: 'Details of the error, such as the paths of invalid members.' })),
  },
  { title: 'Error' },
)
const RATE_LIMITED = Type.Object(
  { error: Type.Literal('rate_limit_exceeded'), message: Type.String(), retry_after: Type.Integer({ minimum: 1 }) },
  { title: 'RateLimited' },
)

/** Statuses of errors, with their meanings. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'the request does not match this description',
  401: 'the credential is missing or invalid; for all operations except public ones',
  403: 'the caller lacks the required permission',
  404: 'it does not exist, or the caller may not see it',
  405: 'the address does not support this method',
  408: 'the body arrived too slowly',
  409: 'the current state does not allow the request',
  412: 'a precondition of the request is false',
  413: 'the body is too large',
  415: 'the media type of the body is not supported',
  416: 'the range is outside of the file',
  422: 'the body is well-formed, but a value breaks a rule',
  429: 'the caller sends too many requests; Retry-After says how many seconds to wait',
  500: 'internal error; search the log for the requestId',
  503: 'the server is shutting down, or something that it depends on is unavailable',
}
const REFUSED = `Errors: ${Object.entries(REFUSALS)
  .map(([status, meaning]) => `${status} ${meaning}`)
  .join('; ')}.`

/** Describes the responses of a route by status. All errors share one component, since they have the same statuses and shape everywhere. */
export function describeResponses(route: Route<never>, components: Components, example: Example | undefined): Json {
  const responses =
    route.kind === 'stream' ? withSharedBytes(describeBytes(route, components), components) : describeReply(route, components, example)
  return { ...responses, default: describeRefusal(components) }
}

function describeRefusal(components: Components): Json {
  return components.response('Error', () => ({
    description: REFUSED,
    headers: { 'Retry-After': components.header('Retry-After'), ...headersOfAll(components) },
    content: { 'application/json': { schema: components.schema(Type.Union([ERROR, RATE_LIMITED])) } },
  }))
}

const headersOfAll = (components: Components): Json => Object.fromEntries(HEADERS_OF_ALL.map((name) => [name, components.header(name)]))

/** All streams share the same responses besides the whole content. */
function withSharedBytes(responses: Json, components: Components): Json {
  const { 200: whole, 206: part, 304: _same, ...others } = responses as Record<string, Json>
  if (part === undefined) return responses
  return {
    ...others,
    200: { ...whole, headers: { ETag: components.header('ETag') } },
    206: components.response('Part', () => ({
      description: 'The requested range, with the media type of the whole content.',
      headers: { 'Content-Range': components.header('Content-Range') },
    })),
  }
}

function describeReply(route: Extract<Route<never>, { kind: 'endpoint' }>, components: Components, example: Example | undefined): Json {
  const status = route.status ?? (route.reply ? 200 : 204)
  const reply = route.reply as TSchema | undefined
  const describe = (one: number) => {
    if (!reply || status === 204) return { description: STATUS_CODES[one] }
    const exampleMember = example?.status === one && example.answer !== undefined && { example: example.answer }
    const types = (route.mediaTypes ?? ['application/json']) as readonly string[]
    const body = { schema: components.schema(reply), ...exampleMember }
    const headers = {
      ...(one === 201 && { Location: components.header('Location') }),
      ...(route.setsCookie && { 'Set-Cookie': components.header('Set-Cookie') }),
    }
    return {
      description: STATUS_CODES[one],
      ...(Object.keys(headers).length > 0 && { headers }),
      content: Object.fromEntries(types.map((type) => [type, body])),
    }
  }
  const described = Object.fromEntries((route.mayCreate ? [status, 201] : [status]).map((one) => [one, describe(one)]))
  return { ...described, ...(route.mayBeEmpty && { 204: { description: STATUS_CODES[204] } }) }
}

function describeBytes(route: Extract<Route<never>, { kind: 'stream' }>, components: Components): Json {
  if (route.redirects) return { 302: { description: STATUS_CODES[302] } }
  if (route.reply) {
    const content = Object.fromEntries(route.mediaTypes.map((type) => [type, { schema: components.schema(route.reply as TSchema) }]))
    return { 200: { description: STATUS_CODES[200], content }, 304: { description: STATUS_CODES[304] } }
  }
  const content = Object.fromEntries(route.mediaTypes.map((type) => [type, {}]))
  const whole = { 200: { description: STATUS_CODES[200], content } }
  if (isEvents(route)) return whole
  return { ...whole, 206: { description: STATUS_CODES[206], content }, 304: { description: STATUS_CODES[304] } }
}

/** Event streams have neither ranges nor validators. */
const isEvents = (route: Route<never>): boolean => route.kind === 'stream' && route.mediaTypes.includes('text/event-stream')
