import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { idIn, KINDS, reachOfKind } from '#api/rest/catalog/metadata-kind.ts'
import { NamedShape } from '#api/views/book-view.ts'
import type { Caller } from '#core/account/caller.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { NameText, Noun, Uuid } from '#core/foundation/schema.ts'
import { changeNames, setNames } from '#core/metadata/edit-metadata.ts'
import { NAMES_MAX, nameKey, readName, readNames } from '#core/metadata/name.ts'
import { listNames, listNamesOf, type Named } from '#core/metadata/taxonomy-query.ts'
import { deleteName, deleteUnused, type Taxonomy } from '#core/metadata/taxonomy-store.ts'
import { checkVisible } from '#core/metadata/visible-records-query.ts'

type Services = Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

/** Room for surrounding white space; the name itself has a lower limit. */
const GivenName = NameText({ maxLength: 1_000 })
const names = Type.Array(GivenName, { maxItems: NAMES_MAX })
const Changed = Noun('BulkOutcome')({ message: Type.String(), updatedCount: Type.Integer({ minimum: 0 }) })

type Call = { caller: Caller; services: Services }

async function namesOf({ services, caller }: Call, taxonomy: Taxonomy, kind: Kind, given: string): Promise<Named[]> {
  const id = await checkVisible(services.database, caller, kind, given)
  return (await listNamesOf(services.database, caller, { taxonomy, kind, ids: [id] })).get(id) ?? []
}

/** A genre or tag in names of operations, in paths and in members. */
const wordsOf = (taxonomy: Taxonomy) => ({ noun: taxonomy === 'genre' ? 'Genre' : 'Tag', plural: `${taxonomy}s`, idName: `${taxonomy}Id` })

/** Routes to the genres or tags of a book or series. */
const reachOf = (taxonomy: Taxonomy, kind: Kind) => ({
  ...reachOfKind(kind, `${taxonomy}s`),
  // The tags of a book have no lock.
  locks: kind === 'book' && taxonomy === 'tag' ? '' : '; locks them',
})

/** Genres or tags of all libraries. */
function libraryRoutes(taxonomy: Taxonomy) {
  const { noun, plural, idName } = wordsOf(taxonomy)
  return [
    endpoint({
      name: `list${noun}s`,
      method: 'GET',
      path: `/api/v1/${plural}`,
      dependsOn: 'catalog',
      summary: `List all ${plural} by name`,
      tag: plural,
      allow: { who: 'series-read' },
      query: Type.Object(pageQuery),
      reply: Paginated(NamedShape),
      run: async (call, { query }) =>
        paginate(call, query, await listNames(call.services.database, call.caller, { taxonomy, ...pageWindow(query) })),
    }),
    endpoint({
      name: `cleanUp${noun}s`,
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
      name: `delete${noun}`,
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
      },
    }),
  ]
}

/** All genres or tags of a record. */
function listRoutes(taxonomy: Taxonomy, kind: Kind) {
  const { noun, plural } = wordsOf(taxonomy)
  const { path, params, read, write, locks } = reachOf(taxonomy, kind)
  const List = Type.Object({ [plural]: Type.Array(NamedShape) })
  const view = async (call: Call, id: string) => ({ [plural]: await namesOf(call, taxonomy, kind, id) })
  return [
    endpoint({
      name: `list${KINDS[kind].noun}${noun}s`,
      method: 'GET',
      path,
      summary: `List the ${plural} of a ${kind}`,
      tag: plural,
      allow: read,
      params,
      reply: List,
      run: (call, { params }) => view(call, idIn(kind, params)),
    }),
    endpoint({
      name: `put${KINDS[kind].noun}${noun}s`,
      method: 'PUT',
      path,
      summary: `Set the ${plural} of a ${kind}${locks}`,
      tag: plural,
      allow: write,
      params,
      body: Type.Object({ [plural]: names }, { additionalProperties: false }),
      reply: List,
      run: async (call, { params, body }) => {
        const id = idIn(kind, params)
        const names = readNames((body as Record<string, string[]>)[plural] ?? [], `/${plural}`)
        await setNames(call.services.database, call.caller, { kind, id, taxonomy, names })
        return await view(call, id)
      },
    }),
  ]
}

/** One genre or tag of a record. */
function entryRoutes(taxonomy: Taxonomy, kind: Kind) {
  const { noun, plural, idName } = wordsOf(taxonomy)
  const { path, params, write, locks } = reachOf(taxonomy, kind)
  return [
    endpoint({
      name: `add${KINDS[kind].noun}${noun}`,
      method: 'POST',
      path,
      summary: `Add a ${taxonomy} to a ${kind}${locks}`,
      mayCreate: true,
      tag: plural,
      allow: write,
      params,
      body: Type.Object({ name: GivenName }, { additionalProperties: false }),
      reply: NamedShape,
      run: async (call, { params, body }) => {
        const id = idIn(kind, params)
        const name = readName(body.name, '/name')
        const changed = await changeNames(call.services.database, call.caller, { kind, ids: [id], taxonomy, add: [name], remove: [] })
        if (changed > 0) call.created()
        const all = await namesOf(call, taxonomy, kind, id)
        return all.find((named) => nameKey(named.name) === nameKey(name)) ?? refuse('conflict')
      },
    }),
    endpoint({
      name: `remove${KINDS[kind].noun}${noun}`,
      method: 'DELETE',
      path: `${path}/:${idName}`,
      summary: `Remove a ${taxonomy} from a ${kind}${locks}`,
      tag: plural,
      allow: write,
      params: Type.Object({ [KINDS[kind].idName]: Uuid, [idName]: Uuid }),
      status: 204,
      run: async (call, { params }) => {
        const id = idIn(kind, params)
        const { [idName]: nameId = '' } = params as Record<string, string>
        const named = (await namesOf(call, taxonomy, kind, id)).find((each) => each.id === nameId.toLowerCase())
        if (!named) refuse('not_found', `The ${kind} has no ${taxonomy} ${nameId}.`)
        await changeNames(call.services.database, call.caller, { kind, ids: [id], taxonomy, add: [], remove: [named.name] })
      },
    }),
  ]
}

/** One change for many records. */
function bulkRoute(taxonomy: Taxonomy, kind: Kind) {
  const { noun, plural } = wordsOf(taxonomy)
  const { many, idsName, bulkMax } = KINDS[kind]
  return endpoint({
    name: `bulkChange${KINDS[kind].noun}${noun}s`,
    method: 'POST',
    path: `/api/v1/${many}/bulk/${plural}`,
    summary: `Add and remove ${plural} of many ${many}`,
    tag: plural,
    allow: reachOf(taxonomy, kind).write,
    body: Type.Object(
      {
        [idsName]: Type.Array(Uuid, { minItems: 1, maxItems: bulkMax }),
        add: Type.Optional(names),
        remove: Type.Optional(names),
      },
      { additionalProperties: false },
    ),
    reply: Changed,
    run: async (call, { body }) => {
      const { add = [], remove = [], [idsName]: ids = [] } = body as Record<string, string[]>
      const change = { kind, ids, taxonomy, add: readNames(add, '/add'), remove: readNames(remove, '/remove') }
      const updatedCount = await changeNames(call.services.database, call.caller, change)
      return { message: `Changed the ${plural} of ${updatedCount} ${many}.`, updatedCount }
    },
  })
}

export const taxonomyRoutes = (['genre', 'tag'] as const).flatMap((taxonomy) => [
  ...libraryRoutes(taxonomy),
  ...(['series', 'book'] as const).flatMap((kind) => [
    ...listRoutes(taxonomy, kind),
    ...entryRoutes(taxonomy, kind),
    bulkRoute(taxonomy, kind),
  ]),
])
