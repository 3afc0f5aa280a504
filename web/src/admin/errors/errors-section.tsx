import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { CircleCheck, FileCheck, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import style from '#admin/admin.module.css'
import { type BookError, type ErrorType, errorCountsQuery, errorsQuery, isRot, readAllAgain } from '#api/book-errors.ts'
import { analyzeAgain } from '#api/books.ts'
import { librariesQuery } from '#api/libraries.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { Select } from '#parts/controls.tsx'
import { timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { Empty, Failure } from '#parts/states.tsx'
import { AcceptContent } from '#parts/works/accept-content.tsx'
import { adminTexts } from '#texts/admin.ts'
import { partTexts } from '#texts/parts.ts'

const ALL = 'all'
/** From what cannot be read at all to what only lacks something. */
const TYPES: readonly ErrorType[] = [
  ...(['format_detection', 'parser', 'pdf_rendering', 'zero_pages'] as const),
  ...(['page_extraction', 'thumbnail', 'metadata', 'other'] as const),
]

/** The books that could not be read, by the type of the error, with what it means and what to do. */
export function ErrorsSection() {
  const [library, setLibrary] = useState(ALL)
  const libraryId = library === ALL ? null : library
  const { data, error, refetch } = useQuery(errorCountsQuery(libraryId))
  const libraries = useQuery(librariesQuery).data ?? []
  const types = TYPES.filter((type) => (data?.errorCounts[type] ?? 0) > 0)
  return (
    <section className={style['errors']} aria-label={adminTexts.errors()}>
      <div className="line">
        <p className="quiet" role="status">
          {data && data.totalBooksWithErrors > 0 ? adminTexts.errorsFound({ count: data.totalBooksWithErrors }) : '\u00a0'}
        </p>
        {libraries.length > 1 && (
          <span className="spread">
            <Select
              isSoft
              label={adminTexts.ofLibrary()}
              value={library}
              options={[{ value: ALL, text: adminTexts.anyLibrary() }, ...libraries.map(({ id, name }) => ({ value: id, text: name }))]}
              onChange={setLibrary}
            />
          </span>
        )}
      </div>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data && types.length === 0 && <Empty icon={CircleCheck} title={adminTexts.noErrors()} words={adminTexts.noErrorsWords()} />}
      {types.map((type) => (
        <ErrorsOfType key={type} type={type} count={data?.errorCounts[type] ?? 0} libraryId={libraryId} />
      ))}
    </section>
  )
}

function ErrorsOfType({ type, count, libraryId }: { type: ErrorType; count: number; libraryId: string | null }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(errorsQuery(type, libraryId))
  const books = data?.pages.flatMap(({ groups }) => groups.flatMap((group) => group.books)) ?? []
  const all = () => readAllAgain(type, libraryId).then(() => say(adminTexts.readingAllAgain({ count })), sayFailure)
  const id = `errors-${type}`
  return (
    <section className="stack" aria-labelledby={id}>
      <header className="head">
        <div className={style['explained']}>
          <h2 className="section-title" id={id}>
            {adminTexts[type]()} <span className="faint">{count.toLocaleString('en')}</span>
          </h2>
          <p className="quiet">{adminTexts[`${type}Words`]()}</p>
        </div>
        {count > 1 && (
          <button type="button" className="btn end" onClick={() => void all()}>
            <Icon of={RotateCw} />
            {adminTexts.readAllAgain()}
          </button>
        )}
      </header>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <ul className="rows">
        {books.map(({ book, errors }) => (
          <ErrorRow key={book.id} book={book} reasons={errors.filter(({ errorType }) => errorType === type)} />
        ))}
      </ul>
      {hasNextPage && (
        <div className="line">
          <button type="button" className="btn" aria-busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {adminTexts.moreErrors()}
          </button>
        </div>
      )}
    </section>
  )
}

interface ErrorRowProps {
  book: { id: string; title: string; filePath: string }
  reasons: readonly BookError[]
}

function ErrorRow({ book: { id, title, filePath }, reasons }: ErrorRowProps) {
  const [isAsking, setIsAsking] = useState(false)
  const again = () => analyzeAgain(id).then(() => say(adminTexts.readingAgain({ title })), sayFailure)
  return (
    <li className={`row ${style['row']}`}>
      <span className="words">
        <Link className="strong clip" href={`/books/${id}`} dir="auto">
          {title}
        </Link>
        <bdi className={`mono small quiet ${style['path']}`}>{filePath}</bdi>
        {reasons.map(({ message, occurredAt }) => (
          <span key={message}>
            <bdi>{message}</bdi> <span className="small quiet">{timeWords(occurredAt)}</span>
          </span>
        ))}
      </span>
      <span className="end">
        {reasons.some(isRot) && (
          <button type="button" className="btn" onClick={() => setIsAsking(true)}>
            <Icon of={FileCheck} />
            {partTexts.accept()}
          </button>
        )}
        <button
          type="button"
          className="icon-btn"
          aria-label={adminTexts.readAgainNamed({ title })}
          title={adminTexts.readAgain()}
          onClick={() => void again()}
        >
          <Icon of={RotateCw} />
        </button>
      </span>
      {isAsking && <AcceptContent book={{ id, title }} onClose={() => setIsAsking(false)} />}
    </li>
  )
}
