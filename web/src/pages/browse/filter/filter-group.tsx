import { Plus, X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { Icon } from '#parts/icon.tsx'
import { filterTexts } from '#texts/filter.ts'
import { DEPTH_MAX, type Group, type Join, newGroup, newLine } from './draft.ts'
import style from './filter.module.css'
import { FilterLine } from './filter-line.tsx'
import type { Builder } from './use-builder.ts'

const JOINS: readonly Join[] = ['all', 'any', 'none']
/** What is asked for most often. */
const FIRST_FIELD = 'tag'

/** Conditions that are joined, with groups inside. @param depth 1 for the whole */
export function FilterGroup({ group, builder, depth = 1 }: { group: Group; builder: Builder; depth?: number }) {
  const add = useRef<HTMLButtonElement>(null)
  const isWhole = depth === 1
  const { isNew, onFocused } = builder.focusOf(group.id)
  useEffect(() => {
    if (!isNew) return
    add.current?.focus()
    onFocused()
  }, [isNew, onFocused])
  return (
    <fieldset className={`${style['group']} ${isWhole ? '' : style['sub']}`}>
      <legend className="line">
        <JoinChoice join={group.join} onChange={(join) => builder.change({ ...group, join })} />
        <span className="quiet small">{group.join === 'none' ? filterTexts.ofTheseIs() : filterTexts.ofThese()}</span>
        {!isWhole && (
          <button
            type="button"
            className={`icon-btn ${style['end']}`}
            aria-label={filterTexts.removeGroup()}
            onClick={() => builder.remove(group.id)}
          >
            <Icon of={X} />
          </button>
        )}
      </legend>
      {group.parts.length > 0 && (
        <ul>
          {group.parts.map((part) =>
            part.kind === 'line' ? (
              <FilterLine key={part.id} line={part} builder={builder} />
            ) : (
              <li key={part.id}>
                <FilterGroup group={part} builder={builder} depth={depth + 1} />
              </li>
            ),
          )}
        </ul>
      )}
      {isWhole && group.parts.length === 0 && <p className="quiet">{filterTexts.empty()}</p>}
      <div className="line">
        <button ref={add} type="button" className="btn plain" onClick={() => builder.add(group.id, newLine(builder.kind, FIRST_FIELD))}>
          <Icon of={Plus} />
          {filterTexts.condition()}
        </button>
        {depth < DEPTH_MAX - 1 && (
          <button type="button" className="btn plain" onClick={() => builder.add(group.id, newGroup('any'))}>
            <Icon of={Plus} />
            {filterTexts.group()}
          </button>
        )}
      </div>
    </fieldset>
  )
}

function JoinChoice({ join, onChange }: { join: Join; onChange: (join: Join) => void }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: it stands in the legend of a fieldset
    <span className="segments" role="group" aria-label={filterTexts.join()}>
      {JOINS.map((each) => (
        <button key={each} type="button" aria-pressed={each === join} onClick={() => onChange(each)}>
          {filterTexts[each]()}
        </button>
      ))}
    </span>
  )
}
