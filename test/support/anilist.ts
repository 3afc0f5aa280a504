import type { IncomingMessage, RequestListener } from 'node:http'

/**
 * A fake AniList that follows its documentation: it parses the query, refuses fields and arguments that are not in its schema, and returns only the
 * requested fields.
 */

type Rec = Record<string, unknown>
interface Field {
  name: string
  given: Rec
  fields: Field[]
}

/** The fields of each type; a field that is an object has its type, a plain value null. */
const SCHEMA: Record<string, Record<string, string | null>> = {
  Query: { Page: 'Page', Media: 'Media', Viewer: 'User', MediaListCollection: 'MediaListCollection' },
  Page: { pageInfo: 'PageInfo', media: 'Media' },
  PageInfo: { hasNextPage: null, currentPage: null, perPage: null },
  User: { id: null, name: null },
  MediaListCollection: { hasNextChunk: null, lists: 'MediaListGroup' },
  MediaListGroup: { name: null, isCustomList: null, status: null, entries: 'MediaList' },
  MediaList: { mediaId: null, status: null, score: null, progress: null, updatedAt: null, media: 'Media' },
  Media: {
    ...{ id: null, idMal: null, type: null, title: 'MediaTitle', synonyms: null, description: null, status: null, format: null },
    ...{ chapters: null, volumes: null, startDate: 'FuzzyDate', countryOfOrigin: null, genres: null, tags: 'MediaTag' },
    ...{ staff: 'StaffConnection', coverImage: 'MediaCoverImage', bannerImage: null, averageScore: null, meanScore: null },
    ...{ popularity: null, isAdult: null, siteUrl: null, externalLinks: 'MediaExternalLink', recommendations: 'RecommendationConnection' },
  },
  MediaTitle: { romaji: null, english: null, native: null, userPreferred: null },
  FuzzyDate: { year: null, month: null, day: null },
  MediaTag: { name: null, rank: null, category: null, isGeneralSpoiler: null, isMediaSpoiler: null, isAdult: null },
  StaffConnection: { edges: 'StaffEdge' },
  StaffEdge: { role: null, node: 'Staff' },
  Staff: { id: null, name: 'StaffName' },
  StaffName: { full: null, native: null },
  MediaCoverImage: { extraLarge: null, large: null },
  MediaExternalLink: { url: null, site: null },
  RecommendationConnection: { nodes: 'Recommendation' },
  Recommendation: { rating: null, mediaRecommendation: 'Media' },
}
const ARGUMENTS: Record<string, readonly string[]> = {
  'Query.Page': ['page', 'perPage'],
  'Query.Media': ['id', 'idMal', 'type'],
  'Query.MediaListCollection': ['userId', 'type', 'chunk', 'perChunk'],
  'Page.media': ['search', 'type', 'isAdult', 'sort', 'id_in'],
  'Media.description': ['asHtml'],
  'Media.staff': ['perPage', 'sort'],
  'Media.recommendations': ['perPage', 'sort'],
  'MediaList.score': ['format'],
}

class ResponseError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Parses `query (…) { … }`. */
function readQuery(text: string, variables: Rec): Field[] {
  const tokens: string[] = text.match(/[{}()[\]:!$]|[\w.-]+/g) ?? []
  let at = 0
  const take = (token: string) => {
    if (tokens[at++] !== token) throw new ResponseError(400, `Syntax Error: expected ${token}, found ${tokens[at - 1]}`)
  }
  const isNext = (token: string) => tokens[at] === token
  const value = (): unknown => {
    const token = tokens[at++] ?? ''
    if (token === '$') return variables[tokens[at++] ?? '']
    if (/^\d+$/.test(token)) return Number(token)
    return token === 'true' ? true : token === 'false' ? false : token
  }
  const fieldsOf = (type: string): Field[] => {
    const fields: Field[] = []
    take('{')
    while (!isNext('}')) {
      const name = tokens[at++] ?? ''
      const inner = SCHEMA[type]?.[name]
      if (inner === undefined) throw new ResponseError(400, `Cannot query field "${name}" on type "${type}".`)
      const given: Rec = {}
      if (isNext('(')) {
        at += 1
        while (!isNext(')')) {
          const argument = tokens[at++] ?? ''
          if (!ARGUMENTS[`${type}.${name}`]?.includes(argument))
            throw new ResponseError(400, `Unknown argument "${argument}" on field "${name}".`)
          take(':')
          const argumentValue = value()
          if (argumentValue !== undefined) given[argument] = argumentValue
        }
        at += 1
      }
      fields.push({ name, given, fields: inner === null ? [] : fieldsOf(inner) })
    }
    take('}')
    return fields
  }
  take('query')
  if (isNext('(')) at = tokens.indexOf(')', at) + 1
  return fieldsOf('Query')
}

/** Only the requested fields of a record; missing fields are null, as in GraphQL. */
function project(value: unknown, fields: readonly Field[]): unknown {
  if (Array.isArray(value)) return value.map((one) => project(one, fields))
  if (typeof value !== 'object' || value === null || fields.length === 0) return value ?? null
  return Object.fromEntries(fields.map(({ name, fields: inner }) => [name, project((value as Rec)[name], inner)]))
}

export interface AniListContent {
  /** By their ids; `recommendations` as `[id, rating]`. */
  media?: readonly Rec[]
  /** Entries of the viewer's list. */
  list?: readonly Rec[]
  /** The user of each valid token. Without this member every request is signed in. */
  tokens?: Readonly<Record<string, number>>
  /** A response to send instead, by the number of the request from 0. */
  instead?(
    index: number,
    asked: { query: string; variables: Rec },
  ): { status: number; headers?: Record<string, string>; body: string } | undefined
}

/** The request listener, and the requests that it received. */
export function openAniList(content: AniListContent): { answer: RequestListener; asked: { query: string; variables: Rec }[] } {
  const { media = [], list = [], tokens } = content
  const asked: { query: string; variables: Rec }[] = []
  const byId = new Map(media.map((one) => [one['id'], one]))
  const whole = (one: Rec): Rec => {
    const nodes = ((one['recommendations'] as [id: number | null, rating: number][] | undefined) ?? []).map(([id, rating]) => ({
      rating,
      mediaRecommendation: id === null ? null : { id, type: 'MANGA', isAdult: false, ...byId.get(id) },
    }))
    return { type: 'MANGA', isAdult: false, ...one, recommendations: { nodes } }
  }
  const resolve = ({ name, given, fields }: Field, request: IncomingMessage): unknown => {
    const token = request.headers.authorization?.replace(/^Bearer /, '')
    const viewer = tokens === undefined ? 1 : token === undefined ? undefined : tokens[token]
    // The response to an unknown token, whatever the query.
    if (token !== undefined && viewer === undefined) throw new ResponseError(400, 'Invalid token')
    if (name === 'Viewer') {
      if (viewer === undefined) throw new ResponseError(401, 'Unauthorized.')
      return project({ id: viewer, name: 'reader' }, fields)
    }
    if (name === 'MediaListCollection') {
      if (given['userId'] !== viewer) throw new ResponseError(404, 'User not found')
      const size = given['perChunk'] as number
      const entries = list.slice(((given['chunk'] as number) - 1) * size, (given['chunk'] as number) * size)
      return project({ hasNextChunk: list.length > (given['chunk'] as number) * size, lists: [{ name: 'Reading', entries }, null] }, fields)
    }
    if (name === 'Media') {
      const one = media.find((other) => (given['id'] === undefined ? other['idMal'] === given['idMal'] : other['id'] === given['id']))
      if (one === undefined) throw new ResponseError(404, 'Not Found.')
      return project(whole(one), fields)
    }
    const [page, perPage] = [(given['page'] as number) ?? 1, given['perPage'] as number]
    if (!(perPage >= 1 && perPage <= 50)) throw new ResponseError(400, 'validation: perPage')
    const { given: wanted = {} } = fields.find((field) => field.name === 'media') ?? {}
    const words = typeof wanted['search'] === 'string' ? wanted['search'].toLowerCase().split(' ') : null
    const found = media
      .filter((one) => wanted['isAdult'] === undefined || (one['isAdult'] === true) === wanted['isAdult'])
      .filter((one) => wanted['id_in'] === undefined || (wanted['id_in'] as unknown[]).includes(one['id']))
      .filter((one) => words === null || words.some((word) => JSON.stringify([one['title'], one['synonyms']]).toLowerCase().includes(word)))
    const shown = found.slice((page - 1) * perPage, page * perPage)
    return project({ pageInfo: { hasNextPage: found.length > page * perPage }, media: shown.map(whole) }, fields)
  }
  const answer: RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { query, variables } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { query: string; variables: Rec }
    const instead = content.instead?.(asked.length, { query, variables })
    asked.push({ query, variables })
    if (instead !== undefined) {
      response.writeHead(instead.status, { 'content-type': 'application/json', ...instead.headers }).end(instead.body)
      return
    }
    try {
      const fields = readQuery(query, variables)
      const data = Object.fromEntries(fields.map((field) => [field.name, resolve(field, request)]))
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
    } catch (error) {
      if (!(error instanceof ResponseError)) throw error
      const { status, message } = error
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ errors: [{ message, status, locations: [{ line: 1, column: 1 }] }], data: null }))
    }
  }
  return { answer, asked }
}
