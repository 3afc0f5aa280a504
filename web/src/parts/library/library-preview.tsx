import { useQuery } from '@tanstack/react-query'
import { ChevronRight, FileQuestion, FolderSearch, Regex } from 'lucide-react'
import { type LibraryPreview as Preview, previewQuery } from '#api/new-library.ts'
import { Problem } from '#api/problem.ts'
import type { PreviewRequest } from '#api/records.ts'
import { Icon } from '#parts/icon.tsx'
import { Empty, Failure } from '#parts/states.tsx'
import { layoutTexts } from '#texts/layouts.ts'
import { setupTexts } from '#texts/setup.ts'
import style from './library.module.css'

type FoundSeries = Preview['detectedSeries'][number]

/** More would be a list to read, not a look. */
const SHOWN_MAX = 12
const numbers = new Intl.NumberFormat('en')

/** What a folder would become as a library: numbers first, then series with their first files, then what is left out. @param asked null without a folder @param needsPattern the strategy cannot work yet */
export function LibraryPreview({ asked, needsPattern = false }: { asked: PreviewRequest | null; needsPattern?: boolean }) {
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery(previewQuery(asked))
  // What another strategy makes of the same folder is of no use here.
  const preview = isPlaceholderData || needsPattern ? undefined : data
  return (
    <section className={style['preview']} aria-labelledby="preview-title" aria-live="polite" aria-busy={isFetching}>
      <header className="head">
        <h2 className="section-title" id="preview-title">
          {setupTexts.becomes()}
        </h2>
        {preview && <span className="end small quiet">{setupTexts.lookedAt({ count: preview.totalFiles })}</span>}
      </header>
      {asked === null && <Empty icon={FolderSearch} title={setupTexts.noChoice()} words={setupTexts.noChoiceWords()} />}
      {asked !== null && needsPattern && <Empty icon={Regex} title={layoutTexts.noPattern()} words={layoutTexts.noPatternWords()} />}
      {error &&
        (isRefused(error) ? (
          <Failure error={error} title={setupTexts.refused()} />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        ))}
      {isFetching && !preview && !needsPattern && <p className="quiet">{setupTexts.looking()}</p>}
      {preview?.detectedSeries.length === 0 && (
        <Empty icon={FileQuestion} title={setupTexts.nothingFound()} words={setupTexts.nothingFoundWords()} />
      )}
      {preview && preview.detectedSeries.length > 0 && <Found preview={preview} />}
      {preview && preview.leftOut.length > 0 && <LeftOut leftOut={preview.leftOut} />}
    </section>
  )
}

function Found({ preview: { detectedSeries, leftOut, truncated } }: { preview: Preview }) {
  const books = detectedSeries.reduce((sum, { bookCount }) => sum + bookCount, 0)
  const hidden = detectedSeries.length - SHOWN_MAX
  return (
    <>
      <dl className={style['sums']}>
        <Sum name={setupTexts.seriesSum()} value={detectedSeries.length} />
        <Sum name={setupTexts.booksSum()} value={books} />
        <Sum name={setupTexts.leftOutSum()} value={leftOut.reduce((sum, { count }) => sum + count, 0)} />
      </dl>
      {truncated && <p className="notice warn">{setupTexts.truncated()}</p>}
      <div className={style['tree']}>
        {detectedSeries.slice(0, SHOWN_MAX).map((series, index) => (
          <SeriesFound key={`${series.path}\n${series.name}`} series={series} isOpen={index === 0} />
        ))}
        {hidden > 0 && <p className={`small quiet ${style['all']}`}>{setupTexts.allSeries({ count: hidden })}</p>}
      </div>
    </>
  )
}

/** Where it is, why it is a series, and what the names of its first files say. */
function SeriesFound({
  series: { name, path, rule, why, bookCount, sampleBooks, books },
  isOpen,
}: {
  series: FoundSeries
  isOpen: boolean
}) {
  return (
    <details open={isOpen}>
      <summary>
        <Icon of={ChevronRight} flips />
        <bdi className="work">{name}</bdi>
        {path !== null && path !== '' && path !== name && <bdi className={style['path']}>{path}</bdi>}
        <span className="end">{setupTexts.booksIn({ count: bookCount })}</span>
      </summary>
      <p className={style['why']}>
        <span className="badge">{layoutTexts[`rule_${rule}`]()}</span> {why}
      </p>
      <ul>
        {sampleBooks.map((file, index) => (
          <li key={index} className={style['file']}>
            <bdi className="mono">{file}</bdi>
            <span>{placeWords(books[index])}</span>
          </li>
        ))}
        {bookCount > sampleBooks.length && <li>{setupTexts.moreBooks({ count: bookCount - sampleBooks.length })}</li>}
      </ul>
    </details>
  )
}

/** "Volume 3 · Chapter 12", and the number where it is none of these. */
function placeWords(book: FoundSeries['books'][number] | undefined): string {
  if (!book) return ''
  const { volume, chapter, number } = book
  const words = [
    volume !== null && setupTexts.volume({ number: volume }),
    chapter !== null && setupTexts.chapter({ number: chapter }),
    number !== null && number !== chapter && (chapter !== null || number !== volume) && setupTexts.number({ number }),
  ].filter(Boolean)
  return words.length > 0 ? words.join(' · ') : setupTexts.noNumber()
}

function LeftOut({ leftOut }: { leftOut: Preview['leftOut'] }) {
  return (
    <section aria-labelledby="left-out-title">
      <h3 className="group-title" id="left-out-title">
        {setupTexts.leftOut()}
      </h3>
      <ul className="rows">
        {leftOut.map(({ reason, count, examples }) => (
          <li key={reason} className="row">
            <span className="words">
              <span>{setupTexts[`out_${reason}`]()}</span>
              <bdi className={`sub ${style['examples']}`}>
                {examples.join(', ')}
                {count > examples.length && ` ${setupTexts.moreBooks({ count: count - examples.length })}`}
              </bdi>
            </span>
            <span className="end quiet">{numbers.format(count)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const Sum = ({ name, value }: { name: string; value: number }) => (
  <div>
    <dt>{name}</dt>
    <dd>{numbers.format(value)}</dd>
  </div>
)

/** Such as a folder that another library has: the same again would be answered in the same way. */
const isRefused = (error: Error) => error instanceof Problem && [400, 409, 422].includes(error.status)
