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
}

/** @param search of the address of this reader: what the next book is read with too */
export function useNeighbors(book: Book, search: URLSearchParams): Neighbors {
  const { data } = useQuery({
    queryKey: ['reading', book.id, 'adjacent'],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/books/{bookId}/adjacent', { params: { path: { bookId: book.id } }, signal })),
  })
  return { previous: data && neighborOf(data.prev, search), next: data && neighborOf(data.next, search) }
}

function neighborOf(book: Book | null, search: URLSearchParams): Neighbor | null {
  if (!book) return null
  const kept = new URLSearchParams(search)
  kept.delete('page')
  const query = kept.toString()
  return { book, title: book.title, href: `/books/${book.id}/read${query ? `?${query}` : ''}` }
}
