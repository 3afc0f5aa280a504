import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import style from '#admin/admin.module.css'
import { editLibrary } from '#api/admin.ts'
import type { LibraryRecord } from '#api/records.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { Check, ChoiceField, Field, TextField } from '#parts/controls.tsx'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { type Schedule, ScheduleFields } from './schedule-fields.tsx'

const FORMATS = ['cbz', 'cbr', 'epub', 'pdf']
type Direction = LibraryRecord['defaultReadingDirection']
const DIRECTIONS: readonly Direction[] = ['ltr', 'rtl', 'ttb', 'webtoon']

/** What is entered, and what saves it. */
function useLibraryEdit(library: LibraryRecord, onClose: () => void) {
  const [name, setName] = useState(library.name)
  const [formats, setFormats] = useState<readonly string[]>(library.allowedFormats ?? FORMATS)
  const [direction, setDirection] = useState<Direction>(library.defaultReadingDirection)
  const [excluded, setExcluded] = useState(library.excludedPatterns ?? '')
  const [isOnStart, setIsOnStart] = useState(library.scanningConfig === null || library.scanningConfig.scanOnStart === true)
  const [schedule, setSchedule] = useState<Schedule>({
    cron: library.scanningConfig?.cronSchedule ?? null,
    timeZone: library.scanningConfig?.cronTimezone ?? null,
  })
  const saving = useMutation({
    mutationFn: () =>
      editLibrary(library.id, {
        name: name.trim(),
        allowedFormats: formats.length === FORMATS.length ? null : [...formats],
        defaultReadingDirection: direction,
        excludedPatterns: excluded.trim() || null,
        scanningConfig: {
          ...{ enabled: true, scanMode: 'normal', ...library.scanningConfig },
          scanOnStart: isOnStart,
          cronSchedule: schedule.cron,
          cronTimezone: schedule.timeZone,
        },
      }),
    onSuccess: () => {
      say(adminTexts.saved())
      onClose()
    },
  })
  const fields = { name, setName, formats, setFormats, direction, setDirection, excluded, setExcluded, isOnStart, setIsOnStart }
  return { ...fields, schedule, setSchedule, saving }
}

/** Name, formats, direction, exclusions and when to scan. */
export function EditLibrary({ library, onClose }: { library: LibraryRecord; onClose: () => void }) {
  const edit = useLibraryEdit(library, onClose)
  const { name, setName, formats, setFormats, direction, setDirection, excluded, setExcluded, saving } = edit
  const choose = (format: string, isOn: boolean) => setFormats(FORMATS.filter((each) => (each === format ? isOn : formats.includes(each))))
  return (
    <Dialog
      title={adminTexts.editLibrary({ name: library.name })}
      action={adminTexts.save()}
      isWide
      isBusy={saving.isPending}
      onAction={() => saving.mutate()}
      onClose={onClose}
    >
      <TextField
        label={adminTexts.name()}
        value={name}
        required
        maxLength={200}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <fieldset>
        <legend className="small strong">{adminTexts.formats()}</legend>
        <div className={style['checks']}>
          {FORMATS.map((format) => (
            <Check key={format} checked={formats.includes(format)} onChange={({ currentTarget }) => choose(format, currentTarget.checked)}>
              {format.toUpperCase()}
            </Check>
          ))}
        </div>
      </fieldset>
      <ChoiceField
        label={adminTexts.direction()}
        value={direction}
        options={DIRECTIONS.map((value) => ({ value, text: adminTexts[value]() }))}
        onChange={setDirection}
      />
      <Excluded value={excluded} onChange={setExcluded} />
      <ScheduleFields value={edit.schedule} onChange={edit.setSchedule} />
      <Check isSwitch checked={edit.isOnStart} onChange={({ currentTarget }) => edit.setIsOnStart(currentTarget.checked)}>
        {adminTexts.onStart()}
      </Check>
      {saving.error && <Failure error={saving.error} title={adminTexts.save()} />}
    </Dialog>
  )
}

function Excluded({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <Field label={adminTexts.excluded()} hint={adminTexts.excludedHint()}>
      {(attributes) => (
        <span className="input">
          <textarea {...attributes} className="mono" value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
        </span>
      )}
    </Field>
  )
}
