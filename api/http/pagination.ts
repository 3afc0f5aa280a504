import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import type { Call } from '#api/http/endpoint.ts'

/** Page size if the client gives none. */
const PAGE_SIZE_DEFAULT = 50
/** Larger page sizes are reduced to this; a page stays at a few hundred kilobytes. */
export const PAGE_SIZE_MAX = 500

/** Query members of every paginated list; spread them into the query schema of the route. */
export const pageQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Page number, from 1; default 1.' })),
  pageSize: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `Items per page; default ${PAGE_SIZE_DEFAULT}. Values above ${PAGE_SIZE_MAX} are reduced to ${PAGE_SIZE_MAX}.`,
    }),
  ),
}

/** The page that a validated query names. */
interface PageQuery {
  page?: number
  pageSize?: number
}

/** The window of a list to read: `limit` rows from `offset`. */
interface PageWindow {
  offset: number
  limit: number
}

/** Converts the validated query to the page and the window to read; applies the default and the maximum. */
export function readPageWindow(query: PageQuery): Required<PageQuery> & PageWindow {
  const page = query.page ?? 1
  const pageSize = Math.min(query.pageSize ?? PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX)
  // OFFSET is a bigint in PostgreSQL; beyond 2^53 JSON cannot represent the number exactly either.
  return { page, pageSize, offset: Math.min((page - 1) * pageSize, Number.MAX_SAFE_INTEGER), limit: pageSize }
}

/** Only the window, for the functions that read lists. */
export function pageWindow(query: PageQuery): PageWindow {
  const { offset, limit } = readPageWindow(query)
  return { offset, limit }
}

/** Navigation links: request paths with their query. */
const Links = Type.Object(
  {
    self: Type.String(),
    first: Type.String(),
    last: Type.String(),
    next: Type.Union([Type.String(), Type.Null()]),
    prev: Type.Union([Type.String(), Type.Null()]),
  },
  { title: 'Links' },
)

/** Schema of one page of `item`; derives its title from the title of the item. */
export const Paginated = <const T extends TSchema>(item: T) =>
  Type.Object(
    {
      data: Type.Array(item),
      links: Links,
      page: Type.Integer({ minimum: 1 }),
      pageSize: Type.Integer({ minimum: 1 }),
      total: Type.Integer({ minimum: 0 }),
      totalPages: Type.Integer({ minimum: 0 }),
    },
    'title' in item ? { title: `Paginated${item.title}` } : {},
  )

/** One page of items with its links. */
export interface ListPage<T> {
  data: T[]
  links: Static<typeof Links>
  page: number
  pageSize: number
  total: number
  totalPages: number
}

/**
 * Wraps the rows of one page with counts and links, and adds the Link header. Links have page and pageSize first and keep all other parameters.
 * @param list the rows that {@link pageWindow} names, and the number of all
 */
export function paginate<T>(
  call: Pick<Call<unknown>, 'path' | 'rawQuery' | 'setHeader'>,
  query: PageQuery,
  { items, total }: { items: T[]; total: number },
): ListPage<T> {
  const { page, pageSize } = readPageWindow(query)
  const totalPages = Math.ceil(total / pageSize)
  const last = Math.max(totalPages, 1)
  const others = new URLSearchParams(call.rawQuery)
  others.delete('page')
  others.delete('pageSize')
  const rest = others.toString()
  const link = (number: number) => `${call.path}?page=${number}&pageSize=${pageSize}${rest === '' ? '' : `&${rest}`}`
  const links = {
    self: link(page),
    first: link(1),
    last: link(last),
    next: page < last ? link(page + 1) : null,
    // Beyond the end, `prev` is the last page that exists.
    prev: page > 1 ? link(Math.min(page - 1, last)) : null,
  }
  call.setHeader('Link', linkHeader(links))
  return { data: items, links, page, pageSize, total, totalPages }
}

/** The same links as an RFC 8288 `Link` header, in the order first, prev, self, next, last. */
export function linkHeader(links: Static<typeof Links>): string {
  const parts: string[] = []
  for (const relation of ['first', 'prev', 'self', 'next', 'last'] as const) {
    const target = links[relation]
    if (target !== null) parts.push(`<${target}>; rel="${relation}"`)
  }
  return parts.join(', ')
}
