import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useLayoutEffect, useState } from 'react'
import { leave, meQuery, signIn } from '#api/session.ts'
import style from '#parts/above/dialog.module.css'
import { useModal } from '#parts/above/use-modal.ts'
import { PasswordField } from '#parts/password-field.tsx'
import { appTexts } from '#texts/app.ts'

/** Above the page, when the session has ended: the page keeps what was typed. It cannot be closed, since nothing below would work. */
export function EndedSession() {
  const box = useModal()
  const [error, setError] = useState<string | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const name = useQuery({ ...meQuery, enabled: false }).data?.username ?? ''
  // The browser gives the focus to the first field, which is the hidden name.
  useLayoutEffect(() => box.current?.querySelector<HTMLElement>('[name="password"]')?.focus(), [box])
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    setIsBusy(true)
    signIn(name, String(new FormData(event.currentTarget).get('password'))).catch((reason: Error) => {
      setError(reason.message)
      setIsBusy(false)
    })
  }
  return (
    <dialog ref={box} className={style['scrim']} aria-labelledby="ended-title" onCancel={(event) => event.preventDefault()}>
      <form className="dialog" onSubmit={submit}>
        <h2 id="ended-title">{appTexts.endedTitle()}</h2>
        <p className="quiet">{appTexts.endedWords()}</p>
        {/* For the browser, which knows the passwords by name. */}
        <input className="visually-hidden" name="username" autoComplete="username" value={name} readOnly tabIndex={-1} aria-hidden="true" />
        <PasswordField label={appTexts.passwordOf({ name })} name="password" autoComplete="current-password" error={error} />
        <div className="actions">
          <button type="button" className="btn plain" onClick={leave}>
            {appTexts.someoneElse()}
          </button>
          <button type="submit" className="btn main" aria-busy={isBusy}>
            {appTexts.signIn()}
          </button>
        </div>
      </form>
    </dialog>
  )
}
