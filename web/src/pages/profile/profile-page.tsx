import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useEffect, useId, useState } from 'react'
import { myPluginsQuery } from '#api/plugins.ts'
import { changePassword } from '#api/profile.ts'
import { meQuery } from '#api/session.ts'
import { say } from '#parts/above/toasts.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { PasswordField } from '#parts/password-field.tsx'
import { Failure } from '#parts/states.tsx'
import { pluginTexts } from '#texts/plugins.ts'
import { profileTexts } from '#texts/profile.ts'
import { ApiKeys } from './api-keys.tsx'
import { DensityChoice } from './density-choice.tsx'
import { MyPlugins } from './plugins/my-plugins.tsx'
import style from './profile.module.css'
import { RenameForm } from './rename-form.tsx'
import { Sessions } from './sessions.tsx'
import { ShortcutsPart } from './shortcuts-part.tsx'
import { ThemeChoice } from './theme-choice.tsx'

/** The API's shortest password. */
const PASSWORD_MIN = 8

export default function ProfilePage() {
  const me = useQuery(meQuery).data
  const mayKeys = useMayDo('api-keys-read')
  const mayRename = useMayDo('users-write')
  const plugins = useQuery(myPluginsQuery).data
  const hasPlugins = plugins !== undefined && plugins.enabled.length + plugins.available.length > 0
  useAnchor(hasPlugins)
  if (!me) return null
  return (
    <div className={style['page']}>
      <h1 className="page-title">{profileTexts.title()}</h1>
      <Part title={profileTexts.account()} words={profileTexts.accountWords()}>
        <dl className="facts">
          {!mayRename && (
            <>
              <dt>{profileTexts.name()}</dt>
              <dd>
                <bdi>{me.username}</bdi>
              </dd>
              <dt>{profileTexts.email()}</dt>
              <dd>
                <bdi>{me.email}</bdi>
              </dd>
            </>
          )}
          <dt>{profileTexts.role()}</dt>
          <dd>{profileTexts[me.role]()}</dd>
        </dl>
        {mayRename ? <RenameForm me={me} /> : <p className="small quiet">{pluginTexts.nameByAdmin()}</p>}
      </Part>
      <Part title={profileTexts.look()} words={profileTexts.lookWords()}>
        <ThemeChoice />
        <DensityChoice />
      </Part>
      <Part title={profileTexts.password()} words={profileTexts.passwordWords()}>
        <PasswordForm username={me.username} />
      </Part>
      {mayKeys && (
        <Part title={profileTexts.keys()} words={profileTexts.keysWords()}>
          <ApiKeys />
        </Part>
      )}
      {hasPlugins && (
        <Part id={PLUGINS} title={pluginTexts.title()} words={pluginTexts.words()}>
          <MyPlugins {...plugins} />
        </Part>
      )}
      <Part title={profileTexts.sessions()} words={profileTexts.sessionsWords()}>
        <Sessions />
      </Part>
      <Part title={pluginTexts.keys()} words={pluginTexts.keysWords()}>
        <ShortcutsPart />
      </Part>
    </div>
  )
}

/** Where other pages lead: `/profile#plugins`. */
const PLUGINS = 'plugins'

/** Shows what the address names once it is there. */
function useAnchor(isReady: boolean): void {
  useEffect(() => {
    if (isReady && location.hash === `#${PLUGINS}`) document.getElementById(PLUGINS)?.scrollIntoView({ behavior: 'instant' })
  }, [isReady])
}

function Part({ id: anchor, title, words, children }: { id?: string; title: string; words: string; children: ReactNode }) {
  const id = useId()
  return (
    <section className={style['part']} id={anchor} aria-labelledby={id}>
      <header>
        <h2 className="section-title" id={id}>
          {title}
        </h2>
        <p className="quiet">{words}</p>
      </header>
      <div className={style['body']}>{children}</div>
    </section>
  )
}

function PasswordForm({ username }: { username: string }) {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const changing = useMutation({
    mutationFn: () => changePassword(current, next),
    onSuccess: () => {
      setCurrent('')
      setNext('')
      say(profileTexts.changed())
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    changing.mutate()
  }
  return (
    <form className={style['body']} onSubmit={submit}>
      <input type="text" hidden readOnly autoComplete="username" value={username} />
      <div className={style['pair']}>
        <PasswordField
          label={profileTexts.current()}
          value={current}
          required
          autoComplete="current-password"
          onChange={({ currentTarget }) => setCurrent(currentTarget.value)}
        />
        <PasswordField
          label={profileTexts.new()}
          hint={profileTexts.passwordHint()}
          value={next}
          required
          minLength={PASSWORD_MIN}
          autoComplete="new-password"
          onChange={({ currentTarget }) => setNext(currentTarget.value)}
        />
      </div>
      {changing.error && <Failure error={changing.error} title={profileTexts.change()} />}
      <div className="line">
        <button type="submit" className="btn" aria-busy={changing.isPending}>
          {profileTexts.change()}
        </button>
      </div>
    </form>
  )
}
