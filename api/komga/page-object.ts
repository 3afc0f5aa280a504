import type { TSchema } from 'typebox'
import Type from 'typebox'
import { SORT_LENGTH_MAX } from '#core/foundation/sort.ts'

const SIZE_DEFAULT = 20
/** Apps on e-readers ask for a thousand at once. */
const SIZE_MAX = 1_000
/** Of a list that is asked for whole: some 20 MB of JSON, which is written while it is read. The total tells whoever has more. */
const UNPAGED_MAX = 10_000
/** Apps name one or two. */
const SORTS_MAX = 20
const PAGE_MAX = 2_147_483_647

/** What every list takes; wrong pages and sizes are those that Spring makes of them. */
export const pageQuery = {
  page: Type.Optional(Type.Integer({ minimum: -PAGE_MAX, maximum: PAGE_MAX, description: 'From 0; 0 unless said.' })),
  size: Type.Optional(
    Type.Integer({ minimum: -PAGE_MAX, maximum: PAGE_MAX, description: `${SIZE_DEFAULT} unless said, at most ${SIZE_MAX}.` }),
  ),
  unpaged: Type.Optional(Type.Boolean({ description: `All of them in one page, of which there may be ${UNPAGED_MAX}.` })),
  sort: Type.Optional(
    Type.Array(Type.String({ maxLength: SORT_LENGTH_MAX }), {
      maxItems: SORTS_MAX,
      description: '`<field>,<asc|desc>`; the first known one counts.',
    }),
  ),
}

export interface PageRequest {
  page?: number
  size?: number
  unpaged?: boolean
  sort?: string[]
}

/** One page of a list as it was asked for. */
export interface Window {
  /** From 0. */
  page: number
  size: number
  unpaged: boolean
  offset: number
  limit: number
  sorted: boolean
}

export function readWindow({ page = 0, size = SIZE_DEFAULT, unpaged = false, sort = [] }: PageRequest): Window {
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

/** @param list.count how many are on this page, which may be read only while it is written */
export function pageOf<T>({ page, size, unpaged, offset, sorted }: Window, list: { content: T[]; count: number; total: number }) {
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
