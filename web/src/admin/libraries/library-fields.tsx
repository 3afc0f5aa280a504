import style from '#admin/admin.module.css'
import type { LibraryRecord } from '#api/records.ts'
import { Check, ChoiceField, Field, TextField } from '#parts/controls.tsx'
import { SettingsFields } from '#parts/library/settings-fields.tsx'
import { BOOK_SETTINGS, BOOK_STRATEGIES, NUMBER_SETTINGS, NUMBER_STRATEGIES } from '#parts/library/strategy-settings.ts'
import { adminTexts } from '#texts/admin.ts'
import { layoutTexts } from '#texts/layouts.ts'
import { FORMATS, formOf, type LibraryForm, NEW_FORM, namingEditOf, WATCH_MODES } from './library-form.ts'
import { ScheduleFields } from './schedule-fields.tsx'

const DIRECTIONS: readonly LibraryRecord['defaultReadingDirection'][] = ['ltr', 'rtl', 'ttb', 'webtoon']

interface FieldsProps {
  form: LibraryForm
  onChange: (change: Partial<LibraryForm>) => void
}

export function NameField({ form, onChange }: FieldsProps) {
  return (
    <TextField
      label={adminTexts.name()}
      value={form.name}
      required
      maxLength={200}
      onChange={({ currentTarget }) => onChange({ name: currentTarget.value })}
    />
  )
}

export function DirectionField({ form, onChange }: FieldsProps) {
  return (
    <ChoiceField
      label={adminTexts.direction()}
      value={form.direction}
      options={DIRECTIONS.map((value) => ({ value, text: adminTexts[value]() }))}
      onChange={(direction) => onChange({ direction })}
    />
  )
}

/** Which files are books of the library. */
export function FileFields({ form, onChange }: FieldsProps) {
  const { formats, excluded } = form
  const choose = (format: string, isOn: boolean) =>
    onChange({ formats: FORMATS.filter((each) => (each === format ? isOn : formats.includes(each))) })
  return (
    <>
      <fieldset className="field">
        <legend className="label">{adminTexts.formats()}</legend>
        <div className={style['formats']}>
          {FORMATS.map((format) => (
            <Check key={format} checked={formats.includes(format)} onChange={({ currentTarget }) => choose(format, currentTarget.checked)}>
              {format.toUpperCase()}
            </Check>
          ))}
        </div>
      </fieldset>
      <Field label={adminTexts.excluded()} hint={adminTexts.excludedHint()}>
        {(attributes) => (
          <span className="input">
            <textarea
              {...attributes}
              className="mono"
              dir="ltr"
              value={excluded}
              onChange={({ currentTarget }) => onChange({ excluded: currentTarget.value })}
            />
          </span>
        )}
      </Field>
    </>
  )
}

/** Where numbers and titles of books come from. @param library as it is stored; null for a new one */
export function NamingFields({ form, onChange, library }: FieldsProps & { library: LibraryRecord | null }) {
  const { numberStrategy, numberConfig, bookStrategy, bookConfig } = form
  const before = library ? formOf(library) : NEW_FORM
  const changed = library && namingEditOf(library, form)
  const hintOf = (words: string, isChanged: boolean) => (isChanged ? `${words} ${layoutTexts.givenAgain()}` : words)
  return (
    <>
      <ChoiceField
        label={layoutTexts.numberStrategy()}
        value={numberStrategy}
        options={NUMBER_STRATEGIES.map((each) => ({ value: each, text: layoutTexts[`${each}_number`]() }))}
        hint={hintOf(layoutTexts[`${numberStrategy}_numberWords`](), Boolean(changed?.number))}
        onChange={(next) => onChange({ numberStrategy: next, numberConfig: next === before.numberStrategy ? before.numberConfig : {} })}
      />
      <SettingsFields
        settings={NUMBER_SETTINGS[numberStrategy]}
        config={numberConfig}
        onChange={(config) => onChange({ numberConfig: config })}
      />
      <ChoiceField
        label={layoutTexts.bookStrategy()}
        value={bookStrategy}
        options={BOOK_STRATEGIES.map((each) => ({ value: each, text: layoutTexts[`${each}_title`]() }))}
        hint={hintOf(layoutTexts[`${bookStrategy}_titleWords`](), Boolean(changed?.book))}
        onChange={(next) => onChange({ bookStrategy: next, bookConfig: next === before.bookStrategy ? before.bookConfig : {} })}
      />
      <SettingsFields settings={BOOK_SETTINGS[bookStrategy]} config={bookConfig} onChange={(config) => onChange({ bookConfig: config })} />
    </>
  )
}

/** When the library is scanned by itself. @param nextScan when it is scanned next as things are; null for never */
export function ScanFields({ form, onChange, nextScan = null }: FieldsProps & { nextScan?: string | null }) {
  return (
    <>
      <WatchFields form={form} onChange={onChange} />
      <ScheduleFields value={form.schedule} nextScan={nextScan} onChange={(schedule) => onChange({ schedule })} />
      <Check isSwitch checked={form.isOnStart} onChange={({ currentTarget }) => onChange({ isOnStart: currentTarget.checked })}>
        {adminTexts.onStart()}
      </Check>
    </>
  )
}

/** How changes in the folders are noticed between scans. */
function WatchFields({ form: { watch, pollMinutes }, onChange }: FieldsProps) {
  return (
    <div className={style['columns']}>
      <ChoiceField
        label={adminTexts.watch()}
        value={watch}
        options={WATCH_MODES.map((value) => ({ value, text: adminTexts[`watch_${value}`]() }))}
        hint={adminTexts[`watch_${watch}Words`]()}
        onChange={(next) => onChange({ watch: next })}
      />
      {watch === 'poll' && (
        <TextField
          label={adminTexts.pollMinutes()}
          type="number"
          inputMode="numeric"
          min={5}
          max={10_080}
          step={1}
          required
          value={Number.isNaN(pollMinutes) ? '' : pollMinutes}
          onChange={({ currentTarget }) => onChange({ pollMinutes: currentTarget.valueAsNumber })}
        />
      )}
    </div>
  )
}
