import { ImageOff } from 'lucide-react'
import { Link } from 'wouter'
import { Problem } from '#api/problem.ts'
import { Icon } from '#parts/icon.tsx'
import { Late } from '#parts/loading.tsx'
import { readerTexts } from '#texts/reader.ts'

interface MessageProps {
  bookId: string
  /** Of the book, once it is known. */
  title?: string | undefined
  /** Why the book cannot be read; without it, it is being opened. */
  problem?: Error
  onRetry?: () => void
}

/** Lines in the place of text; of a screen of a phone. */
const BONES = 9

/** The shape of a page of text that is being loaded. */
export function TextBones() {
  return (
    <div className="text-bones" aria-hidden="true">
      {Array.from({ length: BONES }, (_, index) => (
        <span className="bone" key={index} />
      ))}
    </div>
  )
}

/** What stands in place of a book: that it is being opened, or why it cannot be. */
export function ReaderMessage({ bookId, title, problem, onRetry }: MessageProps) {
  // A book that is not there, or not for this user, has no page either.
  const isGone = problem instanceof Problem && problem.status === 404
  const requestId = problem instanceof Problem ? problem.requestId : null
  return (
    <main className="reader reader-message" aria-busy={!problem}>
      {problem ? (
        <div className="slot broken" role="alert">
          <Icon of={ImageOff} />
          <h1>{readerTexts.cannotOpen()}</h1>
          <p>{problem.message}</p>
          <div className="line">
            {onRetry && (
              <button type="button" className="btn" onClick={onRetry}>
                {readerTexts.retry()}
              </button>
            )}
            <Link className="btn plain" href={isGone ? '/' : `/books/${bookId}`}>
              {isGone ? readerTexts.toHome() : readerTexts.toBook()}
            </Link>
          </div>
          {requestId && <p className="tiny">{readerTexts.request({ id: requestId })}</p>}
        </div>
      ) : (
        <Late>
          <div className="opening">
            {title && <h1 dir="auto">{title}</h1>}
            <p role="status">{readerTexts.opening()}</p>
            <TextBones />
          </div>
        </Late>
      )}
    </main>
  )
}
