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
  // What was not typed follows the record, which somebody else may change; what was typed stays.
  const [typed, setTyped] = useState<{ username?: string; email?: string }>({})
  const { username, email } = { username: me.username, email: me.email, ...typed }
  const isChanged = username.trim() !== me.username || email.trim() !== me.email
  const saving = useMutation({
    mutationFn: () => editUser(me.id, { username: username.trim(), email: email.trim() }),
    onSuccess: async () => {
      await refresh(['me'])
      setTyped({})
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
          onChange={({ currentTarget }) => setTyped({ ...typed, username: currentTarget.value })}
        />
        <TextField
          label={profileTexts.email()}
          type="email"
          value={email}
          required
          autoComplete="email"
          onChange={({ currentTarget }) => setTyped({ ...typed, email: currentTarget.value })}
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
