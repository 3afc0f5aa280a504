import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import style from '#admin/admin.module.css'
import { editLibrary, layoutChangeQuery } from '#api/admin.ts'
import type { LibraryRecord } from '#api/records.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { Check, ChoiceField, Field, TextField } from '#parts/controls.tsx'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { layoutTexts } from '#texts/layouts.ts'
import { LayoutChange } from './layout-change.tsx'
import { type Layout, LayoutFields } from './layout-fields.tsx'
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
  const [layout, setLayout] = useState<Layout>(library)
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
        ...changesOf(library, layout),
        scanningConfig: {
          ...{ enabled: true, scanMode: 'normal', ...library.scanningConfig },
          scanOnStart: isOnStart,
          cronSchedule: schedule.cron,
          cronTimezone: schedule.timeZone,
        },
      }),
    onSuccess: () => {
      say(layout.seriesStrategy === library.seriesStrategy ? adminTexts.saved() : layoutTexts.changed({ name: library.name }))
      onClose()
    },
  })
  const fields = { name, setName, formats, setFormats, direction, setDirection, excluded, setExcluded, isOnStart, setIsOnStart }
  return { ...fields, layout, setLayout, schedule, setSchedule, saving }
}

/** Only what is different: a strategy that is sent again could lose settings that are not shown here. */
function changesOf(library: LibraryRecord, { seriesStrategy, bookStrategy, numberStrategy }: Layout): Partial<Layout> {
  return {
    ...(seriesStrategy === library.seriesStrategy ? {} : { seriesStrategy }),
    ...(bookStrategy === library.bookStrategy ? {} : { bookStrategy }),
    ...(numberStrategy === library.numberStrategy ? {} : { numberStrategy }),
  }
}

/** Asks before books move to other series. */
export function EditLibrary({ library, onClose }: { library: LibraryRecord; onClose: () => void }) {
  const edit = useLibraryEdit(library, onClose)
  const [isAsking, setIsAsking] = useState(false)
  const { seriesStrategy } = edit.layout
  const isChanged = seriesStrategy !== library.seriesStrategy
  const { data } = useQuery({ ...layoutChangeQuery(library.id, seriesStrategy), enabled: isChanged })
  const save = () => edit.saving.mutate()
  const mustAsk = isChanged && data?.booksMoved !== 0
  return (
    <>
      <LibraryForm library={library} edit={edit} onSave={mustAsk ? () => setIsAsking(true) : save} onClose={onClose} />
      {isAsking && (
        <Dialog
          title={layoutTexts.changeTitle({ name: library.name })}
          action={layoutTexts.change()}
          isBusy={edit.saving.isPending}
          onAction={save}
          onClose={() => setIsAsking(false)}
        >
          <LayoutChange libraryId={library.id} strategy={seriesStrategy} />
          <p>{layoutTexts.changeWords()}</p>
          <p className="quiet">{layoutTexts.changeFiles()}</p>
          {edit.saving.error && <Failure error={edit.saving.error} title={adminTexts.save()} />}
        </Dialog>
      )}
    </>
  )
}

interface LibraryFormProps {
  library: LibraryRecord
  edit: ReturnType<typeof useLibraryEdit>
  onSave: () => void
  onClose: () => void
}

/** Name, formats, direction, strategies, exclusions and when to scan. */
function LibraryForm({ library, edit, onSave, onClose }: LibraryFormProps) {
  const { name, setName, formats, setFormats, direction, setDirection, excluded, setExcluded, saving } = edit
  const choose = (format: string, isOn: boolean) => setFormats(FORMATS.filter((each) => (each === format ? isOn : formats.includes(each))))
  return (
    <Dialog
      title={adminTexts.editLibrary({ name: library.name })}
      action={adminTexts.save()}
      isWide
      isBusy={saving.isPending}
      onAction={onSave}
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
      <LayoutFields library={library} value={edit.layout} onChange={edit.setLayout} />
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
