import { type QueryKey, useQueries, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Listed } from '#api/records.ts'

/** Records of one request. */
export const LIST_PAGE_SIZE = 100
/** Pages are asked for once the window has been still for this time, so that those scrolled past are never asked for. In milliseconds. */
const REST_MS = 100
/** Pages that are not seen are forgotten after this time: a person who scrolls back finds them, and 100,000 records do not stay in memory. */
const KEPT_MS = 60_000

/** A list of any length that is asked for in pages. */
export interface ListSource<T> {
  /** Names the list and all that it depends on. */
  key: QueryKey
  /** @param page from 1 */
  fetch: (page: number, signal: AbortSignal) => Promise<Listed<T>>
}

export interface ListPages<T> {
  /** Null until the first answer. */
  total: number | null
  /** Undefined while it is not there yet. */
  recordAt: (index: number) => T | undefined
  error: Error | null
  retry: () => void
}

/** One page of a list, kept for a while. @param page from 1 */
export const listPageQuery = <T>(source: ListSource<T>, page: number) => ({
  queryKey: [...source.key, page],
  queryFn: ({ signal }: { signal: AbortSignal }) => source.fetch(page, signal),
  gcTime: KEPT_MS,
})

const pageOf = (index: number) => Math.floor(Math.max(0, index) / LIST_PAGE_SIZE) + 1

/** The records from `first` to `last`, and what is known of others. A page that is no longer wanted is aborted. */
export function useListPages<T>(source: ListSource<T>, first: number, last: number): ListPages<T> {
  const client = useQueryClient()
  const name = JSON.stringify(source.key)
  const wanted = useRestingPages(name, pageOf(first), pageOf(Math.max(first, last)))
  const answers = useQueries({
    queries: wanted.map((page) => listPageQuery(source, page)),
  })
  const lastTotal = useRef<{ name: string; total: number } | null>(null)
  const total = answers.find((each) => each.data)?.data?.total
  if (total !== undefined) lastTotal.current = { name, total }
  const failed = answers.find((each) => each.error)
  return {
    total: total ?? (lastTotal.current?.name === name ? lastTotal.current.total : null),
    recordAt: (index) => client.getQueryData<Listed<T>>([...source.key, pageOf(index)])?.data[index % LIST_PAGE_SIZE],
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
  }
}

/** The pages of the window once it rests; those of a new list at once. */
function useRestingPages(name: string, from: number, to: number): number[] {
  const [resting, setResting] = useState({ name, from, to })
  const isNew = resting.name !== name
  useEffect(() => {
    if (isNew) {
      setResting({ name, from, to })
      return
    }
    const timer = setTimeout(() => setResting({ name, from, to }), REST_MS)
    return () => clearTimeout(timer)
  }, [name, from, to, isNew])
  const now = isNew ? { from, to } : resting
  return Array.from({ length: now.to - now.from + 1 }, (_, index) => now.from + index)
}
