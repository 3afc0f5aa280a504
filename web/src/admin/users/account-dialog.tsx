import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { editUser } from '#api/admin.ts'
import type { UserRecord } from '#api/records.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { ChoiceField, TextField } from '#parts/controls.tsx'
import { PasswordField } from '#parts/password-field.tsx'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { PASSWORD_MIN } from './add-user.tsx'
import { ROLES, type Role } from './roles.ts'

/** Name, address, role and, if one is typed, a new password. */
export function AccountDialog({ user, onClose }: { user: UserRecord; onClose: () => void }) {
  const [username, setUsername] = useState(user.username)
  const [email, setEmail] = useState(user.email)
  const [role, setRole] = useState<Role>(user.role)
  const [password, setPassword] = useState('')
  const saving = useMutation({
    mutationFn: () => editUser(user.id, { username: username.trim(), email: email.trim(), role, ...(password === '' ? {} : { password }) }),
    onSuccess: () => {
      say(adminTexts.saved())
      onClose()
    },
  })
  return (
    <Dialog
      title={adminTexts.roleOf({ name: user.username })}
      action={adminTexts.save()}
      isBusy={saving.isPending}
      onAction={() => saving.mutate()}
      onClose={onClose}
    >
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
      <ChoiceField label={adminTexts.role()} value={role} options={ROLES} onChange={setRole} />
      <PasswordField
        label={adminTexts.newPassword()}
        hint={adminTexts.newPasswordHint()}
        value={password}
        required={false}
        minLength={PASSWORD_MIN}
        autoComplete="new-password"
        onChange={({ currentTarget }) => setPassword(currentTarget.value)}
      />
      {saving.error && <Failure error={saving.error} title={adminTexts.save()} />}
    </Dialog>
  )
}
