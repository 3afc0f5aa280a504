import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { editLibrary, layoutChangeQuery } from '#api/admin.ts'
import type { LayoutEdit, LibraryRecord } from '#api/records.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { timeWords } from '#parts/formats.ts'
import { isComplete, SERIES_SETTINGS } from '#parts/library/strategy-settings.ts'
import { Failure } from '#parts/states.tsx'
import { useRested } from '#parts/use-rested.ts'
import { adminTexts } from '#texts/admin.ts'
import { layoutTexts } from '#texts/layouts.ts'
import { LayoutChange } from './layout-change.tsx'
import { LayoutFields } from './layout-fields.tsx'
import { DirectionField, FileFields, NameField, NamingFields, ScanFields } from './library-fields.tsx'
import { editOf, formOf, type LibraryForm, layoutEditOf } from './library-form.ts'

/** What is entered, what it would move, and what saves it. */
function useLibraryEdit(library: LibraryRecord, onClose: () => void) {
  const [form, setForm] = useState(() => formOf(library))
  const layoutEdit = layoutEditOf(library, form)
  const saving = useMutation({
    mutationFn: () => editLibrary(library.id, editOf(library, form)),
    onSuccess: () => {
      say(layoutEdit ? layoutTexts.changed({ name: library.name }) : adminTexts.saved())
      onClose()
    },
  })
  const asked = useRested(isComplete(SERIES_SETTINGS[form.seriesStrategy], form.seriesConfig) ? layoutEdit : null)
  const moved = useQuery(layoutChangeQuery(library.id, asked)).data?.booksMoved
  const change = (part: Partial<LibraryForm>) => setForm((before) => ({ ...before, ...part }))
  return { form, change, layoutEdit, asked, moved, saving }
}

/** Asks before books move to other series. */
export function EditLibrary({ library, onClose }: { library: LibraryRecord; onClose: () => void }) {
  const edit = useLibraryEdit(library, onClose)
  const [isAsking, setIsAsking] = useState(false)
  const { layoutEdit, asked, moved, saving } = edit
  const save = () => saving.mutate()
  // What was typed a moment ago has not been looked at.
  const isLookedAt = JSON.stringify(asked) === JSON.stringify(layoutEdit)
  const mustAsk = layoutEdit !== null && !(isLookedAt && moved === 0)
  return (
    <>
      <EditForm library={library} edit={edit} onSave={mustAsk ? () => setIsAsking(true) : save} onClose={onClose} />
      {isAsking && layoutEdit && (
        <Dialog
          title={layoutTexts.changeTitle({ name: library.name })}
          action={layoutTexts.change()}
          isBusy={saving.isPending}
          onAction={save}
          onClose={() => setIsAsking(false)}
        >
          <LayoutChange libraryId={library.id} edit={layoutEdit} />
          <p>{layoutTexts.changeWords()}</p>
          <p className="quiet">{layoutTexts.changeFiles()}</p>
          {saving.error && <Failure error={saving.error} title={adminTexts.save()} />}
        </Dialog>
      )}
    </>
  )
}

interface EditFormProps {
  library: LibraryRecord
  edit: {
    form: LibraryForm
    change: (part: Partial<LibraryForm>) => void
    asked: LayoutEdit | null
    saving: { error: Error | null; isPending: boolean }
  }
  onSave: () => void
  onClose: () => void
}

/** Name, direction, strategies, formats, exclusions and when to scan. */
function EditForm({ library, edit: { form, change, asked, saving }, onSave, onClose }: EditFormProps) {
  const shared = { form, onChange: change }
  return (
    <Dialog
      title={adminTexts.editLibrary({ name: library.name })}
      action={adminTexts.save()}
      isWide
      isBusy={saving.isPending}
      onAction={onSave}
      onClose={onClose}
    >
      <NameField {...shared} />
      <DirectionField {...shared} />
      <LayoutFields library={library} edit={asked} {...shared} />
      <NamingFields {...shared} library={library} />
      <FileFields {...shared} />
      <ScanFields {...shared} nextScan={timeWords(library.nextScanAt)} />
      {saving.error && <Failure error={saving.error} title={adminTexts.save()} />}
    </Dialog>
  )
}
