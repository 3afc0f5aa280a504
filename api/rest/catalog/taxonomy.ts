import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, paginate, readPage } from '#api/http/pagination.ts'
import type { Needs } from '#api/http/services.ts'
import { NamedShape } from '#api/views/book-view.ts'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { NameText, Noun, Uuid } from '#core/foundation/schema.ts'
import { changeBookNames } from '#core/metadata/edit-book-metadata.ts'
import { changeSeriesNames, setSeriesNames } from '#core/metadata/edit-series-metadata.ts'
import { NAMES_MAX, readName, readNames } from '#core/metadata/name.ts'
import { checkSeries } from '#core/metadata/series-metadata-query.ts'
import { listNames, listNamesOf, type Named } from '#core/metadata/taxonomy-query.ts'
import { deleteName, deleteUnused, type Taxonomy } from '#core/metadata/taxonomy-store.ts'

type Services = Needs<'database'>
const endpoint = endpointOf<Services>()

const SeriesId = Type.Object({ seriesId: Uuid })
/** Room for surrounding white space; the name itself has a lower limit. */
const GivenName = NameText({ maxLength: 1_000 })
const names = Type.Array(GivenName, { maxItems: NAMES_MAX })
const Changed = Noun('BulkOutcome')({ message: Type.String(), updatedCount: Type.Integer({ minimum: 0 }) })
const BULK_MAX = { books: 500, series: 100 }

type Call = { caller: Caller; services: Services }

async function namesOf(call: Call, taxonomy: Taxonomy, seriesId: string): Promise<Named[]> {
  const caller = call.caller
  const id = await checkSeries(call.services.database, caller, seriesId)
  const found = await listNamesOf(call.services.database, caller, { taxonomy, kind: 'series', ids: [id] })
  return found.get(id) ?? []
}

/** Names of a genre or tag in paths and members. */
const wordsOf = (taxonomy: Taxonomy) => ({ plural: `${taxonomy}s`, idName: `${taxonomy}Id` })

/** Genres or tags of all libraries. */
function libraryRoutes(taxonomy: Taxonomy) {
  const { plural, idName } = wordsOf(taxonomy)
  return [
    endpoint({
      method: 'GET',
      path: `/api/v1/${plural}`,
      dependsOn: 'catalog',
      summary: `List all ${plural} by name`,
      tag: plural,
      allow: { who: 'series-read' },
      query: Type.Object(pageQuery),
      reply: Paginated(NamedShape),
      run: async (call, { query }) => {
        const { page, pageSize, offset, limit } = readPage(query)
        const { items, total } = await listNames(call.services.database, call.caller, { taxonomy, offset, limit })
        return paginate({ call, page, pageSize, total, data: items })
      },
    }),
    endpoint({
      method: 'POST',
      path: `/api/v1/${plural}/cleanup`,
      summary: `Delete unused ${plural}`,
      tag: plural,
      allow: { who: 'system-admin' },
      reply: Type.Object({ deletedCount: Type.Integer({ minimum: 0 }), deletedNames: Type.Array(Type.String()) }),
      run: async (call) => {
        const deletedNames = await deleteUnused(call.services.database, taxonomy)
        return { deletedCount: deletedNames.length, deletedNames }
      },
    }),
    endpoint({
      method: 'DELETE',
      path: `/api/v1/${plural}/:${idName}`,
      summary: `Delete a ${taxonomy} everywhere`,
      tag: plural,
      allow: { who: 'system-admin' },
      params: Type.Object({ [idName]: Uuid }),
      status: 204,
      run: async (call, { params }) => {
        const id = (params as Record<string, string>)[idName] as string
        if (!(await deleteName(call.services.database, taxonomy, id))) refuse('not_found', `There is no ${taxonomy} ${id}.`)
        return undefined
      },
    }),
  ]
}

/** All genres or tags of a series. */
function seriesListRoutes(taxonomy: Taxonomy) {
  const { plural } = wordsOf(taxonomy)
  const List = Type.Object({ [plural]: Type.Array(NamedShape) })
  const namesView = async (call: Call, seriesId: string) => ({ [plural]: await namesOf(call, taxonomy, seriesId) })
  return [
    endpoint({
      method: 'GET',
      path: `/api/v1/series/:seriesId/${plural}`,
      summary: `List the ${plural} of a series`,
      tag: plural,
      allow: { who: 'series-read' },
      params: SeriesId,
      reply: List,
      run: (call, { params }) => namesView(call, params.seriesId),
    }),
    endpoint({
      method: 'PUT',
      path: `/api/v1/series/:seriesId/${plural}`,
      summary: `Set the ${plural} of a series; locks them`,
      tag: plural,
      allow: { who: 'series-write' },
      params: SeriesId,
      body: Type.Object({ [plural]: names }, { additionalProperties: false }),
      reply: List,
      run: async (call, { params, body }) => {
        const given = readNames((body as Record<string, string[]>)[plural] ?? [], `/${plural}`)
        const change = { seriesId: params.seriesId, taxonomy, names: given }
        await setSeriesNames(call.services.database, call.caller, change)
        return await namesView(call, params.seriesId)
      },
    }),
  ]
}

/** One genre or tag of a series. */
function seriesEntryRoutes(taxonomy: Taxonomy) {
  const { plural, idName } = wordsOf(taxonomy)
  return [
    endpoint({
      method: 'POST',
      path: `/api/v1/series/:seriesId/${plural}`,
      summary: `Add a ${taxonomy} to a series; locks them`,
      mayCreate: true,
      tag: plural,
      allow: { who: 'series-write' },
      params: SeriesId,
      body: Type.Object({ name: GivenName }, { additionalProperties: false }),
      reply: NamedShape,
      run: async (call, { params, body }) => {
        const name = readName(body.name, '/name')
        const change = { seriesIds: [params.seriesId], taxonomy, add: [name], remove: [] }
        const changed = await changeSeriesNames(call.services.database, call.caller, change)
        if (changed > 0) call.created()
        const all = await namesOf(call, taxonomy, params.seriesId)
        return all.find((named) => named.name.toLowerCase() === name?.toLowerCase()) ?? refuse('conflict')
      },
    }),
    endpoint({
      method: 'DELETE',
      path: `/api/v1/series/:seriesId/${plural}/:${idName}`,
      summary: `Remove a ${taxonomy} from a series; locks them`,
      tag: plural,
      allow: { who: 'series-write' },
      params: Type.Object({ seriesId: Uuid, [idName]: Uuid }),
      status: 204,
      run: async (call, { params }) => {
        const { seriesId, [idName]: id } = params as Record<string, string>
        const named = (await namesOf(call, taxonomy, seriesId as string)).find((each) => each.id === id?.toLowerCase())
        if (!named) refuse('not_found', `The series has no ${taxonomy} ${id}.`)
        const change = { seriesIds: [seriesId as string], taxonomy, add: [], remove: [named.name] }
        await changeSeriesNames(call.services.database, call.caller, change)
        return undefined
      },
    }),
  ]
}

/** One change for many books or series. */
function bulkRoute(taxonomy: Taxonomy, kind: 'books' | 'series') {
  const { plural } = wordsOf(taxonomy)
  const ids = kind === 'books' ? 'bookIds' : 'seriesIds'
  return endpoint({
    method: 'POST',
    path: `/api/v1/${kind}/bulk/${plural}`,
    summary: `Add and remove ${plural} of many ${kind}`,
    tag: plural,
    allow: { who: kind === 'books' ? 'books-write' : 'series-write' },
    body: Type.Object(
      {
        [ids]: Type.Array(Uuid, { minItems: 1, maxItems: BULK_MAX[kind] }),
        add: Type.Optional(names),
        remove: Type.Optional(names),
      },
      { additionalProperties: false },
    ),
    reply: Changed,
    run: async (call, { body }) => {
      const { add = [], remove = [], [ids]: given = [] } = body as Record<string, string[]>
      const change = { taxonomy, add: readNames(add, '/add'), remove: readNames(remove, '/remove') }
      const caller = call.caller
      const { database } = call.services
      const updatedCount =
        kind === 'books'
          ? await changeBookNames(database, caller, { ...change, bookIds: given })
          : await changeSeriesNames(database, caller, { ...change, seriesIds: given })
      return { message: `Changed the ${plural} of ${updatedCount} ${kind}.`, updatedCount }
    },
  })
}

const routesOf = (taxonomy: Taxonomy) => [
  ...libraryRoutes(taxonomy),
  ...seriesListRoutes(taxonomy),
  ...seriesEntryRoutes(taxonomy),
  bulkRoute(taxonomy, 'books'),
  bulkRoute(taxonomy, 'series'),
]

export const taxonomyRoutes = [...routesOf('genre'), ...routesOf('tag')]
