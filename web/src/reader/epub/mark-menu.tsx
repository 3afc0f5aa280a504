import { Copy, Search, StickyNote } from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import { markTexts } from '#texts/marks.ts'
import { MARK_COLORS, type MarkColor } from './marks.ts'
import { floatingStyle } from './note-popover.tsx'
import type { Selection } from './use-highlights.ts'

interface MenuProps {
  selection: Selection
  onMark(color: MarkColor, opens: boolean): void
  onSearch(words: string): void
  onClose(): void
}

/** What can be done with selected words; at the foot of a phone, where the system has a menu of its own at the words. */
export function MarkMenu({ selection: { words, at }, onMark, onSearch, onClose }: MenuProps) {
  const text = words.range.toString().replace(/\s+/g, ' ').trim()
  const copy = () => {
    // Browsers give the clipboard to secure addresses only; the older command works on all, on the selection of its document.
    words.doc.execCommand('copy')
    onClose()
  }
  return (
    <div className="floating markmenu" role="toolbar" aria-label={markTexts.menu()} style={floatingStyle(at)}>
      <ColorDots chosen={null} onChoose={(color) => onMark(color, false)} />
      <hr />
      <button
        type="button"
        className="icon-btn"
        aria-label={markTexts.addNote()}
        title={markTexts.addNote()}
        onClick={() => onMark('amber', true)}
      >
        <Icon of={StickyNote} />
      </button>
      <button type="button" className="icon-btn" aria-label={markTexts.copy()} title={markTexts.copy()} onClick={copy}>
        <Icon of={Copy} />
      </button>
      <button
        type="button"
        className="icon-btn"
        aria-label={markTexts.searchWords()}
        title={markTexts.searchWords()}
        onClick={() => onSearch(text)}
      >
        <Icon of={Search} />
      </button>
    </div>
  )
}

interface DotsProps {
  chosen: MarkColor | null
  onChoose(color: MarkColor): void
  /** The name of a choice; by itself, of the color. */
  words?: (color: string) => string
}

/** The colors of highlights as buttons. */
export function ColorDots({ chosen, onChoose, words = (color) => color }: DotsProps) {
  return MARK_COLORS.map((color) => (
    <button
      key={color}
      type="button"
      className="dot"
      data-color={color}
      aria-label={words(markTexts[color]())}
      title={words(markTexts[color]())}
      aria-pressed={chosen === color}
      onClick={() => onChoose(color)}
    />
  ))
}
