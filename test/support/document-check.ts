import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describeRoutes, isDescribed } from '#api/docs/openapi.ts'
import type { Route } from '#api/http/endpoint.ts'
import { describedPath } from '#api/http/route-path.ts'
import type { Services } from '#api/http/services.ts'
import { routes } from '#api/routes.ts'

type Json = Record<string, unknown>

/** An answer of the server to a request for a described route. */
interface Answered {
  status: number
  headers: Headers
  text: string
}

interface DescribedAnswer {
  $ref?: string
  headers?: Json
  content?: Record<string, { schema?: AnySchema }>
}

const document = closed(JSON.parse(JSON.stringify(describeRoutes(routes)))) as Json & { paths: Record<string, Record<string, Json>> }
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, inlineRefs: false, code: { optimize: false } })
formats.default(ajv)
ajv.addSchema({ $id: 'api', ...document })

/** As a strict client reads the document: an object has the members that are described, and no others. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(Object.entries(node).map(([key, member]) => [key, key === 'example' ? member : closed(member)]))
  return 'properties' in copy && copy['type'] === 'object' && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy
}

const step = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))

function find(place: readonly string[]): { place: readonly string[]; answer: DescribedAnswer | undefined } {
  const answer = place.reduce<unknown>((node, name) => (node as Json | undefined)?.[name], document) as DescribedAnswer | undefined
  return answer?.$ref === undefined ? { place, answer } : find(answer.$ref.split('/').slice(1))
}

/** Everything in an answer that the document does not describe, read strictly; also a header for comparing that it promises in vain. */
function documentComplaints(route: Pick<Route<Services>, 'method' | 'path'>, { status, headers, text }: Answered): string[] {
  const { place, answer } = find(['paths', describedPath(route.path), route.method.toLowerCase(), 'responses', String(status)])
  if (answer === undefined) return [`${status} is not described`]
  const complaints: string[] = []
  const promised = answer.headers?.['ETag'] !== undefined
  if (promised !== headers.has('etag')) complaints.push(promised ? 'promises an ETag and has none' : 'has an ETag that is not described')
  const given = headers.get('content-type')
  if (given === null || status === 204 || status === 304) return complaints
  const types = Object.keys(answer.content ?? {})
  const type = types.find((one) => one === given || one === given.split(';')[0] || one === '*/*')
  if (type === undefined) return [...complaints, `${given} is not described, only ${types.join(', ')}`]
  if (answer.content?.[type]?.schema === undefined) return [...complaints, `${type} has no schema`]
  if (!/^application\/([a-z.+-]+\+)?json$/.test(type) || route.path === '/api/openapi.json') return complaints
  const validate = ajv.compile({ $ref: `api#/${[...place, 'content', type, 'schema'].map(step).join('/')}` })
  validate(JSON.parse(text))
  const errors = (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
  return [...complaints, ...errors.slice(0, 10)]
}

/** If it is a GET that ends, the same once more: in full, while a copy is current, and a part of it. Each is possible exactly where the document says so. */
async function complaintsOfGet(route: Route<Services>, address: string, asked: RequestInit): Promise<string[]> {
  if (route.method !== 'GET' || (route.kind === 'stream' && route.mediaTypes.includes('text/event-stream'))) return []
  const statuses = Object.keys(document.paths[describedPath(route.path)]?.['get']?.['responses'] as Json)
  const again = (more: Record<string, string>, at = address) =>
    fetch(at, { ...asked, headers: { ...(asked.headers as Record<string, string>), ...more } })
  const complaints: string[] = []
  if ('full' in ((route.query as { properties?: object } | undefined)?.properties ?? {})) {
    const full = await again({}, `${address}${address.includes('?') ? '&' : '?'}full=true`)
    const answered = { status: full.status, headers: full.headers, text: await full.text() }
    complaints.push(...documentComplaints(route, answered).map((complaint) => `in full: ${complaint}`))
  }
  for (const [header, value, status] of [
    ['if-none-match', '*', '304'],
    ['range', 'bytes=0-0', '206'],
  ] as const) {
    const answer = await again({ [header]: value })
    await answer.arrayBuffer()
    if ((String(answer.status) === status) !== statuses.includes(status)) complaints.push(`with ${header}: ${answer.status}`)
  }
  return complaints
}

/** What a strict reader of the document complains about in an answer, and in further answers to the same request. Routes that are not described have none. */
export async function complaintsOfReader(
  route: Route<Services>,
  { answer, text, asked }: { answer: Response; text: string; asked: RequestInit },
): Promise<string[]> {
  if (!isDescribed(route)) return []
  const { status, headers, url } = answer
  return [...documentComplaints(route, { status, headers, text }), ...(await complaintsOfGet(route, url, asked))]
}
