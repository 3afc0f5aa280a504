import Type from 'typebox'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { NamedShape } from '#api/views/book-view.ts'
import { refuse } from '#core/foundation/errors.ts'
import { NameText, Uuid } from '#core/foundation/schema.ts'
import { checkBook } from '#core/metadata/book-metadata-query.ts'
import { changeBookNames, setBookNames } from '#core/metadata/edit-book-metadata.ts'
import { NAMES_MAX, nameKey, readName, readNames } from '#core/metadata/name.ts'
import { listNamesOf, type Named } from '#core/metadata/taxonomy-query.ts'
import type { Taxonomy } from '#core/metadata/taxonomy-store.ts'

type Services = Needs<'database'>
const endpoint = endpointOf<Services>()

const BookId = Type.Object({ bookId: Uuid })
/** Room for surrounding white space; the name itself has a lower limit. */
const GivenName = NameText({ maxLength: 1_000 })

async function namesOf(call: Call<Services>, taxonomy: Taxonomy, bookId: string): Promise<Named[]> {
  const { database } = call.services
  const caller = call.caller
  const id = await checkBook(database, caller, bookId)
  return (await listNamesOf(database, caller, { taxonomy, kind: 'book', ids: [id] })).get(id) ?? []
}

const wordsOf = (taxonomy: Taxonomy) => ({
  plural: `${taxonomy}s`,
  idName: `${taxonomy}Id`,
  path: `/api/v1/books/:bookId/${taxonomy}s`,
  locks: taxonomy === 'genre' ? '; locks them' : '',
})

/** All genres or tags of a book. */
function listRoutes(taxonomy: Taxonomy) {
  const { plural, path, locks } = wordsOf(taxonomy)
  const List = Type.Object({ [plural]: Type.Array(NamedShape) })
  return [
    endpoint({
      method: 'GET',
      path,
      summary: `List the ${plural} of a book`,
      tag: plural,
      allow: { who: 'books-read' },
      params: BookId,
      reply: List,
      run: async (call, { params }) => ({ [plural]: await namesOf(call, taxonomy, params.bookId) }),
    }),
    endpoint({
      method: 'PUT',
      path,
      summary: `Set the ${plural} of a book${locks}`,
      tag: plural,
      allow: { who: 'books-write' },
      params: BookId,
      body: Type.Object({ [plural]: Type.Array(GivenName, { maxItems: NAMES_MAX }) }, { additionalProperties: false }),
      reply: List,
      run: async (call, { params, body }) => {
        const names = readNames((body as Record<string, string[]>)[plural] ?? [], `/${plural}`)
        await setBookNames(call.services.database, call.caller, { ...params, taxonomy, names })
        return { [plural]: await namesOf(call, taxonomy, params.bookId) }
      },
    }),
  ]
}

/** One genre or tag of a book. */
function entryRoutes(taxonomy: Taxonomy) {
  const { plural, idName, path, locks } = wordsOf(taxonomy)
  return [
    endpoint({
      method: 'POST',
      path,
      summary: `Add a ${taxonomy} to a book${locks}`,
      mayCreate: true,
      tag: plural,
      allow: { who: 'books-write' },
      params: BookId,
      body: Type.Object({ name: GivenName }, { additionalProperties: false }),
      reply: NamedShape,
      run: async (call, { params, body }) => {
        const name = readName(body.name, '/name')
        const change = { bookIds: [params.bookId], taxonomy, add: [name], remove: [] }
        if ((await changeBookNames(call.services.database, call.caller, change)) > 0) call.created()
        const all = await namesOf(call, taxonomy, params.bookId)
        return all.find((named) => nameKey(named.name) === nameKey(name)) ?? refuse('conflict')
      },
    }),
    endpoint({
      method: 'DELETE',
      path: `${path}/:${idName}`,
      summary: `Remove a ${taxonomy} from a book${locks}`,
      tag: plural,
      allow: { who: 'books-write' },
      params: Type.Object({ bookId: Uuid, [idName]: Uuid }),
      status: 204,
      run: async (call, { params }) => {
        const { bookId = '', [idName]: id = '' } = params as Record<string, string>
        const named = (await namesOf(call, taxonomy, bookId)).find((each) => each.id === id.toLowerCase())
        if (!named) refuse('not_found', `The book has no ${taxonomy} ${id}.`)
        const change = { bookIds: [bookId], taxonomy, add: [], remove: [named.name] }
        await changeBookNames(call.services.database, call.caller, change)
        return undefined
      },
    }),
  ]
}

/** Genres and tags of a book, as those of a series. */
const routesOf = (taxonomy: Taxonomy) => [...listRoutes(taxonomy), ...entryRoutes(taxonomy)]

export const bookTaxonomyRoutes = [...routesOf('genre'), ...routesOf('tag')]
