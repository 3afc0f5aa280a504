import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { type Annotation, type AnnotationLocator, deleteAnnotation, listAnnotations, putAnnotation } from './bookmarks-api.ts'

/** What a user marked in a book. */
export interface Annotations {
  list: readonly Annotation[]
  /** Shows what a request changed, or why it failed. @returns whether it succeeded */
  change(done: Promise<unknown>): Promise<boolean>
  remove(annotation: Annotation): Promise<boolean>
  /** Why the last change failed. */
  refused: string | null
}

/** My bookmarks or highlights in a book. */
export function useAnnotations(bookId: string, kind: Annotation['kind']): Annotations {
  const client = useQueryClient()
  const queryKey = ['reading', bookId, 'annotations']
  const [refused, setRefused] = useState<string | null>(null)
  const { data } = useQuery({ queryKey, queryFn: ({ signal }) => listAnnotations(bookId, signal) })
  const change = async (done: Promise<unknown>) => {
    const reason = await done.then(
      () => null,
      (error: Error) => error.message,
    )
    setRefused(reason)
    await client.invalidateQueries({ queryKey })
    return reason === null
  }
  return {
    list: useMemo(() => (data ?? []).filter((each) => each.kind === kind), [data, kind]),
    change,
    remove: (annotation) => change(deleteAnnotation(bookId, annotation.id)),
    refused,
  }
}

export interface Bookmarks extends Annotations {
  /** Removes the bookmarks that are here, or adds one. */
  toggle(here: readonly Annotation[], locator: AnnotationLocator): void
}

/** My bookmarks in a book. */
export function useBookmarks(bookId: string): Bookmarks {
  const bookmarks = useAnnotations(bookId, 'bookmark')
  const { change, remove } = bookmarks
  return {
    ...bookmarks,
    toggle: (here, locator) =>
      here.length > 0 ? here.forEach((each) => void remove(each)) : void change(putAnnotation(bookId, { kind: 'bookmark', locator })),
  }
}
