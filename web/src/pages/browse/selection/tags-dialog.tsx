import { useLayoutEffect, useRef, useState } from 'react'
import type { NameChange } from '#api/bulk-changes.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { selectionTexts } from '#texts/selection.ts'
import { TEXT_FIELDS } from '../filter/filter-fields.ts'
import { ValuesInput } from '../filter/values-input.tsx'
import style from './selection.module.css'

interface TagsDialogProps {
  isBooks: boolean
  /** How many are selected. */
  count: number
  onChange: (change: NameChange) => void
  onClose: () => void
}

const PLACES = ['addTags', 'removeTags', 'addGenres', 'removeGenres'] as const
/** The most names that the API takes at once. */
const NAMES_MAX = 200

/** Tags and genres that everything selected gets or loses. */
export function TagsDialog({ isBooks, count, onChange, onClose }: TagsDialogProps) {
  const [change, setChange] = useState<NameChange>({ addTags: [], removeTags: [], addGenres: [], removeGenres: [] })
  const [hasTried, setHasTried] = useState(false)
  const words = useRef<HTMLParagraphElement>(null)
  // The first field would open its suggestions over the others at once.
  useLayoutEffect(() => words.current?.focus(), [])
  const isEmpty = PLACES.every((place) => change[place].length === 0)
  return (
    <Dialog
      title={isBooks ? selectionTexts.tagsOfBooks({ count }) : selectionTexts.tagsOfSeries({ count })}
      action={selectionTexts.change()}
      isWide
      onAction={() => (isEmpty ? setHasTried(true) : onChange(change))}
      onClose={onClose}
    >
      <p ref={words} tabIndex={-1} className="quiet">
        {selectionTexts.tagsWords()}
      </p>
      <div className={style['names']}>
        {PLACES.map((place) => (
          <div key={place} className="field">
            <span className="label">{selectionTexts[place]()}</span>
            <ValuesInput
              kind={isBooks ? 'books' : 'series'}
              field={TEXT_FIELDS[place.endsWith('Tags') ? 'tag' : 'genre']}
              label={selectionTexts[place]()}
              libraryId={null}
              values={change[place]}
              wordsOf={String}
              onChange={(names) => setChange((before) => ({ ...before, [place]: names.slice(0, NAMES_MAX) }))}
              faultId={null}
            />
          </div>
        ))}
      </div>
      {hasTried && isEmpty && <p role="alert">{selectionTexts.noTags()}</p>}
    </Dialog>
  )
}
