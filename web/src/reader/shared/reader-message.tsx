import { ImageOff } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { Problem } from '#api/problem.ts'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'

/** Before this, a message would only flash. */
const SHOWN_AFTER_MS = 300

interface MessageProps {
  bookId: string
  /** Why the book cannot be read; without it, it is being opened. */
  problem?: Error
  onRetry?: () => void
}

/** What stands in place of a book: that it is being opened, or why it cannot be. */
export function ReaderMessage({ bookId, problem, onRetry }: MessageProps) {
  const [isShown, setIsShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), SHOWN_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
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
        isShown && <p role="status">{readerTexts.opening()}</p>
      )}
    </main>
  )
}
