import { useState } from 'react'
import { readerTexts } from '#texts/reader.ts'
import { ReaderPanel } from '../shared/reader-panel.tsx'
import { DocumentText } from './document-text.ts'
import type { BookMap } from './text-locator.ts'
import type { TextView } from './text-view.ts'
import { type FoundInBook, useBookSearch } from './use-book-search.ts'

interface SearchProps {
  map: BookMap
  view: TextView | null
  /** What is searched at first. */
  start: string
  /** By index of the chapter. */
  titleOf(index: number): string
  onClose(): void
}

/** Search in the text of the book. */
export function SearchDrawer({ map, view, start, titleOf, onClose }: SearchProps) {
  const [query, setQuery] = useState(start)
  const { found, isRunning, isCut } = useBookSearch(map.book, query)
  const chapters = [...new Set(found.map(({ index }) => index))]
  const show = ({ index, at, length }: FoundInBook) => {
    void view?.goTo(index, (doc) => new DocumentText(doc).rangeAt(at, length) ?? 0, { selects: true })
    onClose()
  }
  return (
    <ReaderPanel title={readerTexts.search()} isDrawer onClose={onClose}>
      <div className="input search text-search">
        {/* biome-ignore lint/a11y/noAutofocus: who opens the search wants to type */}
        <input type="search" autoFocus value={query} aria-label={readerTexts.search()} onChange={(event) => setQuery(event.target.value)} />
      </div>
      <p className="found-count" role="status">
        {query.trim() !== '' && countWords(found.length, { isRunning, isCut })}
      </p>
      {chapters.map((chapter) => (
        <section className="found" key={chapter}>
          <h3 className="group-title" dir="auto">
            {titleOf(chapter)}
          </h3>
          {found
            .filter(({ index }) => index === chapter)
            .map((each) => (
              <button type="button" key={each.at} onClick={() => show(each)}>
                <span dir="auto">
                  {each.before}
                  <mark>{each.words}</mark>
                  {each.after}
                </span>
              </button>
            ))}
        </section>
      ))}
    </ReaderPanel>
  )
}

function countWords(count: number, { isRunning, isCut }: { isRunning: boolean; isCut: boolean }): string {
  if (isRunning && count === 0) return readerTexts.searching()
  if (isCut) return readerTexts.foundFirst({ count })
  return count === 0 ? readerTexts.foundNone() : readerTexts.found({ count })
}
