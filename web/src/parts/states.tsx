import { CircleAlert, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { Problem } from '#api/problem.ts'
import { Icon } from '#parts/icon.tsx'
import { partTexts } from '#texts/parts.ts'

interface EmptyProps {
  icon: LucideIcon
  title: string
  /** Why there is nothing, and what to do. */
  words?: ReactNode
  /** Buttons and links. */
  children?: ReactNode
}

/** Says what would be here and what to do. */
export function Empty({ icon, title, words, children }: EmptyProps) {
  return (
    <div className="empty">
      <Icon of={icon} />
      <h2>{title}</h2>
      {words && <p>{words}</p>}
      {children && <div className="line">{children}</div>}
    </div>
  )
}

interface FailureProps {
  error: Error
  /** What could not be done; without it, that something could not be loaded. */
  title?: string
  onRetry?: () => void
}

/** Says what failed, why, and how to try again, with the id that finds the request in the log of the server. */
export function Failure({ error, title = partTexts.failed(), onRetry }: FailureProps) {
  // The dialog of the ended session says it once for the whole page, which loads again afterwards.
  if (error instanceof Problem && error.isSignedOut) return null
  const requestId = error instanceof Problem ? error.requestId : null
  return (
    <div className="notice bad" role="alert">
      <Icon of={CircleAlert} />
      <p>
        <strong>{title}.</strong> {error.message}
      </p>
      {(onRetry || requestId) && (
        <div className="line">
          {onRetry && (
            <button type="button" className="btn" onClick={onRetry}>
              {partTexts.retry()}
            </button>
          )}
          {requestId && <span className="tiny quiet">{partTexts.request({ id: requestId })}</span>}
        </div>
      )}
    </div>
  )
}
