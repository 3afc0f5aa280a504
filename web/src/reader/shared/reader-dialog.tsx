import { type ReactNode, useId } from 'react'
import { useModal } from '#parts/above/use-modal.ts'

interface DialogProps {
  title: string
  className?: string
  /** The children show the title themselves. */
  isTitleInside?: boolean
  /** Over the lower part of the page, which stays readable. */
  isLow?: boolean
  children: ReactNode
  onKey?: (event: { key: string }) => void
  /** With Escape; without it, the question must be answered. */
  onClose?: () => void
}

/** A dialog over the page: it keeps the focus until it closes, and gives it back. */
export function ReaderDialog({ title, className = 'dialog', isTitleInside = false, isLow = false, children, onKey, onClose }: DialogProps) {
  const heading = useId()
  const dialog = useModal()
  return (
    <dialog
      ref={dialog}
      className={isLow ? 'scrim low' : 'scrim'}
      {...(isTitleInside ? { 'aria-label': title } : { 'aria-labelledby': heading })}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
      onKeyDown={(event) => {
        event.stopPropagation()
        onKey?.(event)
      }}
    >
      <section className={className}>
        {!isTitleInside && (
          <h2 id={heading} dir="auto">
            {title}
          </h2>
        )}
        {children}
      </section>
    </dialog>
  )
}
