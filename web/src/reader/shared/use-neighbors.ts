import { useQuery } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import type { Book } from '../records.ts'

export interface Neighbor {
  book: Book
  title: string
  href: string
}

/** The books before and after this one; null at the ends, and undefined while they are not known. */
export interface Neighbors {
  previous: Neighbor | null | undefined
  next: Neighbor | null | undefined
  /** Of the read list that is read; null for the series. */
  listHref: string | null
}

/**
 * The books around a book in its series, or in the read list that the address names.
 * @param search of the address of this reader: what the next book is read with too
 */
export function useNeighbors(book: Book, search: URLSearchParams): Neighbors {
  const readListId = search.get('readListId')
  const { data } = useQuery({
    queryKey: ['reading', book.id, 'adjacent', readListId],
    queryFn: ({ signal }) => {
      const params = { path: { bookId: book.id }, query: readListId === null ? {} : { readListId } }
      return ask(api.GET('/api/v1/books/{bookId}/adjacent', { params, signal }))
    },
  })
  return {
    previous: data && neighborOf(data.prev, search),
    next: data && neighborOf(data.next, search),
    listHref: readListId === null ? null : `/read-lists/${encodeURIComponent(readListId)}`,
  }
}

function neighborOf(book: Book | null, search: URLSearchParams): Neighbor | null {
  if (!book) return null
  const kept = new URLSearchParams(search)
  kept.delete('page')
  kept.delete('chapter')
  const query = kept.toString()
  return { book, title: book.title, href: `/books/${book.id}/read${query ? `?${query}` : ''}` }
}
