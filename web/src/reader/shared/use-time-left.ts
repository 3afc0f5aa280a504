import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { api, ask } from '#api/client.ts'
import { Problem } from '#api/problem.ts'
import { paceTexts } from '#texts/marks.ts'
import type { Book } from '../records.ts'
import { durationLabel } from './labels.ts'
import { type Pace, type PaceKind, paceAfter, readPaces, secondsFor } from './pace.ts'

const PREFERENCE = { key: 'web.reader.pace' }
/** Turns between two savings; what is lost with a killed tab is measured again. */
const TURNS_KEPT = 10

const kindOf = ({ fileFormat }: Book, isText: boolean): PaceKind => (isText ? 'text' : fileFormat === 'pdf' ? 'pdf' : 'comic')

interface Options {
  isText: boolean
  isIncognito: boolean
  /** In the book, in pages; fractions count. Null before there is one. */
  page: number | null
  /** To the end of the book, and of the chapter; null without chapters. */
  ahead: { book: number; chapter: number | null }
}

/** What is left to read, in words; null while the reader's pace is not known. */
export interface TimeLeft {
  book: string | null
  chapter: string | null
  series: string | null
}

/** How long the rest of the book, the chapter and the series will take at the pace at which this user reads such books. */
export function useTimeLeft(book: Book, { isText, isIncognito, page, ahead }: Options): TimeLeft {
  const kind = kindOf(book, isText)
  const pace = usePace(kind, { page, isIncognito })
  const isKnown = secondsFor(pace, 1) !== null
  const following = useFollowingPages(book, { isText, isAsked: isKnown })
  const words = (pages: number | null, say: (values: { time: string }) => string) => {
    const seconds = pages === null ? null : secondsFor(pace, pages)
    return seconds === null ? null : say({ time: durationLabel(seconds) })
  }
  return {
    book: words(ahead.book, paceTexts.inBook),
    chapter: words(ahead.chapter, paceTexts.inChapter),
    series: words(following === null || following === 0 ? null : ahead.book + following, paceTexts.inSeries),
  }
}

/** The pace of a kind, measured while pages are turned and kept for all devices of the user. */
function usePace(kind: PaceKind, { page, isIncognito }: Pick<Options, 'page' | 'isIncognito'>): Pace {
  const { data } = useQuery({ queryKey: ['reading', 'pace'], queryFn: loadPaces, staleTime: Number.POSITIVE_INFINITY })
  const [turned, setTurned] = useState<Pace | null>(null)
  const pace = turned ?? data?.[kind] ?? { seconds: 0, pages: 0 }
  const looked = useRef<{ page: number; since: number } | null>(null)
  const unsaved = useRef<{ pace: Pace; turns: number } | null>(null)
  const save = () => {
    const kept = unsaved.current
    unsaved.current = null
    // Without it the pace is a little older on other devices.
    if (kept) void savePace(kind, kept.pace).catch(() => {})
  }
  useEffect(() => {
    if (page === null || page === looked.current?.page) return
    const before = looked.current
    looked.current = { page, since: Date.now() }
    if (!before || !data || isIncognito) return
    const next = paceAfter(pace, { seconds: (Date.now() - before.since) / 1000, pages: page - before.page })
    if (next === pace) return
    setTurned(next)
    unsaved.current = { pace: next, turns: (unsaved.current?.turns ?? 0) + 1 }
    if (unsaved.current.turns >= TURNS_KEPT) save()
  }, [page, data])
  useEffect(() => {
    // A page that nobody looks at is not read.
    const pause = () => {
      looked.current = null
      save()
    }
    document.addEventListener('visibilitychange', pause)
    return () => {
      document.removeEventListener('visibilitychange', pause)
      pause()
    }
  }, [])
  return pace
}

async function loadPaces(): Promise<Record<PaceKind, Pace>> {
  try {
    return readPaces((await ask(api.GET('/api/v1/user/preferences/{key}', { params: { path: PREFERENCE } }))).value)
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return readPaces(null)
    throw error
  }
}

async function savePace(kind: PaceKind, pace: Pace): Promise<void> {
  const value = { ...(await loadPaces()), [kind]: pace }
  await ask(api.PUT('/api/v1/user/preferences/{key}', { params: { path: PREFERENCE }, body: { value } }))
}

/** Longer series are not summed. */
const BOOKS_MAX = 500

/** Pages of the books after this one in its series; null while they are not known, or where some are read at another pace. */
function useFollowingPages(book: Book, { isText, isAsked }: { isText: boolean; isAsked: boolean }): number | null {
  const { data } = useQuery({
    queryKey: ['reading', book.seriesId, 'books'],
    enabled: isAsked,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => {
      const params = { path: { seriesId: book.seriesId }, query: { limit: BOOKS_MAX } }
      // Without `full` the answer is the records themselves.
      return ask(api.GET('/api/v1/series/{seriesId}/books', { params, signal })) as Promise<Book[]>
    },
  })
  const at = data?.findIndex(({ id }) => id === book.id) ?? -1
  if (!data || at === -1 || data.length >= BOOKS_MAX) return null
  const following = data.slice(at + 1)
  const isAlike = (other: Book) => kindOf(other, isText && other.fileFormat === 'epub') === kindOf(book, isText)
  return following.every(isAlike) ? following.reduce((sum, { pageCount }) => sum + pageCount, 0) : null
}
