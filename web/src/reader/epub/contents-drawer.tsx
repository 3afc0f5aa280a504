import { useEffect, useRef } from 'react'
import { readerTexts } from '#texts/reader.ts'
import { ReaderPanel } from '../shared/reader-panel.tsx'
import type { BookMap } from './text-locator.ts'
import type { ContentsEntry } from './text-map.ts'
import type { TextView } from './text-view.ts'
import type { Whereabouts } from './whereabouts.ts'

interface ContentsProps {
  contents: readonly ContentsEntry[]
  where: Whereabouts
  map: BookMap
  view: TextView | null
  onClose(): void
}

/** The contents of a text, with the place of the reader. */
export function ContentsDrawer({ contents, where, map, view, onClose }: ContentsProps) {
  const current = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    current.current?.scrollIntoView({ block: 'center' })
  }, [])
  const follow = (href: string) => {
    const target = map.book.resolve(href)
    if (target) void view?.goToTarget(target)
    onClose()
  }
  return (
    <ReaderPanel title={readerTexts.contents()} isDrawer onClose={onClose}>
      {contents.length === 0 && <p>{readerTexts.noContents()}</p>}
      <ol className="toc">
        {contents.map(({ title, href, depth }, index) => (
          // By index: books name the same place twice, and the list never changes.
          <li key={index} className="toc-entry" data-depth={depth}>
            <button
              type="button"
              ref={index === where.entry ? current : undefined}
              className={index < where.entry ? 'read' : undefined}
              aria-current={index === where.entry || undefined}
              disabled={map.book.resolve(href) === null}
              onClick={() => follow(href)}
            >
              <span dir="auto">{title}</span>
            </button>
          </li>
        ))}
      </ol>
    </ReaderPanel>
  )
}
