import type { Knex } from 'knex'
import Type, { type Static, type TSchema } from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { idIn, KINDS, reachOfKind } from '#api/rest/catalog/metadata-kind.ts'
import { withSourceName } from '#api/views/legacy-names.ts'
import type { Caller } from '#core/account/caller.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { sourceKey } from '#core/fields/source-key.ts'
import { refuse } from '#core/foundation/errors.ts'
import { NameText, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { addEntry, type EntrySet, editEntry, removeEntry } from '#core/metadata/edit-entries.ts'
import { type EntryTable, listEntries } from '#core/metadata/entry-query.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import {
  AlternateTitle,
  BookExternalId,
  BookExternalLink,
  ExternalId,
  ExternalLink,
  ExternalRating,
} from '#core/metadata/series-metadata-schema.ts'
import {
  AverageRating,
  averageRatings,
  deleteUserRating,
  listUserRatings,
  NOT_RATED,
  saveUserRating,
} from '#core/metadata/user-rating-store.ts'
import { checkVisible, listVisibleIds } from '#core/metadata/visible-records-query.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()

/** Names of services are short, with `plugin:` or `api:` in front. */
const Source = Type.String({ minLength: 1, maxLength: 107, pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]*$', description: 'Name of the service.' })
/** Identifiers and ratings have keys, which contexts use too. */
const KeySource = Type.String({
  minLength: 1,
  maxLength: 107,
  pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]*$',
  title: 'ServiceKey',
  description:
    'Key of the service: `plugin:` and the `idSource` of a plugin (or its id), or any other name. If an installed plugin uses the name, the server adds `plugin:` to it.',
})
const Line = NameText({ minLength: 1, maxLength: 500 })
const Url = Type.String({ maxLength: 2_000, pattern: '^https?://[^\\s]+$' })
/** Other names of these members that clients use. */
const ALIASES = { sourceName: 'source', source_name: 'source', external_id: 'externalId' }

const SeriesId = Type.Object({ seriesId: Uuid })
const Rating = Noun('SeriesRating')({
  id: Uuid,
  userId: Uuid,
  seriesId: Uuid,
  rating: Type.Integer({ minimum: 1, maximum: 100 }),
  notes: Nullable(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

type Call = { caller: Caller; services: Services }

interface EntryKind {
  /** What the entries belong to. */
  of: Kind
  path: string
  /** Member of the list's answer. */
  list: string
  table: EntryTable
  set: EntrySet
  what: string
  /** One entry, with its article. */
  one: string
  shape: TSchema
  body: Record<string, TSchema>
  /** How an entry is deleted: by id or, if there is only one per source, by source. */
  by: 'id' | 'source'
  /** Whether its sources are keys. */
  hasKeys?: boolean
}

const ids = {
  path: 'external-ids',
  list: 'externalIds',
  what: 'identifiers at services',
  one: 'an identifier at a service',
  shape: ExternalId,
  body: { source: KeySource, externalId: Line, externalUrl: Type.Optional(Nullable(Url)), metadataHash: Type.Optional(Nullable(Line)) },
  set: 'externalIds' as const,
  by: 'id' as const,
  hasKeys: true,
}
const links = {
  path: 'external-links',
  list: 'links',
  what: 'links to services',
  one: 'a link to a service',
  shape: ExternalLink,
  body: { source: Source, url: Url, externalId: Type.Optional(Nullable(Line)) },
  set: 'externalLinks' as const,
  by: 'source' as const,
}

const ENTRIES: readonly EntryKind[] = [
  {
    of: 'series',
    path: 'alternate-titles',
    list: 'titles',
    table: 'series_alternate_titles',
    what: 'alternate titles',
    one: 'an alternate title',
    shape: AlternateTitle,
    body: { label: Line, title: Line },
    set: 'alternateTitles',
    by: 'id',
  },
  { of: 'series', table: 'series_external_ids', ...ids },
  { of: 'book', table: 'book_external_ids', ...ids, shape: BookExternalId },
  { of: 'series', table: 'series_external_links', ...links },
  { of: 'book', table: 'book_external_links', ...links, shape: BookExternalLink },
  {
    of: 'series',
    path: 'external-ratings',
    list: 'ratings',
    table: 'series_external_ratings',
    what: 'ratings at services',
    one: 'a rating at a service',
    shape: ExternalRating,
    body: {
      source: KeySource,
      rating: Type.Number({ minimum: 0, maximum: 100 }),
      voteCount: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 2_147_483_647 }))),
    },
    set: 'externalRatings',
    by: 'source',
    hasKeys: true,
  },
]

/** Addresses, names and permissions of a kind. */
function reachOf({ of, path, by }: EntryKind) {
  const { many, noun } = KINDS[of]
  const oneName = by === 'source' ? 'source' : path === 'alternate-titles' ? 'titleId' : 'externalIdId'
  return {
    ...reachOfKind(of, path),
    // In names of operations, such as `SeriesAlternateTitle`.
    noun: noun + path.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase()).replace(/s$/, ''),
    tag: many,
    oneName,
  }
}

/** The id of the owner in a path as the database writes it. @throws not_found if the caller may not see it */
const checkOwner = ({ services, caller }: Call, of: Kind, params: unknown): Promise<string> =>
  checkVisible(services.database, caller, of, idIn(of, params))

/** A source in the form in which it is stored. */
const keptAs = async (kind: EntryKind, database: Knex, source: string) =>
  kind.hasKeys ? sourceKey(source, await listIdNames(database)) : source

function listRoute(kind: EntryKind) {
  const { of, table, shape } = kind
  const { path, noun, tag, params, read } = reachOf(kind)
  const entryView = (services: Services, { ownerId: _, ...fact }: Record<string, unknown>) => withSourceName(services, fact)
  return endpoint({
    name: `list${noun}s`,
    method: 'GET',
    path,
    summary: `List the ${kind.what} of a ${of}`,
    tag,
    allow: read,
    params,
    reply: Type.Object({ [kind.list]: Type.Array(shape) }),
    run: async (call, { params }) => {
      const id = await checkOwner(call, of, params)
      const entries = await listEntries<Record<string, unknown>>(call.services.database, table, [id])
      return { [kind.list]: entries.map((entry) => entryView(call.services, entry)) }
    },
  })
}

function addRoute(kind: EntryKind) {
  const { of, shape } = kind
  const { path, noun, tag, params, write } = reachOf(kind)
  const isOfService = 'source' in kind.body
  return endpoint({
    name: `create${noun}`,
    method: 'POST',
    path,
    summary: `Add ${kind.one} to a ${of}${kind.by === 'source' || kind.path === 'external-ids' ? '; replaces an entry of the same source' : ''}`,
    tag,
    allow: write,
    params,
    body: Type.Object(kind.body, {
      additionalProperties: false,
      title: `New${(shape as { title?: string }).title?.replace(/^Book/, '')}`,
      ...(isOfService && { description: 'Also accepts `sourceName` and `source_name` for `source`, and `external_id` for `externalId`.' }),
    }),
    ...(isOfService && { bodyAliases: ALIASES }),
    reply: shape,
    mayCreate: true,
    run: async (call, { params, body }) => await addOne(call, kind, await checkOwner(call, of, params), body),
  })
}

function removeRoute(kind: EntryKind) {
  const { of, set } = kind
  const { path, noun, tag, oneName, write } = reachOf(kind)
  const OneSource = kind.hasKeys ? KeySource : Source
  return endpoint({
    name: `delete${noun}`,
    method: 'DELETE',
    path: `${path}/:${oneName}`,
    summary: `Remove ${kind.one} from a ${of}`,
    tag,
    allow: write,
    params: Type.Object({ [KINDS[of].idName]: Uuid, [oneName]: kind.by === 'source' ? OneSource : Uuid }),
    status: 204,
    run: async (call, { params }) => {
      const id = await checkOwner(call, of, params)
      const one = (params as Record<string, string>)[oneName] as string
      const { database } = call.services
      const which = kind.by === 'source' ? { key: await keptAs(kind, database, one) } : { id: one }
      if (!(await removeEntry(database, { kind: of, id, set }, which))) refuse('not_found', `There is no entry ${one} in the ${kind.what}.`)
    },
  })
}

async function addOne(call: Call & { created(): void }, kind: EntryKind, ownerId: string, body: Record<string, unknown>) {
  const { database } = call.services
  const source = typeof body.source === 'string' ? { source: await keptAs(kind, database, body.source) } : {}
  const owner = { kind: kind.of, id: ownerId, set: kind.set }
  // The schema of the kind has checked the members of its set.
  const { id, isNew } = await addEntry(database, owner, { ...body, ...source } as never)
  // Without an address: entries have none of their own, only the list has.
  if (isNew) call.created()
  return withSourceName(call.services, await getOne(database, kind.table, { ownerId, id }))
}

/** One entry in the shape of the list. @throws not_found */
async function getOne<Entry extends { id: string }>(
  database: Knex,
  table: EntryTable,
  { ownerId, id }: { ownerId: string; id: string },
): Promise<Omit<Entry & { ownerId: string }, 'ownerId'>> {
  const saved = (await listEntries<Entry>(database, table, [ownerId])).find((entry) => entry.id === id)
  const { ownerId: _, ...entry } = saved ?? refuse('not_found')
  return entry
}

const routesOf = (kind: EntryKind) => [listRoute(kind), addRoute(kind), removeRoute(kind)]

export const metadataEntryRoutes = [
  ...ENTRIES.flatMap(routesOf),
  endpoint({
    name: 'patchSeriesAlternateTitle',
    method: 'PATCH',
    path: '/api/v1/series/:seriesId/alternate-titles/:titleId',
    summary: 'Change an alternate title of a series',
    tag: 'series',
    allow: { who: 'series-write' },
    params: Type.Object({ seriesId: Uuid, titleId: Uuid }),
    body: Type.Object(
      { label: Type.Optional(Nullable(Line)), title: Type.Optional(Nullable(Line)) },
      { additionalProperties: false, description: 'Absent or null members are kept.' },
    ),
    reply: AlternateTitle,
    run: async (call, { params, body }) => {
      const ownerId = await checkOwner(call, 'series', params)
      const { database } = call.services
      const { label, title } = body
      const change = { ...(label != null && { label }), ...(title != null && { title }) }
      const id = params.titleId.toLowerCase()
      await editEntry(database, { kind: 'series', id: ownerId, set: 'alternateTitles' }, { id, change })
      return await getOne<Static<typeof AlternateTitle>>(database, 'series_alternate_titles', { ownerId, id })
    },
  }),
  endpoint({
    name: 'listMyRatings',
    method: 'GET',
    path: '/api/v1/user/ratings',
    summary: 'List my ratings of series, latest first',
    tag: 'series',
    allow: { who: 'series-read' },
    reply: Type.Object({ ratings: Type.Array(Rating) }),
    run: async ({ services, caller }) => {
      const ratings = await listUserRatings(services.database, caller.userId)
      const ids = ratings.map(({ seriesId }) => seriesId)
      const visible = await listVisibleIds(services.database, caller, 'series', ids)
      return { ratings: ratings.filter(({ seriesId }) => visible.has(seriesId)) }
    },
  }),
  endpoint({
    name: 'getSeriesRating',
    method: 'GET',
    path: '/api/v1/series/:seriesId/rating',
    summary: 'Get my rating of a series; null if there is none',
    tag: 'series',
    allow: { who: 'series-read' },
    params: SeriesId,
    reply: Nullable(Rating),
    run: async (call, { params }) => {
      const id = await checkOwner(call, 'series', params)
      const [rating] = await listUserRatings(call.services.database, call.caller.userId, id)
      return rating ?? null
    },
  }),
  endpoint({
    name: 'putSeriesRating',
    method: 'PUT',
    path: '/api/v1/series/:seriesId/rating',
    summary: 'Rate a series',
    tag: 'series',
    allow: { who: 'progress-write', also: ['series-read'] },
    mayCreate: true,
    params: SeriesId,
    body: Type.Object(
      { rating: Type.Integer({ minimum: 1, maximum: 100 }), notes: Type.Optional(Nullable(Type.String({ maxLength: 4_000 }))) },
      { additionalProperties: false },
    ),
    reply: Rating,
    run: async (call, { params, body }) => {
      const seriesId = await checkOwner(call, 'series', params)
      const userId = call.caller.userId
      const { database } = call.services
      if ((await listUserRatings(database, userId, seriesId)).length === 0) call.created(call.path)
      return await saveUserRating(database, { userId, seriesId, rating: body.rating, notes: body.notes ?? null })
    },
  }),
  endpoint({
    name: 'deleteSeriesRating',
    method: 'DELETE',
    path: '/api/v1/series/:seriesId/rating',
    summary: 'Delete my rating of a series',
    tag: 'series',
    allow: { who: 'progress-write', also: ['series-read'] },
    params: SeriesId,
    status: 204,
    run: async (call, { params }) => {
      const id = await checkOwner(call, 'series', params)
      await deleteUserRating(call.services.database, call.caller.userId, id)
    },
  }),
  endpoint({
    name: 'getSeriesRatingAverage',
    method: 'GET',
    path: '/api/v1/series/:seriesId/ratings/average',
    summary: 'Get the average rating of a series by all users',
    tag: 'series',
    allow: { who: 'series-read' },
    params: SeriesId,
    reply: AverageRating,
    run: async (call, { params }) => {
      const id = await checkOwner(call, 'series', params)
      return (await averageRatings(call.services.database, [id])).get(id) ?? NOT_RATED
    },
  }),
]
