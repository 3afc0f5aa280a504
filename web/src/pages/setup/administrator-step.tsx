import { FolderOpen, Lock, type LucideIcon, ScanLine, Smartphone } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { initialize } from '#api/session.ts'
import { TextField } from '#parts/controls.tsx'
import { Icon } from '#parts/icon.tsx'
import { PasswordField } from '#parts/password-field.tsx'
import { Failure } from '#parts/states.tsx'
import { setupTexts } from '#texts/setup.ts'
import style from './setup.module.css'

export function AdministratorStep() {
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const values = new FormData(event.currentTarget)
    setIsBusy(true)
    setError(null)
    const [username, email, password] = ['username', 'email', 'password'].map((name) => String(values.get(name))) as [
      string,
      string,
      string,
    ]
    // When it succeeds, the next step is shown, because somebody is signed in.
    initialize({ username, email, password }).catch((reason: Error) => {
      setError(reason)
      setIsBusy(false)
    })
  }
  return (
    <main className={style['two']}>
      <form className={`stack ${style['ask']}`} onSubmit={submit}>
        <div>
          <h1 className={style['welcome']}>{setupTexts.welcome()}</h1>
          <p className={`quiet ${style['lead']}`}>{setupTexts.welcomeWords()}</p>
        </div>
        <TextField label={setupTexts.name()} name="username" autoComplete="username" autoCapitalize="none" required autoFocus />
        <TextField label={setupTexts.email()} name="email" type="email" autoComplete="email" hint={setupTexts.emailHint()} required />
        <PasswordField
          label={setupTexts.password()}
          name="password"
          autoComplete="new-password"
          minLength={8}
          hint={setupTexts.passwordHint()}
        />
        {error && <Failure error={error} title={setupTexts.create()} />}
        <button type="submit" className="btn main big" aria-busy={isBusy}>
          {setupTexts.create()}
        </button>
      </form>
      <section className={style['next']} aria-labelledby="next-title">
        <h2 className="group-title" id="next-title">
          {setupTexts.next()}
        </h2>
        <ol>
          <Next icon={FolderOpen} title={setupTexts.chooseFolder()} words={setupTexts.chooseFolderWords()} />
          <Next icon={ScanLine} title={setupTexts.watchScan()} words={setupTexts.watchScanWords()} />
          <Next icon={Smartphone} title={setupTexts.readAnywhere()} words={setupTexts.readAnywhereWords()} />
        </ol>
        <p className={`small quiet ${style['rule']}`}>
          <Icon of={Lock} />
          {setupTexts.private()}
        </p>
      </section>
    </main>
  )
}

const Next = ({ icon, title, words }: { icon: LucideIcon; title: string; words: string }) => (
  <li>
    <Icon of={icon} />
    <div>
      <h3 className="strong">{title}</h3>
      <p className="quiet">{words}</p>
    </div>
  </li>
)
