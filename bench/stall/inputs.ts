import { randomUUID } from 'node:crypto'
import type { Endpoint, Route } from '#api/http/endpoint.ts'
import type { Services } from '#api/services.ts'
import { largestOf } from '#bench/stall/largest.ts'
import { type PlantedLibrary, VALID } from '#bench/stall/library.ts'
import { ANSWERS } from '#bench/stall/plugin.ts'

/** One request that is measured. */
export interface Input {
  route: string
  /** What is done, where a route has several inputs. */
  what: string
  method: string
  path: string
  headers: Record<string, string>
  body?: string | Buffer
  /** Posted before it, unmeasured. */
  before?: string
}

export interface Ids extends PlantedLibrary {
  pluginId: string
  userId: string
}

const BODY_BYTES_MAX = 1_048_576
/** What may stand around the values in a body. */
const BODY_SHARE = 0.75
const QUERY_ROOM = 6_000
const FILE_BYTES = 2_000_000
/** Names of genres or tags that one request may bring, as long as they may be. */
const NAMES = Array.from({ length: 200 }, (_, index) => `${index} ${'Élan vital – ß 12, '.repeat(5)}`.slice(0, 100))
const marks = (pairs: number) => 'a' + '\u0315\u0300'.repeat(pairs)

/** Bodies that are known to have stopped servers, by route; each in place of a member of the largest body, or of the whole. */
const ATTACKS: Record<string, Record<string, unknown>> = {
  'POST /api/v1/conditions/evaluate': {
    'ambiguous patterns': {
      condition: {
        mode: 'all',
        rules: Array.from({ length: 200 }, () => ({ field: 'title', operator: 'matches', value: `${'(a|a)*'.repeat(60)}$` })),
      },
      context: { title: 'a'.repeat(400_000) },
    },
    marks: {
      condition: { mode: 'all', rules: [{ field: 'title', operator: 'equals', value: marks(400) }] },
      context: { title: marks(60_000) },
    },
  },
  'POST /api/v1/templates/validate': {
    'one long name': { template: `{{${'n'.repeat(60_000)}}}`, kind: 'series' },
    'many names': { template: Array.from({ length: 5_000 }, (_, index) => `{{titel${index}}}`).join(''), kind: 'series' },
  },
  'POST /api/v1/templates/render': {
    'nested blocks': { template: `${'{{#if title}}'.repeat(2_000)}${'{{/if}}'.repeat(2_000)}`, context: {} },
  },
  'POST /api/v1/series/list': {
    'many conditions': {
      condition: { anyOf: Array.from({ length: 200 }, (_, index) => ({ title: { operator: 'contains', value: `e${index}` } })) },
    },
    marks: { condition: { title: { operator: 'contains', value: marks(200) } }, fullTextSearch: marks(240) },
  },
  'POST /api/v1/books/list': {
    'many conditions': {
      condition: { anyOf: Array.from({ length: 200 }, (_, index) => ({ title: { operator: 'contains', value: `e${index}` } })) },
    },
    deep: { condition: JSON.parse(`${'{"not":'.repeat(800)}{"title":{"operator":"is","value":"a"}}${'}'.repeat(800)}`) },
  },
  'POST /api/v1/series/search': { marks: { query: marks(200_000) }, long: { query: 'ab '.repeat(300_000) } },
  'PUT /api/v1/series/:seriesId/tags': { marks: { tags: [marks(200_000)] } },
  'PATCH /api/v1/series/:seriesId/metadata': { marks: { summary: marks(19_000) }, blanks: { summary: `a${' '.repeat(39_000)}b` } },
  'PATCH /api/v1/books/:bookId/metadata': { marks: { summary: marks(19_000) }, blanks: { summary: `a${' '.repeat(39_000)}b` } },
  'PATCH /api/v1/libraries/:libraryId': {
    'title rules': { titleRules: Array.from({ length: 50 }, () => ({ pattern: `${'(a|a)*'.repeat(60)}$`, replacement: '' })) },
    braces: { excludedPatterns: Array.from({ length: 200 }, () => '{a,b}'.repeat(180)) },
  },
}

/** Every input of a route. @returns a reason where there is none */
export function inputsOf(route: Route<Services>, ids: Ids): Input[] | { unknown: string } {
  const key = `${route.method} ${route.path}`
  const known = knownOf(route, ids)
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(known[name] ?? randomUUID())))
  const missing = [...route.path.matchAll(/:(\w+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => known[name] === undefined && !/Id$/.test(name))
  if (missing.length > 0) return { unknown: `no value for ${missing.join(', ')}` }
  const query = queryOf(route, known)
  const at = { route: key, method: route.method, path: query === '' ? path : `${path}?${query}` }
  const { body, upload, bodyBytesMax = BODY_BYTES_MAX } = route as Endpoint<Services>
  if (upload) return uploadsOf(at, bodyBytesMax)
  if (!body) return [{ ...at, what: 'largest answer', headers: {} }]
  const json = (what: string, value: unknown) => ({
    ...at,
    what,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  })
  const bodies = [json('largest body', largestOf(body, 'body', bodyBytesMax * BODY_SHARE, known))]
  for (const [what, value] of Object.entries(ATTACKS[key] ?? {})) bodies.push(json(what, value))
  bodies.push({ ...json('deep body', null), body: `${'['.repeat(bodyBytesMax / 2 - 1)}${']'.repeat(bodyBytesMax / 2 - 1)}` })
  return bodies
}

/** Every way in which the plugin answers, for each of its methods. */
export function pluginInputs({ pluginId }: Ids): Input[] {
  return (['series', 'book'] as const).flatMap((contentType) =>
    (['search', 'get', 'match'] as const).flatMap((action) =>
      ANSWERS.map((what) => {
        const params = { query: what, externalId: what, title: what }
        const body = JSON.stringify({ action: { metadata: { action, contentType, params } } })
        const path = `/api/v1/plugins/${pluginId}/execute`
        return {
          route: `plugin metadata.${contentType}.${action}`,
          what,
          method: 'POST',
          path,
          headers: { 'content-type': 'application/json' },
          body,
          before: `/api/v1/admin/plugins/${pluginId}/reset`,
        }
      }),
    ),
  )
}

/** Ids that exist, except where a route takes away what the others are asked about. */
function knownOf(route: Route<Services>, ids: Ids): Record<string, string | number | boolean> & Record<string, unknown> {
  const [bookId = '', seriesId = ''] = [ids.bookIds[0], ids.seriesIds[0]]
  const named = {
    pageNumber: 1,
    key: 'application.name',
    name: 'open-library',
    source: 'mal',
    externalId: 'x',
    page: 1,
    pageSize: 500,
    full: true,
    // As many as there may be, all of them new.
    tags: NAMES,
    genres: NAMES,
    add: NAMES,
    remove: NAMES.slice(0, 10),
    currentPage: 1,
    collectionId: ids.collectionId,
    readListId: ids.readListId,
    ...VALID,
  }
  const changes =
    route.method === 'DELETE' ||
    /\/(disable|consent|rollback|reset|enable)$/.test(route.path) ||
    /\/admin\/users|\/users\//.test(route.path)
  if (changes) return { ...named, collectionId: undefined, readListId: undefined } as never
  return {
    ...named,
    bookId,
    seriesId,
    libraryId: ids.libraryId,
    pluginId: ids.pluginId,
    bookIds: ids.bookIds,
    seriesIds: ids.seriesIds,
    query: 'largest',
  } as never
}

function queryOf(route: Route<Services>, known: Record<string, unknown>): string {
  const properties = (route.query as { properties?: Record<string, object> } | undefined)?.properties ?? {}
  const query = new URLSearchParams()
  for (const [name, shape] of Object.entries(properties)) {
    // A filter makes an answer smaller, unless it takes everything.
    if (
      /^(libraryId|seriesId|bookId|sort|search|q|cursor|errorType|status|level|after|offset)$/.test(name) &&
      !/required/.test(JSON.stringify(route.query))
    )
      continue
    const value = largestOf(shape, name, QUERY_ROOM / Object.keys(properties).length, known as never)
    if (typeof value !== 'object') query.set(name, String(value))
  }
  return query.toString()
}

function uploadsOf(at: Pick<Input, 'route' | 'method' | 'path'>, bytesMax: number): Input[] {
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const form = (head: string, file: Buffer) =>
    Buffer.concat([
      Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="x"${head}\r\n\r\n`),
      file,
      Buffer.from('\r\n--b--\r\n'),
    ])
  const entry = '<Book Series="Series 1" Number="1" Volume="2020" Year="2020"/>'
  const list = `<ReadingList><Name>Large</Name><Books>${entry.repeat(Math.floor(FILE_BYTES / entry.length))}</Books></ReadingList>`
  return [
    { ...at, what: 'largest file', headers, body: form('', Buffer.alloc(bytesMax - 1_000, 'PK')) },
    { ...at, what: 'long part head', headers, body: form(`\r\nX: ${'a '.repeat(80_000)}`, Buffer.from('a')) },
    { ...at, what: 'many lines in a part head', headers, body: form('\r\nX:\t'.repeat(40_000), Buffer.from('a')) },
    { ...at, what: 'largest reading list', headers, body: form('', Buffer.from(list)) },
  ]
}
