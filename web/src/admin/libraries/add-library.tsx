import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { createLibrary } from '#api/new-library.ts'
import { refresh } from '#api/reading.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { Disclosure } from '#parts/disclosure.tsx'
import { FolderPicker } from '#parts/library/folder-picker.tsx'
import { LibraryPreview } from '#parts/library/library-preview.tsx'
import { previewRequestOf } from '#parts/library/preview-request.ts'
import { StrategyField } from '#parts/library/strategy-field.tsx'
import { Failure } from '#parts/states.tsx'
import { useRested } from '#parts/use-rested.ts'
import { adminTexts } from '#texts/admin.ts'
import { DirectionField, FileFields, NameField, NamingFields, ScanFields } from './library-fields.tsx'
import { formatsOf, type LibraryForm, NEW_FORM, newLibraryOf } from './library-form.ts'

/** A folder, with what its scan would find; the scan begins at once. */
export function AddLibrary({ onClose }: { onClose: () => void }) {
  const [folder, setFolder] = useState<string | null>(null)
  const [entered, setEntered] = useState<Partial<LibraryForm>>({})
  const change = (part: Partial<LibraryForm>) => setEntered((before) => ({ ...before, ...part }))
  // Until something is typed, the library is named after its folder.
  const form = { ...NEW_FORM, name: folder?.split('/').at(-1) ?? '', ...entered }
  const { asked, needsPattern } = useRested(previewRequestOf(folder, { ...form, formats: formatsOf(form) }))
  const adding = useMutation({
    mutationFn: () => createLibrary(newLibraryOf(form, folder!)),
    onSuccess: () => {
      void refresh(['libraries', 'scans'])
      say(adminTexts.scanStarted({ name: form.name }))
      onClose()
    },
  })
  const shared = { form, onChange: change }
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
      <NameField {...shared} />
      <DirectionField {...shared} />
      <StrategyField
        asked={asked}
        value={form.seriesStrategy}
        config={form.seriesConfig}
        onChange={(seriesStrategy, seriesConfig) => change({ seriesStrategy, seriesConfig })}
      />
      <LibraryPreview asked={asked} needsPattern={needsPattern} />
      <Disclosure title={adminTexts.moreSettings()}>
        <NamingFields {...shared} library={null} />
        <FileFields {...shared} />
        <ScanFields {...shared} />
      </Disclosure>
      {adding.error && <Failure error={adding.error} title={adminTexts.add()} />}
    </Dialog>
  )
}
