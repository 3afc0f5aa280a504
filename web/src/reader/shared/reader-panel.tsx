import { X } from 'lucide-react'
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts, settingTexts } from '#texts/reader.ts'
import type { Level } from './levels.ts'
import type { LevelSettings } from './use-levels.ts'

interface PanelProps {
  title: string
  /** On the side where reading begins, for contents. */
  isDrawer?: boolean
  children: ReactNode
  foot?: ReactNode
  onClose(): void
}

/** A panel at the side; a sheet from below on a phone. It takes the focus, and gives it back when it closes. */
export function ReaderPanel({ title, isDrawer = false, children, foot, onClose }: PanelProps) {
  const heading = useId()
  const closing = useRef<HTMLButtonElement>(null)
  const [before] = useState(() => document.activeElement)
  useEffect(() => {
    // A field of the panel may have taken the focus already.
    const panel = closing.current?.closest('aside')
    if (!panel?.contains(document.activeElement)) closing.current?.focus({ preventScroll: true })
    return () => (before instanceof HTMLElement ? before.focus({ preventScroll: true }) : undefined)
  }, [before])
  return (
    <aside className={isDrawer ? 'rdrawer' : 'rpanel'} aria-labelledby={heading}>
      <header>
        <span className="grab" />
        <h2 id={heading}>{title}</h2>
        <button ref={closing} type="button" className="icon-btn" aria-label={readerTexts.close()} onClick={onClose}>
          <Icon of={X} />
        </button>
      </header>
      <div className="rscroll">{children}</div>
      {foot && <footer>{foot}</footer>}
    </aside>
  )
}

const LEVELS: readonly Level[] = ['book', 'series', 'global']

/** For what changes hold. */
export function TargetChoice<Settings extends object>({ of }: { of: LevelSettings<Settings> }) {
  const name = useId()
  return (
    <fieldset className="rgroup">
      <legend>{settingTexts.keepFor()}</legend>
      <div className="segments fill full">
        {LEVELS.map((level) => (
          <label key={level}>
            <input
              type="radio"
              className="visually-hidden"
              name={name}
              checked={of.target === level}
              onChange={() => of.setTarget(level)}
            />
            <span>{settingTexts[level]()}</span>
          </label>
        ))}
      </div>
      {of.unsaved && <p role="alert">{settingTexts.notSaved({ reason: of.unsaved })}</p>}
    </fieldset>
  )
}

/** Drops all that was chosen at the target. */
export function ClearTarget<Settings extends object>({ of }: { of: LevelSettings<Settings> }) {
  const words = { book: settingTexts.setBookBack, series: settingTexts.setSeriesBack, global: settingTexts.setGlobalBack }
  return (
    <button type="button" className="btn" onClick={of.clearTarget}>
      {words[of.target]()}
    </button>
  )
}
