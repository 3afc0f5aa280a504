import { STATUS_CODES } from 'node:http'
import type { TSchema } from 'typebox'
import Type from 'typebox'
import type { Components } from '#api/docs/openapi-components.ts'
import type { Example } from '#api/docs/openapi-examples.ts'
import type { Json } from '#api/docs/openapi-headers.ts'
import { HEADERS_OF_ALL } from '#api/docs/openapi-headers.ts'
import type { Route } from '#api/http/endpoint.ts'

/** A refusal of this server's own. */
export const ERROR = Type.Object(
  {
    error: Type.String({ description: 'Lower-case code of the refusal, such as not_found.' }),
    message: Type.String({ description: 'For people.' }),
    requestId: Type.String({ description: 'Same as the X-Request-Id header; the log knows it.' }),
    details: Type.Optional(Type.Unknown({ description: 'What exactly was wrong, such as the paths of members.' })),
  },
  { title: 'Error' },
)
const RATE_LIMITED = Type.Object(
  { error: Type.Literal('rate_limit_exceeded'), message: Type.String(), retry_after: Type.Integer({ minimum: 1 }) },
  { title: 'RateLimited' },
)

/** Statuses of this server's own refusals, with what each tells. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'the request has not the form that is described here',
  401: 'no credential, or one that is not good; of every operation but public ones',
  403: 'the caller has not the permission that the operation needs',
  404: 'there is no such thing, or the caller may not see it',
  405: 'the address does not answer this method',
  409: 'the state of things does not allow what was asked for',
  412: 'the condition of the request does not hold',
  413: 'the body is larger than is taken',
  415: 'the body is of a kind that is not taken',
  416: 'the range lies outside of the file',
  422: 'the body has the right form, and a value breaks a rule',
  429: 'the caller asks too often; Retry-After says for how many seconds to wait',
  500: 'something went wrong in the server; its log knows the requestId',
  503: 'the server is shutting down, or what it needs does not answer',
}
const REFUSED = `What is refused: ${Object.entries(REFUSALS)
  .map(([status, meaning]) => `${status} ${meaning}`)
  .join('; ')}.`

/** What a route answers, by status. All refusals are one component: their statuses are alike everywhere, and so is their shape. */
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

/** What streams answer beside the whole is alike everywhere. */
function withSharedBytes(responses: Json, components: Components): Json {
  const { 200: whole, 206: part, 304: _same, ...others } = responses as Record<string, Json>
  if (part === undefined) return responses
  return {
    ...others,
    200: { ...whole, headers: { ETag: components.header('ETag') } },
    206: components.response('Part', () => ({
      description: 'The part that was asked for, of the media type of the whole.',
      headers: { 'Content-Range': components.header('Content-Range') },
    })),
  }
}

function describeReply(route: Extract<Route<never>, { kind: 'endpoint' }>, components: Components, example: Example | undefined): Json {
  const status = route.status ?? (route.reply ? 200 : 204)
  const reply = route.reply as TSchema | undefined
  const describe = (one: number) => {
    if (!reply || status === 204) return { description: STATUS_CODES[one] }
    const shown = example?.status === one && example.answer !== undefined && { example: example.answer }
    const types = (route.mediaTypes ?? ['application/json']) as readonly string[]
    const body = { schema: components.schema(reply), ...shown }
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

/** Events have neither ranges nor a state to compare with. */
const isEvents = (route: Route<never>): boolean => route.kind === 'stream' && route.mediaTypes.includes('text/event-stream')
