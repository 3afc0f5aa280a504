import type { TSchema } from 'typebox'
import Type from 'typebox'
import { SORT_LENGTH_MAX } from '#core/foundation/sort.ts'

const SIZE_DEFAULT = 20
/** Apps on e-readers request a thousand at once. */
const SIZE_MAX = 1_000
/** Of an unpaged list: about 20 MB of JSON, which is written while it is read. The answer has the total if there are more. */
const UNPAGED_MAX = 10_000
/** Apps send one or two. */
const SORTS_MAX = 20
const PAGE_MAX = 2_147_483_647

/** The query of every list. Invalid pages and sizes become what Spring makes of them. */
export const komgaPageQuery = {
  page: Type.Optional(Type.Integer({ minimum: -PAGE_MAX, maximum: PAGE_MAX, description: 'From 0; default 0.' })),
  size: Type.Optional(
    Type.Integer({ minimum: -PAGE_MAX, maximum: PAGE_MAX, description: `Default ${SIZE_DEFAULT}, at most ${SIZE_MAX}.` }),
  ),
  unpaged: Type.Optional(Type.Boolean({ description: `All items in one page, at most ${UNPAGED_MAX}.` })),
  sort: Type.Optional(
    Type.Array(Type.String({ maxLength: SORT_LENGTH_MAX }), {
      maxItems: SORTS_MAX,
      description: '`<field>,<asc|desc>`; the first known field counts.',
    }),
  ),
}

export interface KomgaPageRequest {
  page?: number
  size?: number
  unpaged?: boolean
  sort?: string[]
}

/** The requested page of a list. */
export interface Window {
  /** From 0. */
  page: number
  size: number
  unpaged: boolean
  offset: number
  limit: number
  sorted: boolean
}

export function readWindow({ page = 0, size = SIZE_DEFAULT, unpaged = false, sort = [] }: KomgaPageRequest): Window {
  const sorted = sort.some((one) => one !== '')
  if (unpaged) return { page: 0, size: UNPAGED_MAX, unpaged, offset: 0, limit: UNPAGED_MAX, sorted }
  const from = Math.max(0, page)
  const many = size < 1 ? SIZE_DEFAULT : Math.min(size, SIZE_MAX)
  return { page: from, size: many, unpaged, offset: from * many, limit: many, sorted }
}

const Sort = Type.Object({ sorted: Type.Boolean(), unsorted: Type.Boolean(), empty: Type.Boolean() }, { title: 'KomgaSort' })
const Count = Type.Integer({ minimum: 0 })

const Pageable = Type.Object(
  { sort: Sort, pageNumber: Count, pageSize: Count, offset: Count, paged: Type.Boolean(), unpaged: Type.Boolean() },
  { title: 'KomgaPageable' },
)

/** A page as Spring writes it. */
export const PageOf = <const T extends TSchema>(item: T) =>
  Type.Object(
    {
      content: Type.Array(item),
      pageable: Pageable,
      sort: Sort,
      first: Type.Boolean(),
      last: Type.Boolean(),
      empty: Type.Boolean(),
      number: Count,
      numberOfElements: Count,
      size: Count,
      totalElements: Count,
      totalPages: Count,
    },
    { title: `PageOf${(item as { title?: string }).title}` },
  )

/** @param list.count the length of `content`, which may be read only while it is written */
export function komgaPage<T>({ page, size, unpaged, offset, sorted }: Window, list: { content: T[]; count: number; total: number }) {
  const { content, count, total } = list
  const pageSize = unpaged ? Math.max(total, SIZE_DEFAULT) : size
  const totalPages = Math.ceil(total / pageSize)
  const sort = { sorted, unsorted: !sorted, empty: !sorted }
  return {
    content,
    pageable: { sort, pageNumber: page, pageSize, offset, paged: !unpaged, unpaged },
    sort,
    first: page === 0,
    last: page >= totalPages - 1,
    empty: count === 0,
    number: page,
    numberOfElements: count,
    size: pageSize,
    totalElements: total,
    totalPages,
  }
}
