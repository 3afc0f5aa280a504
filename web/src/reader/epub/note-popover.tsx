import { X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'

/** A note of the book, and its mark on screen. */
export interface Note {
  text: string
  at: DOMRect
}

/** A footnote below its mark, or above in the lower half; from below on a phone. */
export function NotePopover({ note: { text, at }, onClose }: { note: Note; onClose(): void }) {
  const closing = useRef<HTMLButtonElement>(null)
  useEffect(() => closing.current?.focus({ preventScroll: true }), [])
  const isLow = at.top > innerHeight / 2
  const left = Math.max(16, Math.min(at.left - 24, innerWidth - 368))
  return (
    <aside
      className="floating footnote text-note"
      role="note"
      aria-label={readerTexts.note()}
      style={isLow ? { left, bottom: innerHeight - at.top + 8 } : { left, top: at.bottom + 8 }}
    >
      <button ref={closing} type="button" className="icon-btn" aria-label={readerTexts.close()} onClick={onClose}>
        <Icon of={X} />
      </button>
      <p dir="auto">{text.trim()}</p>
    </aside>
  )
}
