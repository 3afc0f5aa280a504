import { type FormEvent, type ReactNode, useState } from 'react'
import { CarrelMark } from '#parts/carrel-mark.tsx'
import { appTexts } from '#texts/app.ts'
import style from './gate.module.css'

interface GateFormProps {
  title: string
  action: string
  onSubmit: (values: FormData) => Promise<void>
  /** The fields; given why the last try was refused. */
  children: (error: string | null) => ReactNode
  foot: ReactNode
}

/** A form alone on its page. */
export function GateForm({ title, action, onSubmit, children, foot }: GateFormProps) {
  const [error, setError] = useState<string | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isBusy) return
    setIsBusy(true)
    setError(null)
    // When it succeeds, this page is gone.
    onSubmit(new FormData(event.currentTarget)).catch((reason: Error) => {
      setError(reason.message)
      setIsBusy(false)
    })
  }
  return (
    <main className={style['gate']}>
      <form className={`stack ${style['form']}`} onSubmit={submit}>
        <header className={style['header']}>
          <CarrelMark />
          <h1 className={style['welcome']}>{appTexts.name()}</h1>
          <p className="quiet">{title}</p>
        </header>
        {children(error)}
        <button type="submit" className="btn main big" aria-busy={isBusy}>
          {action}
        </button>
        <p className={`small quiet ${style['foot']}`}>{foot}</p>
      </form>
    </main>
  )
}
