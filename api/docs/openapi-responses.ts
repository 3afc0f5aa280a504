import { STATUS_CODES } from 'node:http'
import type { TSchema } from 'typebox'
import Type from 'typebox'
import type { Components } from '#api/docs/openapi-components.ts'
import type { Example } from '#api/docs/openapi-examples.ts'
import type { Json } from '#api/docs/openapi-headers.ts'
import { HEADERS_OF_ALL } from '#api/docs/openapi-headers.ts'
import type { Route } from '#api/http/endpoint.ts'
import { STATUS_OF_KIND } from '#api/http/errors.ts'
import { ERRORS, type ErrorCode } from '#core/foundation/errors.ts'
import { OneOf } from '#core/foundation/schema.ts'

/** 429 has a body of its own. */
const CODES = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => code !== 'rate_limit_exceeded')

/** Each code with its status and what a client should do. */
const CODE_LIST = CODES.map((code) => `- \`${code}\` (${STATUS_OF_KIND[ERRORS[code].kind]}): ${ERRORS[code].remedy}`).join('\n')

const DETAILS = Type.Union(
  [
    Type.Array(
      Type.Object(
        { path: Type.String({ description: 'JSON pointer to the member or parameter.' }), message: Type.String() },
        { title: 'ErrorDetail' },
      ),
      { description: 'What is wrong with each member or parameter.' },
    ),
    Type.Object({ permission: Type.String() }, { title: 'MissingPermission', description: 'The permission that the caller lacks.' }),
    Type.Object(
      { permissions: Type.Array(Type.String()) },
      { title: 'MissingPermissions', description: 'The permissions that the caller cannot give, lacking them.' },
    ),
  ],
  { title: 'ErrorDetails' },
)

/** The body of an error. */
export const ERROR = Type.Object(
  {
    error: { ...OneOf(CODES as [ErrorCode]), title: 'ErrorCode', description: CODE_LIST },
    message: Type.String({ description: 'Explanation for people.' }),
    requestId: Type.String({ description: 'Same as the X-Request-Id header; also in the log.' }),
    details: Type.Optional(DETAILS),
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
  502: 'another service that this needs did not answer as expected',
  503: 'the server is shutting down, or something that it depends on is unavailable',
}
const REFUSED = `Errors: ${Object.entries(REFUSALS)
  .map(([status, meaning]) => `${status} ${meaning}`)
  .join('; ')}.`

/** Describes the responses of a route by status. All errors share one component, since they have the same statuses and shape everywhere. */
export function describeResponses(route: Route<never>, components: Components, example: Example | undefined): Json {
  const responses = route.kind === 'stream' ? describeBytes(route, components) : describeReply(route, components, example)
  const unchanged = isTagged(route) && { 304: describeUnchanged(components) }
  return { ...responses, ...unchanged, default: describeRefusal(components) }
}

/** Whether the answer has an ETag, which a client may compare. */
export function isTagged(route: Route<never>): boolean {
  if (route.kind === 'stream') return !route.untagged && !isEvents(route)
  const isRead = route.method === 'GET' || route.dependsOn !== undefined
  return isRead && route.reply !== undefined && route.allow.who !== 'public' && !route.statesTime
}

function describeRefusal(components: Components): Json {
  return components.response('ErrorResponse', () => ({
    description: REFUSED,
    headers: { 'Retry-After': components.header('Retry-After'), ...headersOfAll(components) },
    content: { 'application/json': { schema: components.schema(Type.Union([ERROR, RATE_LIMITED])) } },
  }))
}

const headersOfAll = (components: Components): Json => Object.fromEntries(HEADERS_OF_ALL.map((name) => [name, components.header(name)]))

function describeUnchanged(components: Components): Json {
  return components.response('UnchangedResponse', () => ({
    description: STATUS_CODES[304],
    headers: { ETag: components.header('ETag') },
  }))
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
      ...(isTagged(route) && { ETag: components.header('ETag') }),
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

/** Generators of clients make a Blob or a stream of it. */
const BINARY = { type: 'string', format: 'binary' }

function describeBytes(route: Extract<Route<never>, { kind: 'stream' }>, components: Components): Json {
  const schemaOf = (type: string) => {
    if (route.reply) return components.schema(route.reply)
    return type === 'text/html' ? { type: 'string' } : BINARY
  }
  const content = Object.fromEntries(route.mediaTypes.map((type) => [type, { schema: schemaOf(type) }]))
  const headers = isTagged(route) && { headers: { ETag: components.header('ETag') } }
  return {
    200: { description: STATUS_CODES[200], ...headers, content },
    ...(route.ranges && { 206: describePart(components) }),
    ...(route.refusesWithPage && { 400: { description: 'A page that tells what went wrong.', content } }),
  }
}

function describePart(components: Components): Json {
  return components.response('PartResponse', () => ({
    description: 'The requested range, with the media type of the whole content.',
    headers: { 'Content-Range': components.header('Content-Range'), ETag: components.header('ETag') },
    content: { '*/*': { schema: BINARY } },
  }))
}

/** Event streams have neither ranges nor validators. */
const isEvents = (route: Route<never>): boolean => route.kind === 'stream' && route.mediaTypes.includes('text/event-stream')
