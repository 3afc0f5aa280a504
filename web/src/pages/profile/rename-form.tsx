import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { editUser } from '#api/admin.ts'
import { refresh } from '#api/reading.ts'
import type { Me } from '#api/session.ts'
import { say } from '#parts/above/toasts.tsx'
import { TextField } from '#parts/controls.tsx'
import { Failure } from '#parts/states.tsx'
import { pluginTexts } from '#texts/plugins.ts'
import { profileTexts } from '#texts/profile.ts'
import style from './profile.module.css'

/** The name of the user and their address, for those who may change users. */
export function RenameForm({ me }: { me: Me }) {
  const [username, setUsername] = useState(me.username)
  const [email, setEmail] = useState(me.email)
  const isChanged = username.trim() !== me.username || email.trim() !== me.email
  const saving = useMutation({
    mutationFn: () => editUser(me.id, { username: username.trim(), email: email.trim() }),
    onSuccess: async () => {
      await refresh(['me'])
      say(pluginTexts.renamed())
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isChanged) saving.mutate()
  }
  return (
    <form className={style['body']} onSubmit={submit}>
      <div className={style['pair']}>
        <TextField
          label={profileTexts.name()}
          hint={pluginTexts.renameHint()}
          value={username}
          required
          maxLength={200}
          autoComplete="username"
          onChange={({ currentTarget }) => setUsername(currentTarget.value)}
        />
        <TextField
          label={profileTexts.email()}
          type="email"
          value={email}
          required
          autoComplete="email"
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        />
      </div>
      {saving.error && <Failure error={saving.error} title={pluginTexts.rename()} />}
      <div className="line">
        <button type="submit" className="btn" disabled={!isChanged} aria-busy={saving.isPending}>
          {pluginTexts.rename()}
        </button>
      </div>
    </form>
  )
}
