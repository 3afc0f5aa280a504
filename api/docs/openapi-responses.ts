import { STATUS_CODES } from 'node:http'
import type { TSchema } from 'typebox'
import Type from 'typebox'
import type { Components, Json } from '#api/docs/openapi-components.ts'
import type { Example } from '#api/docs/openapi-examples.ts'
import { familyOf } from '#api/docs/openapi-names.ts'
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

/** Refusals, by status: the name of the component and what it tells. */
const REFUSALS: Readonly<Record<string, readonly [name: string, description: string]>> = {
  400: ['BadRequest', 'The request has not the form that is described here.'],
  401: ['Unauthorized', 'No credential, or one that is not good.'],
  403: ['Forbidden', 'The caller has not the permission that is needed.'],
  404: ['NotFound', 'There is no such thing, or the caller may not see it.'],
  412: ['PreconditionFailed', 'The condition of the request does not hold.'],
  413: ['PayloadTooLarge', 'The body is larger than is taken.'],
  415: ['UnsupportedMediaType', 'The body is of a kind that is not taken.'],
  416: ['RangeNotSatisfiable', 'The range lies outside of the file.'],
  422: ['UnprocessableContent', 'The body has the right form, and a value breaks a rule.'],
  429: ['TooManyRequests', 'The caller asks too often; Retry-After says for how many seconds to wait.'],
  500: ['InternalError', 'Something went wrong in the server; its log knows the requestId.'],
  503: ['Unavailable', 'The server is shutting down, or what it needs does not answer.'],
  default: ['Refused', 'Any other refusal, such as 409 where the state of things does not allow what was asked for.'],
}

/** What a route answers, by status; refusals are components. */
export function describeResponses(route: Route<never>, components: Components, example: Example | undefined): Json {
  const responses = route.kind === 'stream' ? describeBytes(route, components) : describeReply(route, components, example)
  for (const status of refusalsOf(route)) responses[status] = describeRefusal(route, status, components)
  return responses
}

/** A refusal has the shape of this server, or that of the foreign protocol to which the route belongs; too many requests have one shape everywhere. */
function describeRefusal(route: Route<never>, status: string, components: Components): Json {
  const [name = '', description] = REFUSALS[status] ?? []
  const isBusy = status === '429'
  const dialect = isBusy ? undefined : route.mount?.dialect
  return components.response(dialect ? `${familyOf(route.path) || 'Foreign'}${name}` : name, () => {
    const { schema, mediaType = 'application/json' } = dialect?.shapeOf(Number(status) || 409) ?? { schema: isBusy ? RATE_LIMITED : ERROR }
    return {
      description,
      ...(isBusy && { headers: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } } } }),
      content: { [mediaType]: { schema: components.ofAnswer(schema) } },
    }
  })
}

function describeReply(route: Extract<Route<never>, { kind: 'endpoint' }>, components: Components, example: Example | undefined): Json {
  const status = route.status ?? (route.reply ? 200 : 204)
  const reply = route.reply as TSchema | undefined
  const describe = (one: number) => {
    if (!reply || status === 204) return { description: STATUS_CODES[one] }
    const shown = example?.status === one && example.answer !== undefined && { example: example.answer }
    const types = (route.mediaTypes ?? ['application/json']) as readonly string[]
    const body = { schema: components.ofAnswer(reply), ...shown }
    return { description: STATUS_CODES[one], content: Object.fromEntries(types.map((type) => [type, body])) }
  }
  const described = Object.fromEntries((route.mayCreate ? [status, 201] : [status]).map((one) => [one, describe(one)]))
  return { ...described, ...(route.mayBeEmpty && { 204: { description: STATUS_CODES[204] } }) }
}

function describeBytes(route: Extract<Route<never>, { kind: 'stream' }>, components: Components): Json {
  if (route.redirects) return { 302: { description: STATUS_CODES[302] } }
  if (route.reply) {
    const content = Object.fromEntries(route.mediaTypes.map((type) => [type, { schema: components.ofAnswer(route.reply as TSchema) }]))
    return { 200: { description: STATUS_CODES[200], content }, 304: { description: STATUS_CODES[304] } }
  }
  const content = Object.fromEntries(route.mediaTypes.map((type) => [type, {}]))
  const whole = { 200: { description: STATUS_CODES[200], content } }
  if (isEvents(route)) return whole
  return { ...whole, 206: { description: STATUS_CODES[206], content }, 304: { description: STATUS_CODES[304] } }
}

/** Events have neither ranges nor a state to compare with. */
const isEvents = (route: Route<never>): boolean => route.kind === 'stream' && route.mediaTypes.includes('text/event-stream')

function refusalsOf(route: Route<never>): string[] {
  const { allow } = route
  const refusals = new Set([429, 500, 503])
  const add = (...statuses: number[]) => statuses.forEach((status) => void refusals.add(status))
  // Preconditions and ranges, as the sender understands them.
  if (route.kind === 'stream' && !route.redirects && !isEvents(route)) add(412, 416)
  if (route.params || route.query) add(400, 404)
  if (route.kind === 'endpoint' && (route.body || route.upload)) add(400, 413, 415, 422)
  if (allow.who !== 'public') add(401)
  if (allow.who !== 'public' && allow.who !== 'user') add(403)
  const statuses = [...refusals].sort((a, b) => a - b).map(String)
  return route.method === 'GET' ? statuses : [...statuses, 'default']
}
