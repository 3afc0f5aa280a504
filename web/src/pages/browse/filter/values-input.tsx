import { X } from 'lucide-react'
import { type KeyboardEvent, useId, useState } from 'react'
import { Icon } from '#parts/icon.tsx'
import { useWhenReady } from '#parts/use-when-ready.ts'
import { filterTexts } from '#texts/filter.ts'
import type { BrowseKind } from '../browse-address.ts'
import style from './filter.module.css'
import type { FilterField } from './filter-fields.ts'
import { type Suggestion, useSuggestions } from './suggestions.ts'

/** The longest value that the API compares with, in characters. */
const VALUE_MAX = 500

interface ValuesProps {
  kind: BrowseKind
  field: FilterField
  label?: string
  libraryId: string | null
  values: readonly string[]
  wordsOf: (value: string) => string
  onChange: (values: readonly string[]) => void
  /** Id of the sentence that says what is wrong. */
  faultId: string | null
}

/** One or more values with suggestions: arrows choose, Enter takes, Backspace takes the last one away. */
export function ValuesInput(props: ValuesProps) {
  const { values, wordsOf, onChange, faultId, label = filterTexts.value() } = props
  const id = useId()
  const { typed, at, suggestions, isShown, hasList, add, open, type, leave, onKeyDown } = useTyping(props)
  return (
    <span className={style['with-menu']}>
      <span className={`input ${style['values']}`}>
        {values.map((value) => (
          <span key={value} className={`chip ${style['value']}`}>
            <bdi className="clip">{wordsOf(value)}</bdi>
            <button
              type="button"
              className="icon-btn"
              aria-label={filterTexts.removeValue({ value: wordsOf(value) })}
              onClick={() => onChange(values.filter((each) => each !== value))}
            >
              <Icon of={X} />
            </button>
          </span>
        ))}
        <input
          type="text"
          dir="auto"
          autoComplete="off"
          maxLength={VALUE_MAX}
          aria-label={label}
          {...(faultId ? { 'aria-invalid': true, 'aria-describedby': faultId } : {})}
          {...(hasList && {
            role: 'combobox',
            'aria-expanded': isShown,
            'aria-controls': `${id}-list`,
            'aria-autocomplete': 'list',
            ...(isShown && at >= 0 && { 'aria-activedescendant': `${id}-${at}` }),
          })}
          value={typed}
          onFocus={open}
          onClick={open}
          onBlur={leave}
          onChange={({ currentTarget }) => type(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </span>
      {isShown && <Suggestions id={id} suggestions={suggestions} at={at} typed={typed} onTake={add} />}
    </span>
  )
}

/** What is typed, and which suggestion is chosen. */
function useTyping({ kind, field, libraryId, values, onChange }: ValuesProps) {
  const [typed, setTyped] = useState('')
  const [isOpen, setIsOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const found = useSuggestions({ kind, field, search: typed, libraryId, isOpen })
  const suggestions = found.suggestions.filter(({ value }) => !values.includes(value))
  // Texts can be written freely; ids and fixed words cannot.
  const isFree = field.family === 'text'
  const hasList = field.source !== undefined || field.words !== undefined
  const add = (value: string) => {
    if (value !== '' && !values.includes(value)) onChange([...values, value])
    setTyped('')
    setAt(-1)
    taking.giveUp()
    // It would cover what is below, such as the button that applies everything.
    setIsOpen(false)
  }
  // Where only suggestions are values, Enter takes the first of what is typed.
  const taking = useWhenReady(found.isCurrent, () => add(suggestions[0]?.value ?? ''))
  const leave = () => {
    setIsOpen(false)
    taking.giveUp()
    if (isFree) add(typed.trim())
    else setTyped('')
  }
  const type = (text: string) => {
    setTyped(text)
    setIsOpen(true)
    setAt(-1)
    taking.giveUp()
  }
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const chosen = suggestions[at]
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const last = suggestions.length - 1
      setIsOpen(true)
      taking.giveUp()
      setAt(event.key === 'ArrowDown' ? (at >= last ? Math.min(0, last) : at + 1) : at <= 0 ? last : at - 1)
    } else if (event.key === 'Enter' && (at >= 0 || typed.trim() !== '')) {
      if (chosen || isFree) add(chosen?.value ?? typed.trim())
      else {
        setIsOpen(true)
        taking.ask()
      }
    } else if (event.key === 'Backspace' && typed === '' && values.length > 0) {
      onChange(values.slice(0, -1))
    } else if (event.key === 'Escape' && isOpen && hasList) {
      setIsOpen(false)
      taking.giveUp()
    } else return
    event.preventDefault()
  }
  const isShown = isOpen && hasList && (suggestions.length > 0 || typed !== '')
  return { typed, at, suggestions, isShown, hasList, add, open: () => setIsOpen(true), type, leave, onKeyDown }
}

interface SuggestionsProps {
  id: string
  suggestions: readonly Suggestion[]
  at: number
  typed: string
  onTake: (value: string) => void
}

function Suggestions({ id, suggestions, at, typed, onTake }: SuggestionsProps) {
  if (suggestions.length === 0) return <p className={`menu ${style['suggest']} quiet small`}>{filterTexts.noSuggestions()}</p>
  return (
    <div id={`${id}-list`} ref={showWhole} role="listbox" aria-label={filterTexts.suggestions()} className={`menu ${style['suggest']}`}>
      {suggestions.map(({ value, text, count }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
        // biome-ignore lint/a11y/useFocusableInteractive: the same
        <div
          key={value}
          id={`${id}-${index}`}
          ref={(row) => {
            if (index === at) row?.scrollIntoView({ block: 'nearest' })
          }}
          role="option"
          aria-selected={index === at}
          className="item"
          // The field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onTake(value)}
        >
          <span className="clip" dir="auto">
            <Marked text={text} part={typed.trim()} />
          </span>
          {count !== null && <span className="end">{count.toLocaleString('en')}</span>}
        </div>
      ))}
    </div>
  )
}

/** On phones the list opens below the edge of the sheet. */
const showWhole = (list: HTMLElement | null) => list?.scrollIntoView({ block: 'nearest' })

/** A text with what was typed marked in it. */
function Marked({ text, part }: { text: string; part: string }) {
  const from = part === '' ? -1 : text.toLowerCase().indexOf(part.toLowerCase())
  if (from < 0) return text
  return (
    <>
      {text.slice(0, from)}
      <mark>{text.slice(from, from + part.length)}</mark>
      {text.slice(from + part.length)}
    </>
  )
}
