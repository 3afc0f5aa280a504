import { X } from 'lucide-react'
import { type CSSProperties, useEffect, useRef } from 'react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'

/** A note of the book, and its mark on screen. */
export interface Note {
  text: string
  at: DOMRect
}

/** Of the widest thing that floats, with its distance from the edge, in CSS pixels. */
const FLOATING_WIDTH = 368

/** Below a place on screen, or above in the lower half; without a place at the foot. The styles of a phone overrule it. */
export function floatingStyle(at: DOMRect | null): CSSProperties {
  if (!at) return { left: Math.max(16, (innerWidth - FLOATING_WIDTH) / 2), bottom: 64 }
  const left = Math.max(16, Math.min(at.left - 24, innerWidth - FLOATING_WIDTH))
  return at.top > innerHeight / 2 ? { left, bottom: Math.max(8, innerHeight - at.top + 8) } : { left, top: Math.max(8, at.bottom + 8) }
}

/** A footnote below its mark, or above in the lower half; from below on a phone. */
export function NotePopover({ note: { text, at }, onClose }: { note: Note; onClose(): void }) {
  const closing = useRef<HTMLButtonElement>(null)
  useEffect(() => closing.current?.focus({ preventScroll: true }), [])
  return (
    <aside className="floating footnote text-note" role="note" aria-label={readerTexts.note()} style={floatingStyle(at)}>
      <button ref={closing} type="button" className="icon-btn" aria-label={readerTexts.close()} onClick={onClose}>
        <Icon of={X} />
      </button>
      <p dir="auto">{text.trim()}</p>
    </aside>
  )
}
