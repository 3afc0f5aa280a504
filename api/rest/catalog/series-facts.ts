import type { Knex } from 'knex'
import type { TSchema } from 'typebox'
import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { withSourceName } from '#api/views/legacy-names.ts'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { getBookRecord } from '#core/metadata/book-metadata-query.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import { ALTERNATE_TITLES_MAX } from '#core/metadata/limits.ts'
import { lockRecords, touchRecords } from '#core/metadata/metadata-record-store.ts'
import {
  averageRating,
  deleteFact,
  deleteUserRating,
  type Facts,
  listFacts,
  listUserRatings,
  memberOfFacts,
  saveFact,
  saveUserRating,
  updateFact,
} from '#core/metadata/series-facts-store.ts'
import { checkSeries, listVisibleSeriesIds } from '#core/metadata/series-metadata-query.ts'
import {
  AlternateTitle,
  BookExternalId,
  BookExternalLink,
  ExternalId,
  ExternalLink,
  ExternalRating,
} from '#core/metadata/series-metadata-record.ts'
import { sourceKey } from '#core/metadata/source-key.ts'

type Services = Needs<'database' | 'settings'>
const endpoint = endpointOf<Services>()

/** Services have short names, with `plugin:` or `api:` in front; identifiers and addresses are lines. */
const Source = Type.String({ minLength: 1, maxLength: 107, pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]*$', description: 'Name of the service.' })
/** Identifiers and ratings are kept under keys, which contexts have too. */
const KeySource = Type.String({
  ...{ minLength: 1, maxLength: 107, pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]*$', title: 'ServiceKey' },
  description:
    'Key of the service: `plugin:` and the name that a plugin has for it (`idSource`, or the id of the plugin), or any other name. Where an installed plugin has this name for its service, `plugin:` is put in front of it.',
})
const Line = Type.String({ minLength: 1, maxLength: 500 })
const Url = Type.String({ maxLength: 2_000, pattern: '^https?://[^\\s]+$' })
/** What clients call these members too. */
const ALIASES = { sourceName: 'source', source_name: 'source', external_id: 'externalId' }
/** There are fewer services. */
const FACTS_MAX = 200

const SeriesId = Type.Object({ seriesId: Uuid })
const BookId = Type.Object({ bookId: Uuid })
const Rating = Noun('SeriesRating')({
  id: Uuid,
  seriesId: Uuid,
  rating: Type.Integer({ minimum: 1, maximum: 100 }),
  notes: Nullable(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

type Call = { caller: Caller; services: Services }

/** The id of the owner as the database writes it. @throws not_found for what the caller may not see */
async function checkOwner(call: Call, owner: 'series' | 'books', id: string): Promise<string> {
  const caller = call.caller
  if (owner === 'series') return await checkSeries(call.services.database, caller, id)
  await getBookRecord(call.services.database, caller, id)
  return id.toLowerCase()
}

interface Kind {
  owner: 'series' | 'books'
  path: string
  /** Member of the list's answer. */
  list: string
  facts: Facts
  what: string
  shape: TSchema
  body: Record<string, TSchema>
  /** Columns of a body. */
  rowOf: (body: Record<string, unknown>) => Record<string, unknown>
  /** How one is deleted: by id, or by the source of which there is one. */
  by: 'id' | 'source'
  /** Whether its sources are keys. */
  hasKeys?: boolean
}

const ids = {
  path: 'external-ids',
  list: 'externalIds',
  what: 'identifiers at other services',
  shape: ExternalId,
  body: { source: KeySource, externalId: Line, externalUrl: Type.Optional(Nullable(Url)), metadataHash: Type.Optional(Nullable(Line)) },
  rowOf: (body: Record<string, unknown>) => ({
    source: body.source,
    external_id: body.externalId,
    external_url: body.externalUrl ?? null,
    metadata_hash: body.metadataHash ?? null,
  }),
  by: 'id' as const,
  hasKeys: true,
}
const links = {
  path: 'external-links',
  list: 'links',
  what: 'links to other services',
  shape: ExternalLink,
  body: { source: Source, url: Url, externalId: Type.Optional(Nullable(Line)) },
  rowOf: (body: Record<string, unknown>) => ({ source: body.source, url: body.url, external_id: body.externalId ?? null }),
  by: 'source' as const,
}

const KINDS: Kind[] = [
  {
    owner: 'series',
    path: 'alternate-titles',
    list: 'titles',
    facts: 'series_alternate_titles',
    what: 'further titles',
    shape: AlternateTitle,
    body: { label: Line, title: Line },
    rowOf: ({ label, title }) => ({ label, title }),
    by: 'id',
  },
  { owner: 'series', facts: 'series_external_ids', ...ids },
  { owner: 'books', facts: 'book_external_ids', ...ids, shape: BookExternalId },
  { owner: 'series', facts: 'series_external_links', ...links },
  { owner: 'books', facts: 'book_external_links', ...links, shape: BookExternalLink },
  {
    owner: 'series',
    path: 'external-ratings',
    list: 'ratings',
    facts: 'series_external_ratings',
    what: 'ratings at other services',
    shape: ExternalRating,
    body: {
      source: KeySource,
      rating: Type.Number({ minimum: 0, maximum: 100 }),
      voteCount: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 2_147_483_647 }))),
    },
    rowOf: (body) => ({ source: body.source, rating: body.rating, vote_count: body.voteCount ?? null, fetched_at: new Date() }),
    by: 'source',
    hasKeys: true,
  },
]

/** How the entries of a kind are reached. */
function reachOf({ owner, path, by }: Kind) {
  const isSeries = owner === 'series'
  const idName = isSeries ? 'seriesId' : 'bookId'
  return {
    idName,
    base: `/api/v1/${owner}/:${idName}/${path}`,
    ownerParams: isSeries ? SeriesId : BookId,
    oneName: by === 'source' ? 'source' : path === 'alternate-titles' ? 'titleId' : 'externalIdId',
    record: isSeries ? ('series' as const) : ('book' as const),
    read: isSeries ? ('series-read' as const) : ('books-read' as const),
    write: isSeries ? ('series-write' as const) : ('books-write' as const),
    ownerOf: (call: Call, params: Record<string, unknown>) => checkOwner(call, owner, params[idName] as string),
  }
}

/** A source as it is kept. */
const keptAs = async (kind: Kind, database: Knex, source: string) =>
  kind.hasKeys ? sourceKey(source, await listIdNames(database)) : source

function listRoute(kind: Kind) {
  const { owner, facts, shape } = kind
  const { base, ownerParams, read, ownerOf } = reachOf(kind)
  const shown = (services: Services, { ownerId: _, ...fact }: Record<string, unknown>) => withSourceName(services, fact)
  return endpoint({
    method: 'GET',
    path: base,
    summary: `The ${kind.what} of a ${owner === 'series' ? 'series' : 'book'}`,
    tag: owner,
    allow: { who: read },
    params: ownerParams,
    reply: Type.Object({ [kind.list]: Type.Array(shape) }),
    run: async (call, { params }) => {
      const id = await ownerOf(call, params)
      const entries = await listFacts<Record<string, unknown>>(call.services.database, facts, [id])
      return { [kind.list]: entries.map((entry) => shown(call.services, entry)) }
    },
  })
}

function addRoute(kind: Kind) {
  const { owner, shape } = kind
  const { base, ownerParams, write, ownerOf } = reachOf(kind)
  const isOfService = 'source' in kind.body
  return endpoint({
    method: 'POST',
    path: base,
    summary: `Add to the ${kind.what}${kind.by === 'source' || kind.path === 'external-ids' ? '; what is there of the same source is replaced' : ''}`,
    tag: owner,
    allow: { who: write },
    params: ownerParams,
    body: Type.Object(kind.body, {
      additionalProperties: false,
      title: `New${(shape as { title?: string }).title?.replace(/^Book/, '')}`,
      ...(isOfService && { description: 'Takes `sourceName` and `source_name` for `source`, and `external_id` for `externalId`, too.' }),
    }),
    ...(isOfService && { bodyAliases: ALIASES }),
    reply: shape,
    mayCreate: true,
    run: async (call, { params, body }) => await addFact(call, kind, await ownerOf(call, params), body as Record<string, unknown>),
  })
}

function removeRoute(kind: Kind) {
  const { owner, facts } = kind
  const { idName, base, oneName, record, write, ownerOf } = reachOf(kind)
  const OneSource = kind.hasKeys ? KeySource : Source
  const oneParams = Type.Object({ [idName]: Uuid, [oneName]: kind.by === 'source' ? OneSource : Uuid })
  return endpoint({
    method: 'DELETE',
    path: `${base}/:${oneName}`,
    summary: `Remove one of the ${kind.what}`,
    tag: owner,
    allow: { who: write },
    params: oneParams,
    status: 204,
    run: async (call, { params }) => {
      const id = await ownerOf(call, params)
      const one = (params as Record<string, string>)[oneName] as string
      return await call.services.database.transaction(async (trx) => {
        if (!(await deleteFact(trx, facts, id, kind.by === 'source' ? { source: await keptAs(kind, trx, one) } : { id: one })))
          refuse('not_found', `There is no ${one} among the ${kind.what}.`)
        await touchRecords(trx, record, [id], [memberOfFacts(facts)])
        return undefined
      })
    },
  })
}

async function addFact(call: Call & { created(): void }, kind: Kind, id: string, body: Record<string, unknown>) {
  const { owner, facts } = kind
  const { record } = reachOf(kind)
  const most = facts === 'series_alternate_titles' ? ALTERNATE_TITLES_MAX : FACTS_MAX
  const row: Record<string, unknown> = {
    [owner === 'series' ? 'series_id' : 'book_id']: id,
    ...kind.rowOf(body),
  }
  return await call.services.database.transaction(async (trx) => {
    // Else many at once would each find room.
    await lockRecords(trx, record, [id])
    if (typeof row.source === 'string') row.source = await keptAs(kind, trx, row.source)
    const all = await listFacts<{ source?: string }>(trx, facts, [id])
    const isNew = !all.some(({ source }) => source !== undefined && source === row.source)
    if (isNew && all.length >= most) refuse('invalid_value', `There are ${most} ${kind.what} already; delete some first.`)
    const saved = await saveFact<Record<string, unknown>>(trx, facts, row)
    await touchRecords(trx, record, [id], [memberOfFacts(facts)])
    // No address: they have none of their own, only the list has.
    if (isNew) call.created()
    return withSourceName(call.services, saved)
  })
}

const routesOf = (kind: Kind) => [listRoute(kind), addRoute(kind), removeRoute(kind)]

export const seriesFactRoutes = [
  ...KINDS.flatMap(routesOf),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/series/:seriesId/alternate-titles/:titleId',
    summary: 'Change a further title of a series',
    tag: 'series',
    allow: { who: 'series-write' },
    params: Type.Object({ seriesId: Uuid, titleId: Uuid }),
    body: Type.Object(
      { label: Type.Optional(Nullable(Line)), title: Type.Optional(Nullable(Line)) },
      { additionalProperties: false, description: 'What is absent or null stays.' },
    ),
    reply: AlternateTitle,
    run: async (call, { params, body }) => {
      const ownerId = await checkOwner(call, 'series', params.seriesId)
      const where = { id: params.titleId, ownerId }
      return await call.services.database.transaction(async (trx) => {
        const { label, title } = body
        const columns = { ...(label != null && { label }), ...(title != null && { title }) }
        const updated = await updateFact(trx, 'series_alternate_titles', where, columns)
        await touchRecords(trx, 'series', [ownerId], ['alternateTitles'])
        return (updated ?? refuse('not_found')) as never
      })
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/user/ratings',
    summary: 'My ratings of series, the latest first',
    tag: 'series',
    allow: { who: 'series-read' },
    reply: Type.Object({ ratings: Type.Array(Rating) }),
    run: async (call) => {
      const caller = call.caller
      const { database } = call.services
      const ratings = await listUserRatings(database, caller.userId)
      const visible = await listVisibleSeriesIds(
        database,
        caller,
        ratings.map(({ seriesId }) => seriesId as string),
      )
      return { ratings: ratings.filter(({ seriesId }) => visible.has(seriesId as string)) as never }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId/rating',
    summary: 'My rating of a series; null where there is none',
    tag: 'series',
    allow: { who: 'series-read' },
    params: SeriesId,
    reply: Nullable(Rating),
    run: async (call, { params }) => {
      const id = await checkOwner(call, 'series', params.seriesId)
      const [rating] = await listUserRatings(call.services.database, call.caller.userId, id)
      return (rating ?? null) as never
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/api/v1/series/:seriesId/rating',
    summary: 'Rate a series',
    tag: 'series',
    allow: { who: 'series-read' },
    mayCreate: true,
    params: SeriesId,
    body: Type.Object(
      { rating: Type.Integer({ minimum: 1, maximum: 100 }), notes: Type.Optional(Nullable(Type.String({ maxLength: 4_000 }))) },
      { additionalProperties: false },
    ),
    reply: Rating,
    run: async (call, { params, body }) => {
      const seriesId = await checkOwner(call, 'series', params.seriesId)
      const userId = call.caller.userId
      const { database } = call.services
      if ((await listUserRatings(database, userId, seriesId)).length === 0) call.created(call.path)
      return (await saveUserRating(database, { userId, seriesId, rating: body.rating, notes: body.notes ?? null })) as never
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/series/:seriesId/rating',
    summary: 'Delete my rating of a series',
    tag: 'series',
    allow: { who: 'series-read' },
    params: SeriesId,
    status: 204,
    run: async (call, { params }) => {
      const id = await checkOwner(call, 'series', params.seriesId)
      await deleteUserRating(call.services.database, call.caller.userId, id)
      return undefined
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId/ratings/average',
    summary: 'The average rating of a series by all users',
    tag: 'series',
    allow: { who: 'series-read' },
    params: SeriesId,
    reply: Type.Object({ average: Nullable(Type.Number()), count: Type.Integer({ minimum: 0 }) }),
    run: async (call, { params }) => averageRating(call.services.database, await checkOwner(call, 'series', params.seriesId)),
  }),
]
