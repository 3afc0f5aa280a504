import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { BookRecord, FullSeriesRecord } from '#api/records.ts'
import { allBooksQuery } from '#api/series.ts'
import { sizeWords } from '#parts/formats.ts'
import { Failure } from '#parts/states.tsx'
import { AboutSection } from '#parts/works/about-sections.tsx'
import { seriesTexts } from '#texts/series.ts'
import style from './series.module.css'

/** Where the files of a series are; each of them on demand. */
export function SeriesFiles({ series: { id, path } }: { series: FullSeriesRecord }) {
  const [isOpen, setIsOpen] = useState(false)
  const { data, error, refetch } = useQuery({ ...allBooksQuery(id), enabled: isOpen })
  return (
    <AboutSection title={seriesTexts.files()}>
      <dl className="facts">
        {path && (
          <>
            <dt>{seriesTexts.folder()}</dt>
            <dd className="mono">
              <bdi>{path}</bdi>
            </dd>
          </>
        )}
      </dl>
      {!isOpen && (
        <div className="line">
          <button type="button" className="btn" onClick={() => setIsOpen(true)}>
            {seriesTexts.showFiles()}
          </button>
        </div>
      )}
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data && (
        <>
          <p className="small quiet">
            {seriesTexts.filesOf({ count: data.total, size: sizeWords(data.data.reduce((sum, { fileSize }) => sum + fileSize, 0)) })}
          </p>
          <ul className={`rows ${style['files']}`}>
            {data.data.map((book) => (
              <li key={book.id}>
                <Link className="mono small" href={`/books/${book.id}`}>
                  <bdi>{book.filePath.split('/').at(-1)}</bdi>
                </Link>
                <span className="small quiet">
                  {[book.fileFormat.toUpperCase(), sizeWords(book.fileSize), stateWords(book)].filter(Boolean).join(' · ')}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </AboutSection>
  )
}

/** Only what is not as it should be. */
function stateWords({ deleted, analysisError, analyzed }: BookRecord): string {
  if (deleted) return seriesTexts.gone()
  return analysisError ?? (analyzed ? '' : seriesTexts.waiting())
}
