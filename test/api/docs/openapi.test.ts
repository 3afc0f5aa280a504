import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import Type from 'typebox'
import { describeRoutes, isDescribed, type OpenApi } from '#api/docs/openapi.ts'
import type { Json } from '#api/docs/openapi-headers.ts'
import { STATUS_OF_KIND } from '#api/http/errors.ts'
import { describedPath } from '#api/http/route-path.ts'
import { routes } from '#api/routes.ts'
import { ERRORS } from '#core/foundation/errors.ts'
import { TASK_STATUSES } from '#core/foundation/task-status.ts'
import { endpoint } from '#test/support/route.ts'
import { get, openTestServer } from '#test/support/server.ts'

const described: OpenApi = JSON.parse(JSON.stringify(describeRoutes(routes)))

t.test('the committed document is the one the routes make', async (t) => {
  const committed = JSON.parse(readFileSync(new URL('../../../api/docs/openapi.json', import.meta.url), 'utf8'))
  t.same(committed, described, 'run `npm run openapi` and look at the difference')
})

t.test('it is served, and every operation in it is sound', async (t) => {
  const server = await openTestServer(t, { admin: false })
  const served = await server.request<OpenApi>('GET', '/api/openapi.json')
  t.equal(served.status, 200)
  t.same(served.json, described)
  // Whether they can be compiled is all that is asked: how well, and one shape again in every place that refers to it, takes seconds.
  const ajv = new Ajv2020({ strict: false, inlineRefs: false, code: { optimize: false } })
  addFormats.default(ajv)
  for (const [name, schema] of Object.entries(described.components.schemas)) ajv.addSchema(schema, `#/components/schemas/${name}`)
  const ids = new Set<string>()
  const compiled = new Set<string>()
  for (const [path, operations] of Object.entries(described.paths)) {
    const { parameters: shared = [], ...methods } = operations as unknown as Record<string, Json> & { parameters?: object[] }
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId, responses } = operation as { operationId: string; responses: object }
      const parameters = [...shared, ...((operation['parameters'] ?? []) as object[])].map(findParameter)
      for (const { name, description } of parameters) if (!description) t.fail(`${operationId} describes ${name}`)
      for (const { schema = {} } of contentsOf(operation))
        if ('properties' in schema || 'allOf' in schema) t.fail(`${operationId} has a shape without a name: ${JSON.stringify(schema)}`)
      t.notOk(ids.has(operationId), `${operationId} is unique`)
      ids.add(operationId)
      t.match(operationId, method === 'get' ? /^(get|list|stream|download|browse|search|finish)[A-Z]\w+$/ : /^[a-z][A-Za-z]+$/, path)
      const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      t.same(inPath.sort(), [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(), `${method} ${path} describes its parameters`)
      for (const reference of JSON.stringify(operation).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
        if (!described.components.schemas[reference[1] ?? '']) t.fail(`${operationId} refers to ${reference[1]}`)
      }
      for (const schema of schemasOf(operation)) {
        const text = JSON.stringify(schema)
        if (!compiled.has(text)) ajv.compile(schema as object)
        compiled.add(text)
      }
      t.ok(Object.keys(responses).some((status) => status < '400'))
      t.match(responses, { default: { $ref: '#/components/responses/ErrorResponse' } })
      for (const reference of JSON.stringify(responses).matchAll(/"\$ref":"#\/components\/responses\/(\w+)"/g)) {
        if (!described.components.responses[reference[1] ?? '']) t.fail(`${operationId} refers to ${reference[1]}`)
      }
    }
  }
  t.match(described.paths['/api/v1/auth/login']?.['post'], { security: [], responses: { 200: { headers: { 'Set-Cookie': {} } } } })
  t.match(described.paths['/api/v1/users/{userId}']?.['delete'], { description: 'Needs `users-delete`', responses: { 204: {} } })
})

t.test('refusals have one shape, statuses that are told, and headers', async (t) => {
  const { ErrorResponse: refusal } = described.components.responses
  t.match(refusal, {
    headers: { 'Retry-After': {}, 'X-Request-Id': {}, 'X-RateLimit-Limit': {} },
    content: {
      'application/json': { schema: { anyOf: [{ $ref: '#/components/schemas/Error' }, { $ref: '#/components/schemas/RateLimited' }] } },
    },
  })
  for (const status of Object.values(STATUS_OF_KIND))
    t.match(String(refusal?.['description']), new RegExp(`\\b${status} `), `${status} is told`)
})

/** As it is sent, before it is compressed; pages that show it read it whole. It grows with the operations and not with what is said twice. */
const BYTES_PER_OPERATION_MAX = 1400

t.test('it stays small enough to be read at once', async (t) => {
  const bytes = Buffer.byteLength(JSON.stringify(described))
  const operations = Object.values(described.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0)
  t.ok(
    bytes < BYTES_PER_OPERATION_MAX * operations,
    `${bytes} bytes for ${operations} operations: give what stands in several places a title`,
  )
})

t.test('no two components have one name, whatever they are: generators of clients make types of all of them', async (t) => {
  const names = Object.values(described.components).flatMap((components) => Object.keys(components as object))
  const plain = names.map((name) => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase())
  t.same(
    plain.filter((name, index) => plain.indexOf(name) !== index),
    [],
  )
})

/** Every part of a document with its place, without the examples. */
function partsOf(node: unknown, place = ''): [place: string, part: Json][] {
  if (typeof node !== 'object' || node === null) return []
  const inner = Object.entries(node).flatMap(([key, member]) => (key === 'example' ? [] : partsOf(member, `${place}/${key}`)))
  return Array.isArray(node) ? inner : [[place, node as Json], ...inner]
}

t.test('it is typed to the end, in forms that generators of clients and strict validators read', async (t) => {
  for (const [place, part] of partsOf(described)) {
    // The parts of an intersection do not know each other's members, so that a strict validator refuses what it allows.
    if (Array.isArray(part['allOf'])) t.fail(`${place} is an intersection`)
    if (Array.isArray(part['enum']) && part['type'] === undefined) t.fail(`${place} has words without a type`)
    const content = part['content'] as Record<string, { schema?: object }> | undefined
    for (const [type, { schema }] of Object.entries(content ?? {}))
      if (schema === undefined || Object.keys(schema).length === 0) t.fail(`${place} has no schema for ${type}`)
    if (/\/(condition|autoMatchConditions|permissions|details)$/.test(place) && part['additionalProperties'] !== undefined)
      t.fail(`${place} is any object`)
  }
  const { schemas } = described.components
  t.match(schemas['BookSort'], { type: 'string', enum: ['title,asc'] })
  t.match(schemas['NewApiKey'], { properties: { permissions: { anyOf: [{ items: { $ref: '#/components/schemas/Permission' } }] } } })
  t.match(described.paths['/api/v1/events']?.['get'], {
    responses: { 200: { content: { 'text/event-stream': { schema: { $ref: '#/components/schemas/AnyEvent' } } } } },
  })
})

t.test('every code of an error is listed with what to do', async (t) => {
  const { ErrorCode: codes } = described.components.schemas
  for (const [code, { remedy }] of Object.entries(ERRORS)) {
    if (code === 'rate_limit_exceeded') continue
    t.ok((codes?.['enum'] as string[] | undefined)?.includes(code), code)
    t.ok(
      String(codes?.['description']).includes(`\`${code}\``) && String(codes?.['description']).includes(remedy),
      `what to do about ${code}`,
    )
  }
})

t.test('it tells of every route but foreign protocols and pages', async (t) => {
  const told = Object.values(described.paths).flatMap((item) => Object.keys(item).filter((key) => key !== 'parameters'))
  t.equal(told.length, routes.filter(isDescribed).length)
  for (const { path, mount } of routes.filter((route) => !isDescribed(route)))
    t.ok(mount || path === '/' || path.startsWith('/api/docs'), path)
})

t.test('what a client meets has the name that it knows', async (t) => {
  const names = [
    'Author',
    'Book',
    'BookMetadata',
    'BookMetadataLocks',
    'Error',
    'FullBook',
    'FullSeries',
    'Library',
    'ReadProgress',
    'Series',
    'Task',
  ]
  t.same(
    names.filter((name) => !(name in described.components.schemas)),
    [],
  )
})

t.test('a body is needed only where it may not be left out', async (t) => {
  for (const route of routes.filter(isDescribed)) {
    if (route.kind !== 'endpoint' || !route.body) continue
    const operation = described.paths[describedPath(route.path)]?.[route.method.toLowerCase()] as { requestBody: { required?: boolean } }
    t.equal(operation.requestBody.required === true, route.bodyOptional !== true, `${route.method} ${route.path}`)
  }
})

/** Smaller objects than this need no name: a reference is no shorter. */
const NAMED_MEMBERS_MIN = 4

t.test('what stands in several places has a name', async (t) => {
  const places = new Map<string, string[]>()
  const walk = (node: unknown, place: string): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, properties } = node as { type?: unknown; properties?: object }
    if (type === 'object' && Object.keys(properties ?? {}).length >= NAMED_MEMBERS_MIN) {
      const text = JSON.stringify(node)
      places.set(text, [...(places.get(text) ?? []), place])
    }
    for (const [key, member] of Object.entries(node)) walk(member, `${place}/${key}`)
  }
  walk(described.paths, '')
  walk(described.components.schemas, '')
  for (const [text, [first, ...others]] of places) {
    if (others.length > 0)
      t.fail('the same schema stands in several places: give it a title, as by Noun of core/foundation/schema.ts', { first, others, text })
  }
})

t.test('it is written and compressed once, and not sent to who has it', async (t) => {
  const server = await openTestServer(t, { admin: false })
  const ask = (headers: Record<string, string>) => get(`${server.url}/api/openapi.json`, { headers })
  const plain = await ask({ 'accept-encoding': 'identity' })
  const packed = await ask({ 'accept-encoding': 'gzip' })
  t.match([plain.status, packed.status], [200, 200])
  t.match(packed.headers, { 'content-encoding': 'gzip', vary: 'Accept-Encoding', 'content-type': 'application/json; charset=utf-8' })
  t.ok(gunzipSync(packed.bytes).equals(plain.bytes))
  t.ok((await ask({ 'accept-encoding': 'gzip' })).bytes.equals(packed.bytes))
  t.not(packed.headers.etag, plain.headers.etag, 'other bytes have another name')
  for (const [encoding, { headers }] of [
    ['gzip', packed],
    ['identity', plain],
  ] as const) {
    const again = await ask({ 'accept-encoding': encoding, 'if-none-match': String(headers.etag) })
    t.match([again.status, again.bytes.length], [304, 0], encoding)
  }
})

t.test('two shapes cannot have one title', async (t) => {
  const route = (path: string, reply: Type.TSchema) =>
    endpoint({
      name: `get${path.slice(1)}`,
      method: 'GET',
      path,
      summary: '',
      tag: '',
      allow: { who: 'public' },
      reply,
      run: async () => undefined,
    })
  const thing = (member: Type.TSchema) => Type.Object({ member }, { title: 'Thing' })
  t.throws(() => describeRoutes([route('/a', thing(Type.String())), route('/b', thing(Type.Integer()))]), /Two different schemas/)
  t.match(describeRoutes([route('/a', thing(Type.String())), route('/b', thing(Type.String()))]).components.schemas, {
    Thing: { type: 'object' },
  })
})

interface Content {
  schema?: object
}

/** What the requests and answers of an operation hold, by media type. */
function contentsOf(node: unknown): Content[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([key, member]) =>
    key === 'content' ? Object.values(member as Record<string, Content>) : contentsOf(member),
  )
}

function findParameter(given: object): { name: string; in: string; description?: string } {
  const { $ref } = given as { $ref?: string }
  const shared = $ref === undefined ? given : described.components.parameters[$ref.slice('#/components/parameters/'.length)]
  return shared as ReturnType<typeof findParameter>
}

function schemasOf(node: unknown): unknown[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([key, member]) => (key === 'schema' ? [member] : schemasOf(member)))
}

t.test('a state of a task has one word in every part of the document', async (t) => {
  const words: readonly string[] = ['idle', ...TASK_STATUSES]
  let found = 0
  for (const [place, { enum: values }] of partsOf(described)) {
    if (!Array.isArray(values) || !values.some((value) => ['pending', 'processing', 'running', 'canceled'].includes(value))) continue
    found++
    // The interface of recommendations has a word of its own.
    const known = place.endsWith('/taskStatus') ? [...words, 'running'] : words
    t.same(
      values.filter((value) => value !== null && !known.includes(value)),
      [],
      place,
    )
  }
  t.ok(found >= 7, 'the walk finds tasks, scans, exports, jobs, recommendations, events and the filter')
  t.match(described.components.schemas['TaskStats'], { properties: Object.fromEntries(TASK_STATUSES.map((status) => [status, Object])) })
})
