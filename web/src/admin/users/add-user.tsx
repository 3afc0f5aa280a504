import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import style from '#admin/admin.module.css'
import { createUser } from '#api/admin.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { ChoiceField, TextField } from '#parts/controls.tsx'
import { PasswordField } from '#parts/password-field.tsx'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { ROLES, type Role } from './roles.ts'

/** The API's shortest password. */
export const PASSWORD_MIN = 8

export function AddUser({ onClose }: { onClose: () => void }) {
  const [username, setUsername] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [role, setRole] = useState<Role>('reader')
  const adding = useMutation({
    mutationFn: () => createUser({ username: username.trim(), email: email.trim(), password, role }),
    onSuccess: () => {
      say(adminTexts.added({ name: username }))
      onClose()
    },
  })
  return (
    <Dialog
      title={adminTexts.addUser()}
      action={adminTexts.add()}
      isWide
      isBusy={adding.isPending}
      onAction={() => adding.mutate()}
      onClose={onClose}
    >
      <div className={style['columns']}>
        <TextField
          label={adminTexts.name()}
          value={username}
          required
          maxLength={200}
          autoComplete="off"
          onChange={({ currentTarget }) => setUsername(currentTarget.value)}
        />
        <TextField
          label={adminTexts.email()}
          type="email"
          value={email}
          required
          autoComplete="off"
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        />
        <PasswordField
          label={adminTexts.password()}
          hint={adminTexts.passwordHint()}
          value={password}
          required
          minLength={PASSWORD_MIN}
          autoComplete="new-password"
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
        />
        <ChoiceField label={adminTexts.role()} value={role} options={ROLES} onChange={setRole} />
      </div>
      {adding.error && <Failure error={adding.error} title={adminTexts.addUser()} />}
    </Dialog>
  )
}
