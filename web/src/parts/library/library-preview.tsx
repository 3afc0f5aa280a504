import { useQuery } from '@tanstack/react-query'
import { ChevronRight, FileQuestion, FolderSearch } from 'lucide-react'
import { type LibraryPreview as Preview, previewQuery } from '#api/new-library.ts'
import { Icon } from '#parts/icon.tsx'
import { Empty, Failure } from '#parts/states.tsx'
import { setupTexts } from '#texts/setup.ts'
import style from './library.module.css'

/** More would be a list to read, not a look. */
const SHOWN_MAX = 12
const numbers = new Intl.NumberFormat('en')

/** What a folder would become as a library: numbers first, then series with their first files. */
export function LibraryPreview({ folder }: { folder: string | null }) {
  const { data, error, isFetching, refetch } = useQuery({ ...previewQuery(folder ?? ''), enabled: folder !== null })
  return (
    <section className={style['preview']} aria-labelledby="preview-title" aria-live="polite" aria-busy={isFetching}>
      <header className="head">
        <h2 className="section-title" id="preview-title">
          {setupTexts.becomes()}
        </h2>
        {data && <span className="end small quiet">{setupTexts.lookedAt({ count: data.totalFiles })}</span>}
      </header>
      {folder === null && <Empty icon={FolderSearch} title={setupTexts.noChoice()} words={setupTexts.noChoiceWords()} />}
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {isFetching && !data && <p className="quiet">{setupTexts.looking()}</p>}
      {data?.detectedSeries.length === 0 && (
        <Empty icon={FileQuestion} title={setupTexts.nothingFound()} words={setupTexts.nothingFoundWords()} />
      )}
      {data && data.detectedSeries.length > 0 && <Found preview={data} />}
    </section>
  )
}

function Found({ preview: { detectedSeries, totalFiles, truncated } }: { preview: Preview }) {
  const books = detectedSeries.reduce((sum, { bookCount }) => sum + bookCount, 0)
  const hidden = detectedSeries.length - SHOWN_MAX
  return (
    <>
      <dl className={style['sums']}>
        <Sum name={setupTexts.seriesSum()} value={detectedSeries.length} />
        <Sum name={setupTexts.booksSum()} value={books} />
        <Sum name={setupTexts.filesSum()} value={totalFiles} />
      </dl>
      {truncated && <p className="notice warn">{setupTexts.truncated()}</p>}
      <div className={style['tree']}>
        {detectedSeries.slice(0, SHOWN_MAX).map(({ name, path, bookCount, sampleBooks }, index) => (
          <details key={path ?? name} open={index === 0}>
            <summary>
              <Icon of={ChevronRight} flips />
              <bdi className="work">{name}</bdi>
              {path !== null && path !== name && <bdi className={style['path']}>{path}</bdi>}
              <span className="end">{setupTexts.booksIn({ count: bookCount })}</span>
            </summary>
            <ul>
              {sampleBooks.map((file) => (
                <li key={file} className="mono clip" dir="auto">
                  {file}
                </li>
              ))}
              {bookCount > sampleBooks.length && <li>{setupTexts.moreBooks({ count: bookCount - sampleBooks.length })}</li>}
            </ul>
          </details>
        ))}
        {hidden > 0 && <p className={`small quiet ${style['all']}`}>{setupTexts.allSeries({ count: hidden })}</p>}
      </div>
    </>
  )
}

const Sum = ({ name, value }: { name: string; value: number }) => (
  <div>
    <dt>{name}</dt>
    <dd>{numbers.format(value)}</dd>
  </div>
)
