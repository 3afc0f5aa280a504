import { useEffect, useState } from 'react'
import { DocumentText } from './document-text.ts'
import { type FoundWords, findWords } from './find-words.ts'
import { loadChapter, type TextBook } from './text-book.ts'

export interface FoundInBook extends FoundWords {
  /** Of the chapter. */
  index: number
}

/** What was found so far. */
export interface BookSearch {
  found: readonly FoundInBook[]
  isRunning: boolean
  /** Whether there is more than is shown. */
  isCut: boolean
}

/** Beyond this nobody reads the list. */
const FOUND_MAX = 200
/** After the last key. */
const REST_MS = 250
const NOTHING: BookSearch = { found: [], isRunning: false, isCut: false }

/** Searches all chapters in order; what is found shows while the rest is searched. */
export function useBookSearch(book: TextBook, query: string): BookSearch {
  const [search, setSearch] = useState(NOTHING)
  useEffect(() => {
    setSearch(NOTHING)
    if (query.trim() === '') return
    const ending = new AbortController()
    const timer = setTimeout(() => {
      setSearch({ ...NOTHING, isRunning: true })
      searchBook(book, query, { signal: ending.signal, onFound: setSearch }).catch(() => {})
    }, REST_MS)
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }, [book, query])
  return search
}

async function searchBook(
  book: TextBook,
  query: string,
  { signal, onFound }: { signal: AbortSignal; onFound(search: BookSearch): void },
): Promise<void> {
  const found: FoundInBook[] = []
  for (let index = 0; index < book.sections.length && found.length < FOUND_MAX; index++) {
    const doc = await loadChapter(book.sections[index]?.address ?? '', signal)
    signal.throwIfAborted()
    if (!doc) continue
    const inChapter = findWords(new DocumentText(doc).text, query, FOUND_MAX - found.length)
    found.push(...inChapter.map((words) => ({ ...words, index })))
    if (inChapter.length > 0) onFound({ found: [...found], isRunning: true, isCut: false })
  }
  onFound({ found: [...found], isRunning: false, isCut: found.length >= FOUND_MAX })
}
