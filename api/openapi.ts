import { createHash } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { TSchema } from 'typebox'
import Type from 'typebox'
import { AUTH_COOKIE } from '#api/http/authentication.ts'
import { type Route, type Stream, type StreamReply, streamOf } from '#api/http/endpoint.ts'
import { closeObjects } from '#api/http/input.ts'
import { NAME, VERSION } from '#api/version.ts'

const compress = promisify(gzip)

type Json = Record<string, unknown>

/** An OpenAPI 3.1 document as plain JSON. */
export interface OpenApi extends Json {
  paths: Record<string, Record<string, Json>>
  components: { schemas: Record<string, Json> } & Json
}

const ERROR = Type.Object(
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

/** Describes routes as an OpenAPI document. Object schemas with a title become components of that name. */
export function describeRoutes(routes: readonly Route<never>[]): OpenApi {
  const parts = openParts()
  for (const route of routes) addRoute(parts, route)
  return documentOf(parts, routes)
}

/** As {@link describeRoutes}, with turns of the event loop between the routes: all of them at a stretch take a tenth of a second. */
async function describeInTurns(routes: readonly Route<never>[]): Promise<OpenApi> {
  const parts = openParts()
  for (const route of routes) {
    addRoute(parts, route)
    await nextTurn()
  }
  return documentOf(parts, routes)
}

interface Parts {
  components: Map<string, Json>
  paths: OpenApi['paths']
}

const openParts = (): Parts => ({ components: new Map(), paths: {} })

function addRoute({ components, paths }: Parts, route: Route<never>): void {
  const path = route.path.replace(/:(\w+)/g, '{$1}')
  paths[path] ??= {}
  paths[path][route.method.toLowerCase()] = describeRoute(route, (given) => hoist(JSON.parse(JSON.stringify(given)), components))
}

function documentOf({ components, paths }: Parts, routes: readonly Route<never>[]): OpenApi {
  return {
    openapi: '3.1.0',
    info: {
      title: NAME,
      version: VERSION,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Digital library server for comics, manga and ebooks. Texts of request bodies lose the white space at their ends, unless their schema says `x-untrimmed` or `x-exact`.',
    },
    tags: [...new Set(routes.map(({ tag }) => tag))].sort().map((name) => ({ name })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        bearer: { type: 'http', scheme: 'bearer', description: 'An access token, or an API key.' },
        cookie: { type: 'apiKey', in: 'cookie', name: AUTH_COOKIE, description: 'Set by login; for pictures and files.' },
        ...(routes.some(({ allow }) => allow.basic) && { basic: { type: 'http', scheme: 'basic' } }),
      },
    },
  }
}

/** The route that serves the description of all routes, its own included. It is written down once, with its compressed form. */
export function openApiRoute<Services>(routes: () => readonly Route<Services>[]): Stream<Services> {
  let reply: Promise<StreamReply> | undefined
  return streamOf<Services>()({
    path: '/api/openapi.json',
    summary: 'This API as an OpenAPI 3.1 document.',
    tag: 'info',
    allow: { who: 'public' },
    mediaTypes: ['application/json'],
    run: () => (reply ??= writeOnce(routes())),
  })
}

/** Everybody may ask for it, and it is a megabyte: nothing is done for the second who asks. */
async function writeOnce(routes: readonly Route<never>[]): Promise<StreamReply> {
  const bytes = Buffer.from(JSON.stringify(await describeInTurns(routes)))
  return {
    kind: 'bytes',
    bytes,
    gzipped: await compress(bytes, { level: constants.Z_BEST_COMPRESSION }),
    mediaType: 'application/json; charset=utf-8',
    etag: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
    cacheControl: 'no-cache',
  }
}

function describeRoute(route: Route<never>, schema: (given: TSchema) => Json): Json {
  const { who } = route.allow
  const body = route.kind === 'endpoint' ? (route.body as TSchema | undefined) : undefined
  const isOptional = route.kind === 'endpoint' && route.bodyOptional === true
  return {
    operationId: nameOf(route),
    summary: route.summary,
    tags: [route.tag],
    ...(who !== 'public' && who !== 'user' && { description: `Needs the permission \`${who}\`.` }),
    security: describeSecurity(route),
    ...describeParameters(route, schema),
    ...(route.kind === 'endpoint' &&
      route.upload && {
        requestBody: {
          required: true,
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                properties: { file: { type: 'string', format: 'binary', description: route.upload.description } },
                required: ['file'],
              },
            },
          },
        },
      }),
    ...(body && { requestBody: { required: !isOptional, content: { 'application/json': { schema: schema(closeObjects(body)) } } } }),
    responses: describeResponses(route, schema),
  }
}

function describeSecurity({ allow }: Route<never>): Json[] {
  if (allow.who === 'public') return []
  return [{ bearer: [] }, { apiKey: [] }, ...(allow.cookie ? [{ cookie: [] }] : []), ...(allow.basic ? [{ basic: [] }] : [])]
}

function describeParameters(route: Route<never>, schema: (given: TSchema) => Json): Json {
  const parameters: Json[] = []
  for (const [place, given] of [
    ['path', route.params],
    ['query', route.query],
  ] as [string, TSchema | undefined][]) {
    const { properties = {}, required = [] } = (given ?? {}) as { properties?: Record<string, TSchema>; required?: string[] }
    for (const [name, member] of Object.entries(properties)) {
      const { description, ...rest } = schema(member)
      parameters.push({
        name,
        in: place,
        required: required.includes(name),
        ...(description !== undefined && { description }),
        schema: rest,
      })
    }
  }
  return parameters.length > 0 ? { parameters } : {}
}

function describeResponses(route: Route<never>, schema: (given: TSchema) => Json): Json {
  const { allow } = route
  // 503: shutting down, or what the route stands on does not answer.
  const refusals = [429, 500, 503]
  // Events have neither ranges nor a state to compare with.
  const isFile = route.kind === 'stream' && !route.mediaTypes.includes('text/event-stream')
  // Preconditions and ranges, as the sender understands them.
  if (isFile) refusals.push(412, 416)
  if (route.params || route.query) refusals.push(400)
  if (route.params) refusals.push(404)
  if (route.kind === 'endpoint' && (route.body || route.upload)) refusals.push(400, 413, 415, 422)
  if (allow.who !== 'public') refusals.push(401)
  if (allow.who !== 'public' && allow.who !== 'user') refusals.push(403)
  const responses: Json = {}
  if (route.kind === 'stream') {
    const content = Object.fromEntries(route.mediaTypes.map((type) => [type, {}]))
    responses['200'] = { description: STATUS_CODES[200], content }
    if (isFile) {
      responses['206'] = { description: STATUS_CODES[206], content }
      responses['304'] = { description: STATUS_CODES[304] }
    }
  } else {
    const status = route.status ?? (route.reply ? 200 : 204)
    const reply = route.reply as TSchema | undefined
    const content = reply && status !== 204 && { content: { 'application/json': { schema: schema(reply) } } }
    for (const one of route.mayCreate ? [status, 201] : [status]) responses[one] = { description: STATUS_CODES[one], ...content }
  }
  for (const status of refusals) {
    const content = { 'application/json': { schema: schema(status === 429 ? RATE_LIMITED : ERROR) } }
    responses[status] = { description: STATUS_CODES[status], content }
  }
  return responses
}

/** `GET /api/v1/books/:bookId/pages` is `getBooksByBookIdPages`. */
function nameOf({ method, path }: Route<never>): string {
  const words = path
    .replace(/^\/api\/v1\//, '/')
    .split(/[/.-]/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith(':') ? `By${capital(part.slice(1))}` : capital(part)))
  return method.toLowerCase() + words.join('')
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}

/** Moves titled objects to the components and puts a reference in their place. @throws Error when one title names two shapes */
function hoist(value: unknown, components: Map<string, Json>): Json {
  const walk = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(walk)
    if (typeof node !== 'object' || node === null) return node
    const copy = Object.fromEntries(Object.entries(node).map(([key, member]) => [key, walk(member)]))
    const { title } = copy
    if (typeof title !== 'string' || copy['type'] !== 'object') return copy
    const known = components.get(title)
    if (known && JSON.stringify(known) !== JSON.stringify(copy)) throw new Error(`Two different schemas have the title ${title}`)
    components.set(title, copy)
    return { $ref: `#/components/schemas/${title}` }
  }
  return walk(value) as Json
}
