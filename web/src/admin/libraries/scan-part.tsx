import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { scanLibrary } from '#api/admin.ts'
import type { LibraryRecord } from '#api/records.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { Check } from '#parts/controls.tsx'
import { FolderPicker } from '#parts/library/folder-picker.tsx'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { scanTexts } from '#texts/scans.ts'
import { pathWithin } from './scan-words.ts'

/** Scans a folder of a library: what a person has just added is found at once, also on a slow disk. */
export function ScanPart({ library: { id, name, path }, onClose }: { library: LibraryRecord; onClose: () => void }) {
  const [folder, setFolder] = useState(path)
  const [isDeep, setIsDeep] = useState(false)
  const part = pathWithin(path, folder)
  const scanning = useMutation({
    mutationFn: () => scanLibrary(id, { mode: isDeep ? 'deep' : 'normal', ...(part === null ? {} : { path: part }) }),
    onSuccess: () => {
      say(part === null ? adminTexts.scanStarted({ name }) : scanTexts.partStarted({ folder: part }))
      onClose()
    },
  })
  return (
    <Dialog
      title={scanTexts.partTitle({ name })}
      action={part === null ? scanTexts.scanAll() : scanTexts.scanPart()}
      isBusy={scanning.isPending}
      onAction={() => scanning.mutate()}
      onClose={onClose}
    >
      <FolderPicker value={folder} within={path} hint={scanTexts.partHint()} onChange={(chosen) => setFolder(chosen ?? path)} />
      <Check checked={isDeep} onChange={({ currentTarget }) => setIsDeep(currentTarget.checked)}>
        {scanTexts.readAgain()}
      </Check>
      {scanning.error && <Failure error={scanning.error} title={scanTexts.scanPart()} />}
    </Dialog>
  )
}
