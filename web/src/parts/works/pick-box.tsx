import type { MouseEvent } from 'react'
import { selectionTexts } from '#texts/selection.ts'

/** That an item can be selected. */
export interface Pickable {
  /** Something is selected: a click selects and does not open. */
  isPicking: boolean
  isPicked: boolean
  /** @param isRange everything from the one selected before to this one */
  onPick: (isRange: boolean) => void
}

/** The mark of a selected item. Not a stop of Tab: space selects the item that has the focus. */
export function PickBox({ pick, title, className = 'pick' }: { pick: Pickable; title: string; className?: string }) {
  return (
    <label className={className}>
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={selectionTexts.selectOne({ title })}
        checked={pick.isPicked}
        onChange={() => {}}
        onClick={({ shiftKey }) => pick.onPick(shiftKey)}
      />
    </label>
  )
}

/** Clicks with shift, and any while something is selected, select an item instead of opening it. Enter and ctrl still open. */
export function withPicking<Box extends { onClickCapture: (event: MouseEvent<HTMLElement>) => void }>(
  box: Box,
  pick: Pickable | undefined,
): Box {
  if (!pick) return box
  const onClickCapture = (event: MouseEvent<HTMLElement>) => {
    box.onClickCapture(event)
    const isByKey = event.detail === 0
    const isOther = (event.target as HTMLElement).closest('button, label, [role="menu"]') !== null
    if (event.isPropagationStopped() || isByKey || isOther || event.ctrlKey || event.metaKey) return
    if (!event.shiftKey && !pick.isPicking) return
    event.preventDefault()
    event.stopPropagation()
    pick.onPick(event.shiftKey)
  }
  return { ...box, onClickCapture }
}
