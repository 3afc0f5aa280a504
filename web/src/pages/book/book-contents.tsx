import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { Link } from 'wouter'
import { manifestQuery } from '#api/books.ts'
import type { FullBookRecord } from '#api/records.ts'
import { flattenContents } from '#reader/epub/text-map.ts'
import { seriesTexts } from '#texts/series.ts'
import style from './book.module.css'

/** Shown at first: the chapters of most books. */
const SHOWN = 24
/** Books may have ten thousand entries; the reader shows them all. */
const SHOWN_MAX = 600

/** The contents of an EPUB, each entry leading into the reader. */
export function BookContents({ book: { id, fileFormat, analyzed } }: { book: FullBookRecord }) {
  const labelId = useId()
  const [showsAll, setShowsAll] = useState(false)
  const manifest = useQuery({ ...manifestQuery(id), enabled: fileFormat === 'epub' && analyzed }).data
  const entries = manifest ? flattenContents(manifest.toc ?? [], seriesTexts.untitled()) : []
  if (entries.length === 0) return null
  return (
    <section className="stack" aria-labelledby={labelId}>
      <header className="head">
        <h2 className="section-title" id={labelId}>
          {seriesTexts.contents()} <span className="faint">{entries.length.toLocaleString('en')}</span>
        </h2>
        {!showsAll && entries.length > SHOWN && entries.length <= SHOWN_MAX && (
          <div className="end">
            <button type="button" className="btn plain" onClick={() => setShowsAll(true)}>
              {seriesTexts.allContents({ count: entries.length })}
            </button>
          </div>
        )}
      </header>
      <ol className={style['contents']}>
        {entries.slice(0, showsAll ? SHOWN_MAX : SHOWN).map(({ title, href, depth }, index) => (
          // By index: books name the same place twice, and the list never changes.
          <li key={index}>
            <Link href={`/books/${id}/read?chapter=${encodeURIComponent(href)}`} style={{ '--depth': depth }} dir="auto">
              {title}
            </Link>
          </li>
        ))}
      </ol>
    </section>
  )
}
