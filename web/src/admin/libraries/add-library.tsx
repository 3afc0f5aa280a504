import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { createLibrary } from '#api/new-library.ts'
import { refresh } from '#api/reading.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { ChoiceField, TextField } from '#parts/controls.tsx'
import { FolderPicker } from '#parts/library/folder-picker.tsx'
import { LibraryPreview } from '#parts/library/library-preview.tsx'
import type { SeriesStrategy } from '#parts/library/strategies.ts'
import { StrategyField } from '#parts/library/strategy-field.tsx'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'

const DIRECTIONS = ['ltr', 'rtl', 'ttb'] as const

/** A folder, with what its scan would find; the scan begins at once. */
export function AddLibrary({ onClose }: { onClose: () => void }) {
  const [folder, setFolder] = useState<string | null>(null)
  const [name, setName] = useState<string | null>(null)
  const [strategy, setStrategy] = useState<SeriesStrategy>('auto')
  const [direction, setDirection] = useState<(typeof DIRECTIONS)[number]>('ltr')
  // Until something is typed, the library is named after its folder.
  const shownName = name ?? folder?.split('/').at(-1) ?? ''
  const asked = folder === null ? null : { path: folder, seriesStrategy: strategy }
  const adding = useMutation({
    mutationFn: () =>
      createLibrary({ name: shownName.trim(), path: folder!, seriesStrategy: strategy, defaultReadingDirection: direction }),
    onSuccess: () => {
      void refresh(['libraries', 'scans'])
      say(adminTexts.scanStarted({ name: shownName }))
      onClose()
    },
  })
  return (
    <Dialog
      title={adminTexts.addLibrary()}
      action={adminTexts.add()}
      isWide
      isBusy={adding.isPending}
      onAction={() => folder !== null && adding.mutate()}
      onClose={onClose}
    >
      <FolderPicker value={folder} onChange={setFolder} />
      <TextField
        label={adminTexts.name()}
        value={shownName}
        required
        maxLength={200}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <ChoiceField
        label={adminTexts.direction()}
        value={direction}
        options={DIRECTIONS.map((value) => ({ value, text: adminTexts[value]() }))}
        onChange={setDirection}
      />
      <StrategyField asked={asked} value={strategy} onChange={setStrategy} />
      <LibraryPreview asked={asked} />
      {adding.error && <Failure error={adding.error} title={adminTexts.add()} />}
    </Dialog>
  )
}
