import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Annotation, type AnnotationLocator, addBookmark, deleteAnnotation, listAnnotations } from './bookmarks-api.ts'

export interface Bookmarks {
  list: readonly Annotation[]
  /** Removes the bookmarks that are here, or adds one. */
  toggle(here: readonly Annotation[], locator: AnnotationLocator): void
  remove(bookmark: Annotation): void
  /** Why the last change failed. */
  refused: string | null
}

/** My bookmarks in a book. */
export function useBookmarks(bookId: string): Bookmarks {
  const client = useQueryClient()
  const queryKey = ['reading', bookId, 'annotations']
  const [refused, setRefused] = useState<string | null>(null)
  const { data = [] } = useQuery({ queryKey, queryFn: ({ signal }) => listAnnotations(bookId, signal) })
  const change = (done: Promise<unknown>) => {
    done
      .then(
        () => setRefused(null),
        (error: Error) => setRefused(error.message),
      )
      .finally(() => void client.invalidateQueries({ queryKey }))
  }
  const remove = (bookmark: Annotation) => change(deleteAnnotation(bookId, bookmark.id))
  return {
    list: data.filter(({ kind }) => kind === 'bookmark'),
    toggle: (here, locator) => (here.length > 0 ? here.forEach(remove) : change(addBookmark(bookId, locator))),
    remove,
    refused,
  }
}
