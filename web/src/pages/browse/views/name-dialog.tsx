import { useState } from 'react'
import { Dialog } from '#parts/above/dialog.tsx'
import { Check, TextField } from '#parts/controls.tsx'
import { viewTexts } from '#texts/views.ts'

/** As long as a line of a menu, in characters. */
const NAME_MAX = 100

interface NameDialogProps {
  title: string
  name: string
  isPinned: boolean
  onSave: (name: string, isPinned: boolean) => void
  onClose: () => void
}

/** Asks for the name of a view. */
export function NameDialog({ title, name: before, isPinned: wasPinned, onSave, onClose }: NameDialogProps) {
  const [name, setName] = useState(before)
  const [isPinned, setIsPinned] = useState(wasPinned)
  const [hasTried, setHasTried] = useState(false)
  const save = () => {
    setHasTried(true)
    if (name.trim() === '') return
    onSave(name.trim(), isPinned)
    onClose()
  }
  return (
    <Dialog title={title} action={viewTexts.save()} onAction={save} onClose={onClose}>
      <TextField
        label={viewTexts.name()}
        hint={viewTexts.nameHint()}
        error={hasTried && name.trim() === '' ? viewTexts.nameMissing() : null}
        value={name}
        maxLength={NAME_MAX}
        dir="auto"
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <Check checked={isPinned} onChange={({ currentTarget }) => setIsPinned(currentTarget.checked)}>
        {viewTexts.pin()}
      </Check>
    </Dialog>
  )
}
