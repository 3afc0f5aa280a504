import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { Icon } from '#parts/icon.tsx'
import { markTexts } from '#texts/marks.ts'
import type { Annotation } from '../shared/bookmarks-api.ts'
import { dayLabel, percentLabel } from '../shared/labels.ts'
import { ColorDots } from './mark-menu.tsx'
import { colorOf, type MarkColor } from './marks.ts'
import type { Locator } from './text-locator.ts'

interface ListProps {
  list: readonly Annotation[]
  /** The title of the chapter of a locator. */
  titleOf(locator: Locator): string
  onFollow(locator: Locator): void
  onEdit(highlight: Annotation): void
}

/** The highlights of a text: the words, the note, where they are. */
export function HighlightList({ list, titleOf, onFollow, onEdit }: ListProps) {
  const [only, setOnly] = useState<MarkColor | null>(null)
  const shown = only === null ? list : list.filter((highlight) => colorOf(highlight) === only)
  if (list.length === 0) return <p>{markTexts.none()}</p>
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend of its own */}
      <div className="hl-tools" role="group" aria-label={markTexts.colors()}>
        <ColorDots
          chosen={only}
          words={(color) => markTexts.onlyColor({ color })}
          onChoose={(color) => setOnly(color === only ? null : color)}
        />
      </div>
      {shown.length === 0 && <p>{markTexts.noneOfColor()}</p>}
      <ol className="hls">
        {shown.map((highlight) => (
          <li key={highlight.id} className="toc-entry" data-color={colorOf(highlight)}>
            <button type="button" className="hl" onClick={() => onFollow(highlight.locator)}>
              <q dir="auto">{highlight.locator.text?.highlight ?? ''}</q>
              {highlight.note && (
                <span className="my" dir="auto">
                  {highlight.note}
                </span>
              )}
              <small>
                {markTexts.where({
                  chapter: titleOf(highlight.locator),
                  percent: percentLabel(highlight.locator.locations?.totalProgression ?? 0),
                  day: dayLabel(highlight.updatedAt),
                })}
              </small>
            </button>
            <button
              type="button"
              className="icon-btn"
              aria-label={markTexts.edit()}
              title={markTexts.edit()}
              onClick={() => onEdit(highlight)}
            >
              <Icon of={Pencil} />
            </button>
          </li>
        ))}
      </ol>
    </>
  )
}
