import { randomUUID } from 'node:crypto'
import type { Endpoint, Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { ATTACKS, DEEP, HOSTILE_FORMS } from '#bench/stall/attacks.ts'
import { BODIES } from '#bench/stall/bodies.ts'
import { largePackage, largePictures, largeReadingList } from '#bench/stall/files.ts'
import type { Fixtures } from '#bench/stall/fixtures.ts'
import { type Input, jsonOf, send } from '#bench/stall/input.ts'
import { largestOf } from '#bench/stall/largest.ts'
import { VALID } from '#bench/stall/library.ts'
import { ANSWERS, largeConfig } from '#bench/stall/plugin.ts'
import { PREPARATIONS, REFUSALS } from '#bench/stall/preparations.ts'
import { NAMES } from '#bench/stall/texts.ts'
import { TOKEN_LENGTH_MAX } from '#plugins/host/picture-token.ts'

export type { Fixtures } from '#bench/stall/fixtures.ts'
export type { Input } from '#bench/stall/input.ts'

type Known = Record<string, unknown>

const BODY_BYTES_MAX = 1_048_576
/** The share of a body that values fill; the rest is JSON around them. */
const BODY_SHARE = 0.75
const QUERY_ROOM = 6_000
/** Deletes records that the other inputs need. */
const LAST = ['DELETE /api/v1/user/plugins/:pluginId', 'DELETE /api/v1/admin/plugins/:pluginId', 'DELETE /api/v1/libraries/:libraryId']

/** Deletions come last, those of parts before those of the whole. */
export function inOrder(inputs: readonly Input[]): Input[] {
  const rank = ({ method, route }: Input) => (method === 'DELETE' ? 100 - route.split('/').length + 100 * (LAST.indexOf(route) + 1) : 0)
  return [...inputs].sort((a, b) => rank(a) - rank(b))
}

/** Every input of a route. @returns the reason if there is none */
export function inputsOf(route: Route<Services>, ids: Fixtures): Input[] | { unknown: string } {
  const key = `${route.method} ${route.path}`
  const known = knownOf(route, ids)
  const missing = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name).filter((name) => known[name] === undefined)
  if (missing.length > 0) return { unknown: `no value for ${missing.join(', ')}` }
  const path = route.path.replace(/:(\w+)\*?/g, (_, name: string) => encodeURIComponent(String(known[name])))
  const query = queryOf(route, known)
  const reason = REFUSALS[key]
  const prepare = PREPARATIONS[key]
  const at = {
    ...{ route: key, method: route.method, path: query === '' ? path : `${path}?${query}`, headers: {} },
    ...(reason !== undefined && { mayBeRefused: reason }),
  }
  const { body, upload, bodyBytesMax = BODY_BYTES_MAX } = route as Endpoint<Services>
  if (upload) return uploadsOf(at, bodyBytesMax, ids)
  if (!body) return [{ ...at, what: 'largest answer', prepare: async (server) => await prepare?.(server, ids) }]
  const makeBodies = () => BODIES[key]?.(ids) ?? { 'largest body': largestBody(route, body, bodyBytesMax, known) }
  const inputs: Input[] = Object.entries(makeBodies()).map(([what, value]) => ({
    ...{ ...at, ...jsonOf(value), what },
    ...(REFUSALS[`${key} (${what})`] !== undefined && { mayBeRefused: REFUSALS[`${key} (${what})`] as string }),
    prepare: async (server) => {
      const prepared = await prepare?.(server, ids)
      return { ...jsonOf(makeBodies()[what]), ...prepared }
    },
  }))
  for (const [what, value] of Object.entries(ATTACKS[key] ?? {})) inputs.push({ ...at, ...jsonOf(value), what, mayBeRefused: 'an attack' })
  return [...inputs, { ...at, ...jsonOf(null), what: 'deep body', body: DEEP(bodyBytesMax), mayBeRefused: 'an attack' }]
}

function largestBody(route: Route<Services>, body: object, bytesMax: number, known: Known): unknown {
  const value = largestOf(body, 'body', bytesMax * BODY_SHARE, known as never) as Known
  // Another record has this name already.
  const isRenamed = (name: string) => route.method === 'PATCH' && name === 'name' && typeof value[name] === 'string'
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, isRenamed(name) ? `P${String(member).slice(1)}` : member]))
}

/** Every answer of the plugin, for each of its methods. */
export function pluginInputs({ pluginId }: Fixtures): Input[] {
  const headers = { 'content-type': 'application/json' }
  const reset = `/api/v1/admin/plugins/${pluginId}/reset`
  // Refusing an invalid answer takes time too.
  const mayBeRefused = (what: string) => (what === 'largest' ? {} : { mayBeRefused: 'an attack' })
  const calls = (['series', 'book'] as const).flatMap((contentType) =>
    (['search', 'get', 'match'] as const).flatMap((action) =>
      ANSWERS.map((what): Input => {
        const params = { query: what, externalId: what, title: what }
        return {
          ...{ route: `plugin metadata.${contentType}.${action}`, what, method: 'POST', path: `/api/v1/plugins/${pluginId}/execute` },
          ...{ headers, body: JSON.stringify({ action: { metadata: { action, contentType, params } } }), ...mayBeRefused(what) },
          // After failures, the plugin would not be called for a while.
          prepare: async (server) => void (await send(server, 'POST', reset)) as undefined,
        }
      }),
    ),
  )
  const recommendations = [...ANSWERS.slice(1), 'largest'].map((what): Input => {
    return {
      ...{ route: 'plugin recommendations.get', what, method: 'POST', path: `/api/v1/user/recommendations/refresh?pluginId=${pluginId}` },
      ...{ headers: {}, ...mayBeRefused(what) },
      prepare: async (server) => {
        await send(server, 'POST', reset)
        await send(server, 'PATCH', `/api/v1/user/plugins/${pluginId}/config`, { config: largeConfig(what) })
        return undefined
      },
    }
  })
  return [...calls, ...recommendations]
}

/** Values of parameters whose meaning depends on the route. */
function namedOf(route: string, ids: Fixtures): Known {
  const kind = /\/books\/:bookId/.test(route) ? ('book' as const) : ('series' as const)
  return {
    ...{ tagId: /sharing-tags/.test(route) ? ids.sharingTagIds[0] : ids.tagId, genreId: ids.genreId },
    ...{ coverId: ids.coverIds[kind], externalIdId: ids.externalIdIds[kind] },
    name: /bundled/.test(route) ? 'open-library' : /plugin-storage/.test(route) ? 'org.example.large' : undefined,
    externalId: /recommendations/.test(route) ? ids.recommendedId : /metadata\/(preview|apply)/.test(route) ? 'largest' : 'x',
    page: /books\/errors/.test(route) ? 0 : 1,
    // Page streaming counts from 0.
    pageNumber: / \/opds\//.test(route) ? 0 : 1,
    sha256: 'a'.repeat(64),
    // A word that every title has.
    query: / \/opds\//.test(route) ? 'vital' : 'largest',
    // The values that take longest to count; only people have roles.
    ...(/filter-values/.test(route) && { field: 'person', of: 'books', role: 'writer', search: '' }),
    ...(/GET .*\/tasks$/.test(route) && { from: '2000-01-01T00:00:00Z', until: '2100-01-01T00:00:00Z' }),
    ...(/metrics\/:name$/.test(route) && { name: 'komga.series' }),
    ...(/pictures\/:token$/.test(route) && { token: 'a'.repeat(TOKEN_LENGTH_MAX) }),
    // These routes need the book with the damaged file.
    bookId: /\/(retry|analyze-unanalyzed)$/.test(route) ? ids.brokenBookId : /\/previous$/.test(route) ? ids.bookIds[1] : ids.bookIds[0],
    key: /PUT|reset|history/.test(route) ? 'display.custom_metadata_template' : 'application.name',
  }
}

function knownOf(route: Route<Services>, ids: Fixtures): Known {
  const isLock = /\/locks$/.test(route.path)
  return {
    prefix: 'komga',
    ...{ source: 'mal', page: 1, pageSize: 500, full: true, format: 'webp', convert: 'png', width: 2000, currentPage: 1 },
    released_after: '1900-01-01',
    // As many as allowed.
    ...(isLock ? {} : { tags: NAMES, genres: NAMES, add: NAMES, remove: NAMES, ...VALID }),
    ...{ collectionId: ids.collectionId, readListId: ids.readListId, libraryId: ids.libraryId, seriesId: ids.seriesIds[0] },
    ...{ pluginId: ids.pluginId, userId: ids.userId, apiKeyId: ids.apiKeyId, jobId: ids.jobId, exportId: ids.exportId },
    ...{ taskId: ids.taskId, titleId: ids.titleId, repositoryId: ids.repositoryId, callId: ids.callId },
    ...{ resourcePath: 'OPS/c1.xhtml', document: 'a'.repeat(32) },
    // Prepared before each run.
    ...{ sessionId: randomUUID(), applicationId: randomUUID(), annotationId: randomUUID(), readingId: randomUUID() },
    duplicateId: randomUUID(),
    ...{ bookIds: ids.bookIds, seriesIds: ids.seriesIds },
    ...namedOf(`${route.method} ${route.path}`, ids),
  }
}

function queryOf(route: Route<Services>, known: Known): string {
  const properties = (route.query as { properties?: Record<string, object> } | undefined)?.properties ?? {}
  const query = new URLSearchParams()
  for (const [name, shape] of Object.entries(properties)) {
    // A filter would make the response smaller.
    if (
      /^(libraryId|seriesId|bookId|userId|readStatus|genre|publisher|sort|search|q|cursor|errorType|status|level|after|offset|taskType|category|type|role|path|sharingTag\w*)$/.test(
        name,
      ) &&
      !/required/.test(JSON.stringify(route.query))
    )
      continue
    const value = largestOf(shape, name, QUERY_ROOM / Object.keys(properties).length, known as never)
    if (typeof value !== 'object') query.set(name, String(value))
  }
  return query.toString()
}

function uploadsOf(at: Omit<Input, 'what'>, bytesMax: number, ids: Fixtures): Input[] {
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const form = (file: Buffer, head = '') =>
    Buffer.concat([
      Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="x"${head}\r\n\r\n`),
      file,
      Buffer.from('\r\n--b--\r\n'),
    ])
  const hostile = HOSTILE_FORMS(bytesMax).map(({ what, file, head }) => ({
    ...{ ...at, what, headers, body: form(file, head), mayBeRefused: 'an attack' },
  }))
  const valid = (what: string, make: () => Buffer | Promise<Buffer>): Input => ({
    ...{ ...at, what, headers },
    prepare: async () => ({ headers, body: form(await make()) }),
  })
  if (/read-lists/.test(at.route)) return [valid('largest reading list', () => largeReadingList(ids.seriesTitle)), ...hostile]
  if (!/cover/.test(at.route)) {
    let minor = 1
    return [valid('largest package', () => largePackage(`1.${++minor}.0`)), ...hostile]
  }
  return [
    valid('largest PNG', async () => (await largePictures()).PNG),
    valid('largest JPEG', async () => (await largePictures()).JPEG),
    ...hostile,
  ]
}
