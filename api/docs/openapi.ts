import type { TSchema } from 'typebox'
import { Components } from '#api/docs/openapi-components.ts'
import { EXAMPLES, type Example } from '#api/docs/openapi-examples.ts'
import type { Json } from '#api/docs/openapi-headers.ts'
import { meaningOf } from '#api/docs/openapi-parameters.ts'
import { describeResponses, isTagged } from '#api/docs/openapi-responses.ts'
import { shareComponents } from '#api/docs/openapi-shared.ts'
import { TAGS } from '#api/docs/openapi-tags.ts'
import { AUTH_COOKIE, sessionCookieName } from '#api/http/authentication.ts'
import type { Route } from '#api/http/endpoint.ts'
import { describedPath } from '#api/http/route-path.ts'
import { NAME, VERSION } from '#api/http/version.ts'

/** An OpenAPI 3.1 document as plain JSON. */
export interface OpenApi extends Json {
  paths: Record<string, Record<string, Json>>
  components: { schemas: Record<string, Json>; responses: Record<string, Json>; parameters: Record<string, Json> } & Json
}

/** Whether the document describes a route: only those of our own API, neither foreign protocols nor pages for people. */
export const isDescribed = ({ mount, tag }: Pick<Route<never>, 'mount' | 'tag'>): boolean => mount === undefined && tag !== 'docs'

/** Describes the routes of our own API as an OpenAPI document. Titled schemas become components. */
export function describeRoutes(all: readonly Route<never>[]): OpenApi {
  const routes = all.filter(isDescribed)
  const draft: Draft = { components: new Components(), paths: {} }
  const read = new Set(
    routes.flatMap(({ kind, method, path, params }) => (kind === 'endpoint' && method === 'GET' && params ? [path] : [])),
  )
  for (const route of routes) addRoute(draft, route, read)
  return documentOf(draft, routes)
}

interface Draft {
  components: Components
  paths: OpenApi['paths']
}

/** @param read the paths whose record can be read, and compared with If-Match */
function addRoute({ components, paths }: Draft, route: Route<never>, read: ReadonlySet<string>): void {
  const path = describedPath(route.path)
  paths[path] ??= {}
  const isCompared = (route.method === 'PATCH' || route.method === 'PUT') && read.has(route.path)
  const conditions = [
    ...(isTagged(route) ? [IF_NONE_MATCH] : []),
    ...(isCompared ? [IF_MATCH] : []),
    ...(route.kind === 'stream' && route.ranges ? [RANGE] : []),
  ].map((header) => components.parameter(header, route.tag))
  paths[path][route.method.toLowerCase()] = describeRoute(route, components, conditions)
}

function documentOf({ components, paths }: Draft, routes: readonly Route<never>[]): OpenApi {
  const { schemas, responses, parameters, headers } = components.finish()
  shareComponents({ paths, schemas, responses, parameters })
  return {
    openapi: '3.1.0',
    info: {
      title: NAME,
      version: VERSION,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Digital library server for comics, manga and ebooks. The server trims white space from both ends of texts in request bodies, unless their schema has `x-untrimmed` or `x-exact`. It refuses unknown members, unless the schema has `additionalProperties`. Operations list the permissions that they require. Every response has the headers that are listed for errors, except Retry-After.',
    },
    servers: [{ url: '/', description: 'The server that sent this document.' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].sort().map((name) => ({ name, ...(TAGS[name] && { description: TAGS[name] }) })),
    security: SIGNED_IN,
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: Object.fromEntries(Object.entries(responses).sort(([a], [b]) => (a < b ? -1 : 1))),
      parameters,
      headers,
      securitySchemes: {
        keyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        bearer: { type: 'http', scheme: 'bearer', description: 'An access token, or an API key.' },
        browserSession: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookieName(false),
          description: `The session of a browser, set by a sign-in with \`session: cookie\`; \`${sessionCookieName(true)}\` behind TLS. Changes need \`Sec-Fetch-Site: same-origin\`, or an \`Origin\` that is the address of this server.`,
        },
        cookie: { type: 'apiKey', in: 'cookie', name: AUTH_COOKIE, description: 'Set by login; for pictures and files.' },
      },
    },
  }
}

const requestHeader = (name: string, description: string): Json => ({ name, in: 'header', description, schema: { type: 'string' } })
const IF_NONE_MATCH = requestHeader('If-None-Match', 'The ETag of a copy: the answer is 304 while the copy is current.')
const IF_MATCH = requestHeader(
  'If-Match',
  'The ETag that was read at this address: nothing changes, with 412, if the record has changed since.',
)
const RANGE = requestHeader('Range', 'The range of bytes to send (RFC 9110): the answer is 206 with this part.')

/** @throws Error if the route has no name */
function nameOf({ name, method, path }: Route<never>): string {
  if (name === undefined) throw new Error(`${method} ${path} has no name: the document needs one as its operationId.`)
  return name
}

function describeRoute(route: Route<never>, components: Components, conditions: readonly Json[]): Json {
  const { who, also = [] } = route.allow
  const needed = who === 'public' || who === 'user' ? [] : [who, ...also]
  const operationId = nameOf(route)
  const example = EXAMPLES[operationId]
  return {
    operationId,
    summary: route.summary,
    tags: [route.tag],
    ...(needed.length > 0 && {
      description: `Needs ${needed.map((name) => `\`${name}\``).join(' and ')}`,
    }),
    ...describeSecurity(route),
    ...describeParameters(route, { components, example, conditions }),
    ...describeBody(route, components, example),
    responses: describeResponses(route, components, example),
  }
}

/** The default authentication of operations. */
const SIGNED_IN: Json[] = [{ bearer: [] }, { keyHeader: [] }, { browserSession: [] }]

function describeSecurity({ allow }: Route<never>): Json {
  if (allow.who === 'public') return { security: [] }
  return allow.cookie ? { security: [...SIGNED_IN, { cookie: [] }] } : {}
}

interface Described {
  components: Components
  example: Example | undefined
  /** The conditional headers that the route understands. */
  conditions: readonly Json[]
}

function describeParameters(route: Route<never>, { components, example, conditions }: Described): Json {
  const parameters: Json[] = []
  for (const [place, given] of [
    ['path', route.params],
    ['query', route.query],
  ] as ['path' | 'query', TSchema | undefined][]) {
    const { properties: named = {}, required = [] } = (given ?? {}) as { properties?: Record<string, TSchema>; required?: string[] }
    for (const [name, member] of Object.entries(named)) {
      const { description: _, ...schema } = components.schema(member)
      const description = (member as { description?: string }).description ?? meaningOf(place, name)
      const value = example?.parameters?.[name]
      const exampleMember = value !== undefined && { example: value }
      const isRequired = place === 'path' || required.includes(name)
      parameters.push(
        components.parameter(
          { name, in: place, ...(isRequired && { required: true }), ...(description && { description }), schema, ...exampleMember },
          route.tag,
        ),
      )
    }
  }
  parameters.push(...conditions)
  return parameters.length > 0 ? { parameters } : {}
}

function describeBody(route: Route<never>, components: Components, example: Example | undefined): Json {
  if (route.kind !== 'endpoint') return {}
  if (route.upload) {
    const file = { type: 'string', format: 'binary', description: route.upload.description }
    const schema = { type: 'object', properties: { file }, required: ['file'] }
    return { requestBody: { required: true, content: { 'multipart/form-data': { schema } } } }
  }
  if (!route.body) return {}
  const body = { schema: components.schema(route.body), ...(example?.body !== undefined && { example: example.body }) }
  return { requestBody: { ...(route.bodyOptional !== true && { required: true }), content: { 'application/json': body } } }
}
