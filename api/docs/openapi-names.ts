import type { Route } from '#api/http/endpoint.ts'

/** Addresses whose operation names have a prefix; all other names begin with the verb. */
const FAMILIES: readonly (readonly [path: RegExp, name: string])[] = [
  [/^\/opds\/v2(?=\/|$)/, 'opds2'],
  [/^\/opds(\/v1(\/catalog(?=\/))?)?(?=\/|$)/, 'opds'],
  [/^\/koreader(?=\/|$)/, 'koreader'],
  [/^\/(?::\w+|komga)\/(?:api|sse)\/v1(?=\/|$)/, 'komga'],
  [/^\/(?::\w+|komga)\/(?:api|sse)\/v2(?=\/|$)/, 'komga2'],
  [/^\/(?::\w+|komga)(?=\/|$)/, 'komga'],
  [/^\/api(\/v1)?(?=\/|$)/, ''],
]

/** First parts of an address that are not part of the noun. */
const PLACES = new Set(['admin', 'auth'])

/** Last parts of an address that are actions, and their words in names. */
const ACTIONS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...[
        'analyze',
        'apply',
        'browse',
        'cancel',
        'claim',
        'create',
        'disable',
        'dismiss',
        'download',
        'enable',
        'evaluate',
        'execute',
        'generate',
      ],
      ...[
        'import',
        'initialize',
        'install',
        'login',
        'logout',
        'preview',
        'purge',
        'refresh',
        'register',
        'render',
        'renumber',
        'reprocess',
      ],
      ...['reset', 'retry', 'scan', 'search', 'select', 'start', 'sync', 'test', 'undo', 'unlock', 'validate'],
    ].map((word) => [word, word]),
  ),
  'analyze-unanalyzed': 'analyzeUnanalyzedBooksOf',
  'auto-match': 'autoMatch',
  cleanup: 'cleanUp',
  consent: 'consentTo',
  'dry-run': 'dryRun',
  list: 'filter',
  'purge-deleted': 'purgeDeletedBooksOf',
  'retry-all-errors': 'retryAllErrorsOf',
  rollback: 'rollBack',
  'run-now': 'run',
}
/** For methods other than POST, only these last parts are actions; others are nouns. */
const ACTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  GET: ['browse', 'download', 'search'],
  PUT: ['select'],
  DELETE: ['purge', 'purge-deleted'],
  PATCH: [],
}

/** Parts that select from a list. */
const CHOICE = /^(in-progress|on-?deck|recently-\w+|active|available|latest|new|public|updated)$/
/** Records with a list of their own are added to and removed from others; everything else is created and deleted there. */
const INDEPENDENT = new Set(['books', 'collections', 'genres', 'read-lists', 'readlists', 'series', 'sharing-tags', 'tags'])
/** Singular although they end with s. */
const SINGULAR = /(status|progress|stats|metrics|locks|previous|ss)$/i
/** First parts that follow the second part in the name: `/metrics/tasks` is `TaskMetrics`. */
const ABOUT_NEXT = new Set(['metrics', 'exports'])

/** Names of routes for which the rule gives a bad one. */
const NAMES: Readonly<Record<string, string>> = {
  'DELETE /:prefix/api/v1/tasks': 'komgaCancelAllTasks',
  'DELETE /api/v1/admin/cleanup-orphans': 'cleanUpOrphansNow',
  'DELETE /api/v1/admin/pdf-cache': 'emptyPdfCache',
  'DELETE /api/v1/books/:bookId/covers/selected': 'unselectBookCover',
  'DELETE /api/v1/series/:seriesId/covers/selected': 'unselectSeriesCover',
  'DELETE /api/v1/series/:seriesId/metadata': 'resetSeriesMetadata',
  'DELETE /api/v1/tasks/nuke': 'cancelAllTasks',
  'DELETE /api/v1/user/want-to-read/:seriesId': 'removeFromMyWantToRead',
  'GET /:prefix/api/v1/books/:bookId/thumbnails/:coverId': 'komgaGetBookThumbnailImage',
  'GET /:prefix/api/v1/series/:seriesId/thumbnails/:coverId': 'komgaGetSeriesThumbnailImage',
  'GET /:prefix/api/v1/collections/:collectionId/thumbnails/:coverId': 'komgaGetCollectionThumbnailImage',
  'GET /:prefix/api/v1/readlists/:readListId/thumbnails/:coverId': 'komgaGetReadlistThumbnailImage',
  'GET /:prefix/actuator/metrics': 'komgaListMetrics',
  'GET /:prefix/actuator/metrics/:name': 'komgaGetMetric',
  'GET /:prefix/api/v1/settings': 'komgaGetSettings',
  'GET /': 'getStartPage',
  'GET /api/docs': 'getDocs',
  'GET /api/docs/start.js': 'getDocsStart',
  'GET /api/docs/swagger-ui-bundle.js': 'getDocsScript',
  'GET /api/docs/swagger-ui.css': 'getDocsStyle',
  'GET /api/openapi.json': 'getOpenApi',
  'GET /api/v1/admin/cleanup-orphans/stats': 'getOrphanStats',
  'GET /api/v1/admin/plugin-repositories/available': 'listAvailablePlugins',
  'GET /api/v1/admin/plugin-storage': 'listPluginStorage',
  'GET /api/v1/auth/me': 'getMe',
  'GET /api/v1/books/:bookId/adjacent': 'getAdjacentBooks',
  'GET /api/v1/events': 'streamEvents',
  'GET /api/v1/events/stream': 'streamEventBlocks',
  'GET /api/v1/library-jobs/metadata-refresh/field-groups': 'listLibraryJobFieldGroups',
  'GET /api/v1/metrics/inventory': 'getInventory',
  'GET /api/v1/progress': 'listMyProgress',
  'GET /api/v1/settings/branding': 'getBranding',
  'GET /api/v1/user': 'getMyUser',
  'GET /api/v1/user/plugins/oauth/callback': 'finishMyPluginOauth',
  'GET /api/v1/user/want-to-read': 'listMyWantToRead',
  'GET /opds': 'opdsGetRoot',
  'GET /opds/v2': 'opds2GetCatalog',
  'PATCH /:prefix/api/v1/books/metadata': 'komgaBulkPatchBookMetadata',
  'POST /:prefix/api/v1/filesystem': 'komgaBrowseFilesystem',
  'POST /:prefix/api/v1/libraries/:libraryId/empty-trash': 'komgaPurgeDeletedBooksOfLibrary',
  'POST /api/v1/admin/cleanup-orphans': 'cleanUpOrphans',
  'POST /api/v1/admin/plugin-repositories/:repositoryId/install': 'installPluginOfRepository',
  'POST /api/v1/admin/plugins': 'installPlugin',
  'POST /api/v1/admin/settings/bulk': 'bulkPutSettings',
  'POST /api/v1/auth/refresh': 'refreshTokens',
  'POST /api/v1/books/:bookId/analyze-unanalyzed': 'analyzeUnanalyzedBook',
  'POST /api/v1/conditions/evaluate': 'evaluateCondition',
  'POST /api/v1/libraries/preview-scan': 'previewLibraryScan',
  'POST /api/v1/read-lists/:readListId/books': 'addReadListBooks',
  'POST /api/v1/read-lists/import': 'importReadList',
  'POST /api/v1/series/bulk/thumbnails/books/generate': 'bulkGenerateSeriesBookThumbnails',
  'POST /api/v1/series/list/alphabetical-groups': 'listSeriesAlphabeticalGroups',
  'POST /api/v1/templates/render': 'renderTemplate',
  'POST /api/v1/templates/validate': 'validateTemplate',
  'POST /api/v1/user/plugins/:pluginId/credentials': 'putMyPluginCredentials',
  'PUT /:prefix/api/v1/books/:bookId/thumbnails/:coverId/selected': 'komgaSelectBookThumbnail',
  'PUT /:prefix/api/v1/series/:seriesId/thumbnails/:coverId/selected': 'komgaSelectSeriesThumbnail',
  'PUT /api/v1/user/want-to-read/:seriesId': 'addToMyWantToRead',
}

/**
 * The operationId of a route: verb and noun, such as `listBooks`, `getBook`, `patchBookMetadata`, `scanLibrary`. A noun before an id is in
 * the singular; records of the caller have `My`; feeds and foreign protocols have a prefix.
 */
export function operationName(
  route: Pick<Route<never>, 'method' | 'path' | 'kind'> & { upload?: unknown; mediaTypes?: readonly string[] },
): string {
  const given = NAMES[`${route.method} ${route.path}`]
  if (given !== undefined) return given
  const [prefix, family] = findFamily(route.path)
  const parts = reorder(
    route.path
      .replace(prefix, '')
      .split('/')
      .filter((part) => part !== '')
      .filter((part, index) => index > 0 || !PLACES.has(part)),
  )
  const name = nameOf(route, parts)
  return family === '' ? name : family + capital(name)
}

const findFamily = (path: string) => FAMILIES.find(([beginning]) => beginning.test(path)) ?? ([/^/, ''] as const)

function nameOf(route: Parameters<typeof operationName>[0], parts: readonly string[]): string {
  const isEvents = route.mediaTypes?.includes('text/event-stream') === true
  const words = isEvents ? parts.filter((part, index) => index === 0 || !['stream', 'live'].includes(part)) : parts
  const last = words.at(-1) ?? ''
  const isAction = route.method === 'POST' ? last in ACTIONS : (ACTIONS_OF[route.method] ?? []).includes(last)
  const isMark = route.method === 'POST' && (last === 'read' || last === 'unread')
  const { nouns, isBulk, choice } = nounsOf(isAction || isMark ? words.slice(0, -1) : words)
  const about = (singular: boolean) => phrase(nouns, singular, choice)
  const bulk = (name: string) => (isBulk ? `bulk${capital(name)}` : name)
  if (isMark) return bulk(`mark${about(false)}${capital(last)}`)
  if (isAction) return bulk(ACTIONS[last] + about(false))
  if (isEvents) return `stream${about(false)}`
  const lastNoun = nouns.at(-1)
  const isOfList = lastNoun !== undefined && !lastNoun.isOne && isPlural(lastNoun.word)
  if (route.method === 'GET') return (isOfList ? 'list' : 'get') + about(false)
  const isMember = nouns.length > 1 && INDEPENDENT.has(lastNoun?.word ?? '')
  if (route.method === 'DELETE') return (isMember ? 'remove' : 'delete') + about(false)
  if (route.method !== 'POST') return bulk(route.method.toLowerCase() + about(false))
  if (isBulk && isMember) return `bulkChange${about(false)}`
  return bulk((route.upload ? 'upload' : isMember ? 'add' : 'create') + about(true))
}

interface Noun {
  word: string
  /** An id follows. */
  isOne: boolean
}

function nounsOf(parts: readonly string[]): { nouns: Noun[]; isBulk: boolean; choice: string } {
  const nouns: Noun[] = []
  let choice = ''
  for (const part of parts) {
    const before = nouns.at(-1)
    if (part.startsWith(':') || part === '*') {
      if (before) before.isOne = true
    } else if (CHOICE.test(part) && before) choice = camel(part)
    else if (part !== 'bulk') nouns.push({ word: part, isOne: false })
  }
  return { nouns, isBulk: parts.includes('bulk'), choice }
}

/** Joins the nouns to one word: all but the last in the singular, and the last too if it is one record. */
function phrase(nouns: readonly Noun[], singular: boolean, choice: string): string {
  const words = nouns.map(({ word, isOne }, index) => {
    if (word === 'user' && index === 0) return 'My'
    return camel(index < nouns.length - 1 || isOne || singular ? singularOf(word) : word)
  })
  return choice + words.join('')
}

function reorder(parts: readonly string[]): string[] {
  const at = parts.findIndex((part, index) => ABOUT_NEXT.has(part) && parts[index + 1] !== undefined && !parts[index + 1]?.startsWith(':'))
  if (at === -1) return [...parts]
  return [...parts.slice(0, at), `${singularOf(parts[at + 1] as string)}-${parts[at]}`, ...parts.slice(at + 2)]
}

const isPlural = (word: string): boolean => word.endsWith('s') && !SINGULAR.test(word)

function singularOf(word: string): string {
  if (word === 'series' || !isPlural(word)) return word
  return word.endsWith('ies') && !word.endsWith('series') ? `${word.slice(0, -3)}y` : word.endsWith('series') ? word : word.slice(0, -1)
}

const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)
const camel = (word: string): string =>
  word
    .split(/[^A-Za-z0-9]+/)
    .map(capital)
    .join('')
