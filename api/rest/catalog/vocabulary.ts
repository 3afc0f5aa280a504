import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { FILTER_VALUES_MAX, listFilterValues, listSeriesWords, VALUE_FIELDS } from '#core/catalog/filter-value-query.ts'
import { SEARCH_LENGTH_MAX } from '#core/catalog/search-query.ts'
import { AUTHOR_ROLES } from '#core/fields/field.ts'
import { described, Noun, Nullable, OneOf, Uuid } from '#core/foundation/schema.ts'
import { listPeople } from '#core/metadata/people-query.ts'

const endpoint = endpointOf<Pick<DataServices, 'database'>>()

const query = {
  ...pageQuery,
  search: Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX, description: 'Part of the name, ignoring case and accents.' })),
}
const shared = { method: 'GET', dependsOn: 'catalog', tag: 'series', allow: { who: 'series-read' } } as const
const SeriesWord = Noun('SeriesWord')({
  name: Type.String(),
  seriesCount: Type.Integer({ minimum: 0, description: 'Only series that the caller may see.' }),
})

const ListedAuthor = Noun('ListedAuthor')({
  name: Type.String(),
  role: Type.String(),
  seriesCount: Type.Integer({
    minimum: 1,
    description: 'In how many series that the caller may see the person has any role, or the given one. The same at all roles of a person.',
  }),
})

const FilterValue = Noun('FilterValue')({
  value: Type.String({ description: 'For a condition; of an age or a year the number as text.' }),
  role: Nullable(Type.String(), { description: 'Of a person: a condition takes `<role>:<value>`.' }),
  count: Type.Integer({ minimum: 1, description: 'How many of the list have it.' }),
})

const wordsRoute = (name: string, of: 'publisher' | 'language') =>
  endpoint({
    ...shared,
    name,
    path: `/api/v1/${of}s`,
    summary: `List the ${of}s of all series by name`,
    query: Type.Object(query),
    reply: Paginated(SeriesWord),
    run: async (call, { query }) => {
      const list = { search: query.search, ...pageWindow(query) }
      return paginate(call, query, await listSeriesWords(call.services.database, call.caller, of, list))
    },
  })

export const vocabularyRoutes = [
  endpoint({
    ...shared,
    name: 'listAuthors',
    path: '/api/v1/authors',
    summary: 'List the people of all series and books by name, each once for every role',
    query: Type.Object({ ...query, role: Type.Optional(OneOf(AUTHOR_ROLES)) }),
    reply: Paginated(ListedAuthor),
    run: async (call, { query: { search, role, ...pages } }) => {
      const list = { search, role, renamed: {}, ...pageWindow(pages) }
      return paginate(call, pages, await listPeople(call.services.database, call.caller, list))
    },
  }),
  endpoint({
    ...shared,
    name: 'listFilterValues',
    path: '/api/v1/filter-values',
    summary: `List the most frequent values of a field of series or books, at most ${FILTER_VALUES_MAX}`,
    allow: { who: 'series-read', also: ['books-read'] },
    query: Type.Object({
      field: described(OneOf(VALUE_FIELDS), 'Whose values are listed.'),
      of: Type.Optional(
        described(OneOf(['series', 'books']), 'Default: series, for formats books. Series have no format, books no status and no age.'),
      ),
      search: Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX, description: 'Part of the value, ignoring case and accents.' })),
      libraryId: Type.Optional(Uuid),
      role: Type.Optional(described(OneOf(AUTHOR_ROLES), 'Only for people.')),
    }),
    reply: Type.Array(FilterValue),
    run: async (call, { query }) => {
      const { of = query.field === 'format' ? 'books' : 'series', ...list } = query
      return await listFilterValues(call.services.database, call.caller, { ...list, of, state: call.listState })
    },
  }),
  wordsRoute('listPublishers', 'publisher'),
  wordsRoute('listLanguages', 'language'),
]
