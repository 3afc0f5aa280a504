import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { makeApiKey } from '#api/profile.ts'
import type { Permission } from '#api/records.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { ChoiceField, TextField } from '#parts/controls.tsx'
import { Failure } from '#parts/states.tsx'
import { profileTexts } from '#texts/profile.ts'

/** What apps for reading need. */
const READING: Permission[] = ['libraries-read', 'series-read', 'books-read', 'pages-read', 'progress-read', 'progress-write']

interface MakeKeyProps {
  onMade: (name: string, key: string) => void
  onClose: () => void
}

export function MakeKey({ onMade, onClose }: MakeKeyProps) {
  const [name, setName] = useState('')
  const [rights, setRights] = useState<'read' | 'all'>('read')
  const [until, setUntil] = useState('')
  const making = useMutation({
    mutationFn: () =>
      makeApiKey({
        name: name.trim(),
        permissions: rights === 'read' ? READING : null,
        expiresAt: until === '' ? null : new Date(`${until}T23:59:59`).toISOString(),
      }),
    onSuccess: (key) => onMade(name, key),
  })
  return (
    <Dialog
      title={profileTexts.makeKey()}
      action={profileTexts.make()}
      isBusy={making.isPending}
      onAction={() => making.mutate()}
      onClose={onClose}
    >
      <TextField
        label={profileTexts.keyName()}
        hint={profileTexts.keyNameHint()}
        value={name}
        required
        maxLength={100}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <ChoiceField
        label={profileTexts.keyRights()}
        value={rights}
        options={[
          { value: 'read', text: profileTexts.keyRead() },
          { value: 'all', text: profileTexts.keyAll() },
        ]}
        onChange={setRights}
      />
      <TextField
        label={profileTexts.expires()}
        hint={profileTexts.expiresHint()}
        type="date"
        value={until}
        onChange={({ currentTarget }) => setUntil(currentTarget.value)}
      />
      {making.error && <Failure error={making.error} title={profileTexts.make()} />}
    </Dialog>
  )
}
