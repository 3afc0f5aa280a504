import { useQuery } from '@tanstack/react-query'
import { Ban, Check, Ellipsis, Eye, Plus, Trash2, UserCog } from 'lucide-react'
import { useState } from 'react'
import style from '#admin/admin.module.css'
import { editUser, removeUser, usersQuery } from '#api/admin.ts'
import type { UserRecord } from '#api/records.ts'
import { meQuery } from '#api/session.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import type { MenuEntry } from '#parts/above/menu.tsx'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { partTexts } from '#texts/parts.ts'
import { AccessDialog } from './access-dialog.tsx'
import { AccountDialog } from './account-dialog.tsx'
import { AddUser } from './add-user.tsx'

type Asked = { kind: 'add' } | { kind: 'account' | 'access' | 'remove'; user: UserRecord } | null

/** Who may sign in, with role and state. */
export function UsersSection() {
  const { data, error, refetch } = useQuery(usersQuery)
  const mayWrite = useMayDo('users-write')
  const [asked, setAsked] = useState<Asked>(null)
  const close = () => setAsked(null)
  return (
    <section className="stack" aria-label={adminTexts.users()}>
      {mayWrite && (
        <div className="line">
          <button type="button" className="btn main" onClick={() => setAsked({ kind: 'add' })}>
            <Icon of={Plus} />
            {adminTexts.addUser()}
          </button>
        </div>
      )}
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <ul className="rows">
        {data?.map((user) => (
          <UserRow key={user.id} user={user} onAsk={setAsked} />
        ))}
      </ul>
      {asked?.kind === 'add' && <AddUser onClose={close} />}
      {asked?.kind === 'account' && <AccountDialog user={asked.user} onClose={close} />}
      {asked?.kind === 'access' && <AccessDialog user={asked.user} onClose={close} />}
      {asked?.kind === 'remove' && <RemoveUser user={asked.user} onClose={close} />}
    </section>
  )
}

function UserRow({ user, onAsk }: { user: UserRecord; onAsk: (asked: Asked) => void }) {
  const { username, email, role, isActive, lastLoginAt } = user
  const entries = useEntries(user, onAsk)
  const label = partTexts.more({ title: username })
  const { openFrom, onBox, menu } = useMenu(label, () => entries)
  const when = timeWords(lastLoginAt)
  return (
    <li className={`row ${style['row']}`} {...(entries.length > 0 ? onBox : {})}>
      <span className="avatar" aria-hidden="true">
        {[...username][0]?.toUpperCase()}
      </span>
      <span className="words">
        <bdi className="strong clip">{username}</bdi>
        <bdi className="sub clip">{email}</bdi>
      </span>
      <span className={style['state']}>
        <span className="line">
          {adminTexts[role]()}
          {!isActive && <span className="badge bad">{adminTexts.disabled()}</span>}
        </span>
        {when ? adminTexts.lastLogin({ when }) : adminTexts.noLogin()}
      </span>
      <span className="end">
        {entries.length > 0 && (
          <button type="button" className="icon-btn" aria-label={label} aria-haspopup="menu" onClick={openFrom}>
            <Icon of={Ellipsis} />
          </button>
        )}
      </span>
      {menu}
    </li>
  )
}

/** What may be done with a user: nobody disables or removes their own account, and administrators see everything. */
function useEntries(user: UserRecord, onAsk: (asked: Asked) => void): MenuEntry[] {
  const mayWrite = useMayDo('users-write')
  const mayRemove = useMayDo('users-delete')
  const maySetAccess = useMayDo('system-admin')
  const isMe = useQuery(meQuery).data?.id === user.id
  const { id, username: name, isActive, role } = user
  const setActive = (to: boolean) =>
    editUser(id, { isActive: to }).then(() => say(to ? adminTexts.enabledNow({ name }) : adminTexts.disabledNow({ name })), sayFailure)
  if (isMe) return []
  return [
    ...(mayWrite ? [{ text: adminTexts.changeRole(), icon: UserCog, run: () => onAsk({ kind: 'account', user }) }] : []),
    ...(maySetAccess && role !== 'admin' ? [{ text: adminTexts.access(), icon: Eye, run: () => onAsk({ kind: 'access', user }) }] : []),
    ...(mayWrite
      ? [
          isActive
            ? { text: adminTexts.disable(), icon: Ban, run: () => void setActive(false) }
            : { text: adminTexts.enable(), icon: Check, run: () => void setActive(true) },
        ]
      : []),
    ...(mayRemove ? [{ text: adminTexts.remove(), icon: Trash2, isDangerous: true, run: () => onAsk({ kind: 'remove', user }) }] : []),
  ]
}

function RemoveUser({ user: { id, username: name }, onClose }: { user: UserRecord; onClose: () => void }) {
  const remove = () => {
    onClose()
    removeUser(id).then(() => say(adminTexts.removed({ name })), sayFailure)
  }
  return (
    <Dialog title={adminTexts.removeUserTitle({ name })} action={adminTexts.remove()} isDangerous onAction={remove} onClose={onClose}>
      <p>{adminTexts.removeUserWords()}</p>
    </Dialog>
  )
}
