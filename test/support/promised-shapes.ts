import { findContract } from '#test/support/contract.ts'
import { findInterfaceReference, type InterfaceReference, nameOfRoute } from '#test/support/interface-reference.ts'

/** Shapes of the wire contract by what the interface reference calls them. */
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

/** Shapes of the wire contract of routes that the interface reference does not know. */
const CONTRACT_OF_ROUTE: Record<string, string> = {
  'GET /api/v1/books/{}/metadata': 'BookMetadata',
  'GET /api/v1/books/{}/context': 'BookContext',
  'GET /api/v1/series/{}/context': 'SeriesContext',
}

/** Where the reference names one shape for every list, and the list is of something else. */
export const LISTS_OF_SERIES = new Set(['GET /api/v1/series', 'POST /api/v1/series/list', 'GET /api/v1/libraries/{}/series'])

/** Routes whose answers differ from the reference, with why that is so. */
const OTHERWISE: Record<string, string> = {
  'POST /api/v1/series/{}/analyze': 'each book is a task of its own, so no one task can be named: it counts them, as the bulk routes do',
  'POST /api/v1/series/{}/analyze-unanalyzed': 'as above',
  'GET /api/v1/admin/plugins':
    'plugins run in isolates: what they ask for and were granted stands in place of a command and its environment',
  'POST /api/v1/admin/plugins': 'as above',
  'GET /api/v1/admin/plugins/{}': 'as above',
  'PATCH /api/v1/admin/plugins/{}': 'as above',
  'POST /api/v1/admin/plugins/{}/enable': 'as above',
  'POST /api/v1/admin/plugins/{}/disable': 'as above',
  'POST /api/v1/admin/plugins/{}/reset': 'as above',
}

/** Routes that neither the reference nor the contract knows: only our own schema says what they answer. */
const OWN: RegExp[] = [
  // The interface of Komga.
  / \/\{\}\/(api|actuator)\//,
  /^POST \/api\/v1\/auth\/refresh$/,
  /^PUT \/api\/v1\/user\/password$/,
  /^GET \/api\/v1\/setup\/settings$/,
  // They belong to what is not here.
  /^GET \/api\/v1\/(release-sources\/applicability|auth\/oidc\/providers)$/,
  /\/(progression|manifest|positions)$/,
  / \/koreader\//,
  / \/api\/v1\/user\/want-to-read/,
  / \/api\/v1\/user\/exports\/series/,
  / \/api\/v1\/(collections|read-lists)(\/|$)/,
  /\/(series\/\{\}\/collections|books\/\{\}\/read-lists)$/,
  /\/sharing-tags(\/|$)/,
  / \/api\/v1\/(templates|conditions)\//,
  / \/api\/v1\/admin\/(plugin-repositories|bundled-plugins)(\/|$)/,
  /\/admin\/plugins\/\{\}\/rollback$/,
  // The reference matches series only.
  /\/books\/(\{\}\/)?metadata\/(search-title|preview|apply|auto-match)(\/|$)/,
  /\/metadata\/applications(\/|$)/,
  /\/(libraries\/\{\}\/jobs(\/|$)|library-jobs\/)/,
  /\/admin\/plugins\/\{\}\/(logs|calls)(\/|$)/,
  /\/admin\/plugins\/\{\}\/(consent|versions)$/,
  / \/api\/v1\/metrics\/server$/,
  / \/api\/openapi\.json$/,
  / \/api\/docs(\/|$)/,
  /^GET \/$/,
]

/** What somebody else than we has promised of the answer of a route. */
export type Promised =
  /** A type of the reference, or the name of a shape of the contract, or both. Neither: nothing is said of the body. */
  { by: 'others'; type: string | null; contract: string | null } | { by: 'us'; why: string } | { by: 'nobody' }

/** @param path as the route declares it, with its parameters */
export function findPromise(method: string, path: string, reference: InterfaceReference): Promised {
  const name = nameOfRoute(method, path)
  const why = OTHERWISE[name]
  if (why) return { by: 'us', why }
  const type = reference.answers.get(name)
  if (LISTS_OF_SERIES.has(name)) return { by: 'others', type: type ?? null, contract: 'Paginated' }
  if (type !== undefined) return { by: 'others', type: type || null, contract: CONTRACT_OF_TYPE[type] ?? null }
  const contract = CONTRACT_OF_ROUTE[name]
  if (contract) return { by: 'others', type: null, contract }
  return OWN.some((pattern) => pattern.test(name)) ? { by: 'us', why: 'neither reference nor contract knows it' } : { by: 'nobody' }
}

/** Names of routes in the tables above, so that none is left behind when its route goes. */
export const routesOfTables = () => [...Object.keys(CONTRACT_OF_ROUTE), ...LISTS_OF_SERIES, ...Object.keys(OTHERWISE)]
export const patternsOfOwn = (): readonly RegExp[] => OWN

/**
 * What is wrong with a good answer by what others have promised of it; nothing where they are silent.
 * @param path as the route declares it
 * @param full whether the long form was asked for, which has a shape of its own
 */
export function promiseComplaints(answer: { method: string; path: string; full: boolean; json: unknown }): string[] {
  const reference = findInterfaceReference()
  const promised = findPromise(answer.method, answer.path, reference)
  if (promised.by !== 'others') return []
  const { type, contract } = promised
  const ofContract = contract && !answer.full ? findContract(contract)(answer.json).map((said) => `${said} (contract ${contract})`) : []
  if (!type || answer.full) return ofContract
  const entries = (answer.json as { data?: unknown } | null)?.data
  const isListOfSeries = LISTS_OF_SERIES.has(nameOfRoute(answer.method, answer.path))
  return [...ofContract, ...(isListOfSeries ? reference.check('SeriesDto[]', entries) : reference.check(type, answer.json))]
}
