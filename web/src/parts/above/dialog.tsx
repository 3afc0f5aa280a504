import { type FormEvent, type ReactNode, useEffect, useId } from 'react'
import { partTexts } from '#texts/parts.ts'
import style from './dialog.module.css'
import { useModal, useScrim } from './use-modal.ts'

interface DialogProps {
  title: string
  children: ReactNode
  /** The name of what the main button does. */
  action: string
  isDangerous?: boolean
  isBusy?: boolean
  isWide?: boolean
  onAction: () => void
  onClose: () => void
}

/** A question above the page, a sheet from below on phones. The browser keeps the focus inside; Escape closes. */
export function Dialog({ title, children, action, isDangerous, isBusy, isWide, onAction, onClose }: DialogProps) {
  const box = useModal()
  const scrim = useScrim()
  const id = useId()
  useEffect(() => {
    const root = document.documentElement
    root.classList.add(style['still']!)
    return () => root.classList.remove(style['still']!)
  }, [])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isBusy) onAction()
  }
  return (
    <dialog ref={box} className={style['scrim']} aria-labelledby={id} onClose={onClose} {...scrim}>
      <form className={`dialog ${isWide ? style['wide'] : ''}`} onSubmit={submit} noValidate={false}>
        <h2 id={id}>{title}</h2>
        {children}
        <div className="actions">
          <button type="button" className="btn" onClick={() => box.current?.close()}>
            {partTexts.cancel()}
          </button>
          <button type="submit" className={isDangerous ? 'btn danger' : 'btn main'} aria-busy={isBusy}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  )
}
