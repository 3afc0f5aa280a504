import { Trash2, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Icon } from '#parts/icon.tsx'
import { markTexts } from '#texts/marks.ts'
import { readerTexts } from '#texts/reader.ts'
import type { Annotation } from '../shared/bookmarks-api.ts'
import { ColorDots } from './mark-menu.tsx'
import { colorOf, type MarkColor } from './marks.ts'
import { floatingStyle } from './note-popover.tsx'
import type { Highlights } from './use-highlights.ts'

/** A longer note is refused by the server. */
const NOTE_LETTERS_MAX = 4000

interface CardProps {
  highlight: Annotation
  /** Its words on screen; null for the middle of the screen. */
  at: DOMRect | null
  highlights: Highlights
}

/** A highlight with its note, at its words. What was typed is saved when it closes, and stays until it is. */
export function MarkCard({ highlight, at, highlights }: CardProps) {
  const { typed } = highlights
  const [note, setNote] = useState(highlight.note ?? '')
  // What was chosen, which the record may not say yet.
  const [color, setColor] = useState(highlight.color)
  const field = useRef<HTMLTextAreaElement>(null)
  const close = () => void highlights.show(null)
  useEffect(() => field.current?.focus({ preventScroll: true }), [])
  const edit = (values: { color: string | null }) => highlights.edit(highlight, { ...values, note: note.trim() || null })
  const choose = (chosen: MarkColor) => {
    setColor(chosen)
    void edit({ color: chosen })
  }
  useEffect(() => {
    typed.current = async () => note.trim() === (highlight.note ?? '') || (await edit({ color }))
    return () => {
      typed.current = null
    }
  })
  const remove = async () => {
    if (await highlights.remove(highlight)) highlights.drop()
  }
  return (
    <form
      className="floating notecard"
      aria-label={markTexts.highlight()}
      style={floatingStyle(at)}
      onSubmit={(event) => {
        event.preventDefault()
        close()
      }}
      onKeyDown={(event) => {
        // The reader would take Escape as the way back.
        event.stopPropagation()
        if (event.key === 'Escape') close()
      }}
    >
      <div className="notecard-head">
        <ColorDots chosen={colorOf({ color })} onChoose={choose} />
        <button type="button" className="icon-btn" aria-label={readerTexts.close()} onClick={close}>
          <Icon of={X} />
        </button>
      </div>
      <textarea
        ref={field}
        dir="auto"
        rows={3}
        maxLength={NOTE_LETTERS_MAX}
        value={note}
        aria-label={markTexts.note()}
        placeholder={markTexts.notePlaceholder()}
        onChange={(event) => setNote(event.target.value)}
      />
      {highlights.refused !== null && <p role="alert">{markTexts.refused({ reason: highlights.refused })}</p>}
      <CardFoot onRemove={() => void remove()} />
    </form>
  )
}

function CardFoot({ onRemove }: { onRemove(): void }) {
  return (
    <footer>
      <button type="submit" className="btn">
        {markTexts.save()}
      </button>
      <button type="button" className="icon-btn" aria-label={markTexts.remove()} title={markTexts.remove()} onClick={onRemove}>
        <Icon of={Trash2} />
      </button>
    </footer>
  )
}
