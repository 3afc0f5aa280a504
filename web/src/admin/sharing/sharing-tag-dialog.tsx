import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { type SharingTagRecord, saveSharingTag } from '#api/sharing-tags.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { TextField } from '#parts/controls.tsx'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { sharingTexts } from '#texts/sharing.ts'

/** The lengths that the API takes, in characters. */
const NAME_MAX = 100
const DESCRIPTION_MAX = 1000

/** Name and description of a tag. @param tag null for a new one */
export function SharingTagDialog({ tag, onClose }: { tag: SharingTagRecord | null; onClose: () => void }) {
  const [name, setName] = useState(tag?.name ?? '')
  const [description, setDescription] = useState(tag?.description ?? '')
  const saving = useMutation({
    mutationFn: () => saveSharingTag(tag?.id ?? null, { name: name.trim(), description: description.trim() || null }),
    onSuccess: () => {
      say(tag ? adminTexts.saved() : adminTexts.added({ name }))
      onClose()
    },
  })
  return (
    <Dialog
      title={tag ? adminTexts.editLibrary({ name: tag.name }) : sharingTexts.addTag()}
      action={tag ? adminTexts.save() : adminTexts.add()}
      isBusy={saving.isPending}
      onAction={() => saving.mutate()}
      onClose={onClose}
    >
      <TextField
        label={adminTexts.name()}
        value={name}
        required
        maxLength={NAME_MAX}
        dir="auto"
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <TextField
        label={sharingTexts.description()}
        hint={sharingTexts.descriptionHint()}
        value={description}
        maxLength={DESCRIPTION_MAX}
        dir="auto"
        onChange={({ currentTarget }) => setDescription(currentTarget.value)}
      />
      {saving.error && <Failure error={saving.error} title={adminTexts.save()} />}
    </Dialog>
  )
}
