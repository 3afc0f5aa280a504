import { findContract } from '#test/support/contract.ts'
import { findInterfaceReference, type InterfaceReference, nameOfRoute } from '#test/support/interface-reference.ts'

/** Shapes of the wire contract by their names in the API reference. */
const CONTRACT_OF_TYPE: Record<string, string> = {
  BookMetadataLocks: 'BookMetadataLocks',
  BookMetadataResponse: 'BookMetadata',
  BooksWithErrorsResponse: 'BooksWithErrors',
  PaginatedResponse: 'PaginatedBooks',
  PaginatedResponse_ApiKeyDto: 'Paginated',
  PaginatedResponse_GenreDto: 'Paginated',
  PaginatedResponse_LibraryDto: 'Paginated',
  PaginatedResponse_TagDto: 'Paginated',
  PaginatedResponse_UserDto: 'Paginated',
}

/** Shapes of the wire contract for routes that are not in the API reference. */
const CONTRACT_OF_ROUTE: Record<string, string> = {
  'GET /api/v1/books/{}/metadata': 'BookMetadata',
  'GET /api/v1/books/{}/context': 'BookContext',
  'GET /api/v1/series/{}/context': 'SeriesContext',
}

/** Routes whose list has other entries than the one shape that the reference names for every list. */
export const LISTS_OF_SERIES = new Set(['GET /api/v1/series', 'POST /api/v1/series/list', 'GET /api/v1/libraries/{}/series'])

/** Routes that sign in. With a cookie they return no tokens, which the reference requires. */
const SIGN_INS = new Set(['POST /api/v1/auth/login', 'POST /api/v1/auth/register', 'POST /api/v1/setup/initialize'])

/** Routes whose responses differ from the reference, with the reasons. */
const OTHERWISE: Record<string, string> = {
  'POST /api/v1/series/{}/analyze':
    'each book is a separate task, so the response counts tasks instead of naming one, as the bulk routes do',
  'POST /api/v1/series/{}/analyze-unanalyzed': 'as above',
  'GET /api/v1/admin/plugins': 'plugins run in isolates: requested and granted permissions replace a command and its environment',
  'POST /api/v1/admin/plugins': 'as above',
  'GET /api/v1/admin/plugins/{}': 'as above',
  'PATCH /api/v1/admin/plugins/{}': 'as above',
  'POST /api/v1/admin/plugins/{}/enable': 'as above',
  'POST /api/v1/admin/plugins/{}/disable': 'as above',
  'POST /api/v1/admin/plugins/{}/reset': 'as above',
}

/** Routes in neither the reference nor the contract: only the server's own schema defines their responses. */
const OWN: RegExp[] = [
  // The Komga API.
  / \/\{\}\/(api|actuator)\//,
  /^POST \/api\/v1\/auth\/refresh$/,
  / \/api\/v1\/auth\/sessions(\/|$)/,
  /^PUT \/api\/v1\/user\/password$/,
  /^GET \/api\/v1\/setup\/settings$/,
  // They report features that Carrel does not have.
  /^GET \/api\/v1\/(release-sources\/applicability|auth\/oidc\/providers)$/,
  /\/(progression|manifest|positions)$/,
  / \/koreader\//,
  / \/api\/v1\/user\/(want-to-read|readings)/,
  /\/books\/\{\}\/annotations(\/|$)/,
  /^POST \/api\/v1\/books\/list\/alphabetical-groups$/,
  /^GET \/api\/v1\/(search|filter-values)$/,
  /^POST \/api\/v1\/(series\/\{\}\/scan|books\/bulk\/purge-deleted|books\/\{\}\/accept-content|libraries\/\{\}\/verify)$/,
  / \/api\/v1\/user\/exports\/series/,
  / \/api\/v1\/(collections|read-lists)(\/|$)/,
  /\/(series\/\{\}\/collections|books\/\{\}\/read-lists)$/,
  /\/sharing-tags(\/|$)/,
  / \/api\/v1\/users\/\{\}\/(access|visible)$/,
  / \/api\/v1\/(templates|conditions)\//,
  / \/api\/v1\/admin\/(plugin-repositories|bundled-plugins)(\/|$)/,
  /\/admin\/plugins\/\{\}\/rollback$/,
  // The reference matches series only.
  /\/books\/(\{\}\/)?metadata\/(search-title|preview|apply|auto-match)(\/|$)/,
  /\/metadata\/applications(\/|$)/,
  /\/(libraries\/\{\}\/jobs(\/|$)|library-jobs\/)/,
  /\/admin\/plugins\/\{\}\/(logs|calls)(\/|$)/,
  /\/admin\/plugins\/\{\}\/(consent|review|versions)$/,
  / \/api\/v1\/auth\/change-password$/,
  /^GET \/api\/v1\/(users\/\{\}\/progress|authors|publishers|languages)$/,
  / \/api\/v1\/metrics\/server$/,
  / \/api\/openapi\.json$/,
  / \/api\/docs(\/|$)/,
  /^GET \/$/,
]

/** The requirements of the reference or the contract for the response of a route. */
export type ExpectedShape =
  /** A type of the reference, the name of a shape of the contract, or both. Neither: the body is unspecified. */
  { by: 'others'; type: string | null; contract: string | null } | { by: 'us'; why: string } | { by: 'nobody' }

/** @param path as the route declares it, with its parameters */
export function findExpectedShape(method: string, path: string, reference: InterfaceReference): ExpectedShape {
  const name = nameOfRoute(method, path)
  const why = OTHERWISE[name]
  if (why) return { by: 'us', why }
  const type = reference.answers.get(name)
  if (LISTS_OF_SERIES.has(name)) return { by: 'others', type: type ?? null, contract: 'Paginated' }
  if (type !== undefined) return { by: 'others', type: type || null, contract: CONTRACT_OF_TYPE[type] ?? null }
  const contract = CONTRACT_OF_ROUTE[name]
  if (contract) return { by: 'others', type: null, contract }
  return OWN.some((pattern) => pattern.test(name)) ? { by: 'us', why: 'it is in neither the reference nor the contract' } : { by: 'nobody' }
}

/** The names of routes in the tables above, to check that each route still exists. */
export const routesOfTables = () => [...Object.keys(CONTRACT_OF_ROUTE), ...LISTS_OF_SERIES, ...Object.keys(OTHERWISE)]
export const patternsOfOwn = (): readonly RegExp[] => OWN

/**
 * The problems of a successful response by the reference and the contract; none when it is in neither.
 * @param path as the route declares it
 * @param full whether the request wants the full form, which has its own shape
 */
export function shapeComplaints(answer: { method: string; path: string; full: boolean; json: unknown }): string[] {
  const reference = findInterfaceReference()
  const promised = findExpectedShape(answer.method, answer.path, reference)
  if (promised.by !== 'others') return []
  const { type, contract } = promised
  const ofContract = contract && !answer.full ? findContract(contract)(answer.json).map((said) => `${said} (contract ${contract})`) : []
  const isCookie = SIGN_INS.has(nameOfRoute(answer.method, answer.path)) && !('accessToken' in Object(answer.json))
  // A page of tasks is for those who ask for it, which no other client does.
  const isPage = nameOfRoute(answer.method, answer.path) === 'GET /api/v1/tasks' && 'data' in Object(answer.json)
  if (!type || answer.full || isCookie || isPage) return ofContract
  const entries = (answer.json as { data?: unknown } | null)?.data
  const isListOfSeries = LISTS_OF_SERIES.has(nameOfRoute(answer.method, answer.path))
  return [...ofContract, ...(isListOfSeries ? reference.check('SeriesDto[]', entries) : reference.check(type, answer.json))]
}
