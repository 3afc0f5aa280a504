import style from '#admin/admin.module.css'
import { ChoiceField, TextField } from '#parts/controls.tsx'
import { adminTexts } from '#texts/admin.ts'
import { choiceOf, SCHEDULES, type Schedule, type ScheduleChoice } from './schedules.ts'

const CHOICES: readonly ScheduleChoice[] = ['never', 'hourly', 'daily', 'weekly', 'own']

/** Every night at half past four, to be changed. */
const OWN_AT_FIRST = '30 4 * * *'

interface ScheduleFieldsProps {
  value: Schedule
  /** When the stored schedule scans next; null for never. */
  nextScan: string | null
  onChange: (value: Schedule) => void
}

/** When a library is scanned by itself. The zone is that of this browser until another one is typed. */
export function ScheduleFields({ value, nextScan, onChange }: ScheduleFieldsProps) {
  const choice = choiceOf(value.cron)
  const choose = (next: ScheduleChoice) => {
    const timeZone = value.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
    if (next === 'never') onChange({ cron: null, timeZone: null })
    else onChange({ timeZone, cron: next === 'own' ? OWN_AT_FIRST : SCHEDULES[next] })
  }
  return (
    <div className={style['columns']}>
      <ChoiceField
        label={adminTexts.schedule()}
        value={choice}
        options={CHOICES.map((each) => ({ value: each, text: adminTexts[each]() }))}
        hint={nextScan && adminTexts.nextScan({ when: nextScan })}
        onChange={choose}
      />
      {choice === 'own' && (
        <TextField
          label={adminTexts.cron()}
          hint={adminTexts.cronHint()}
          className="mono"
          value={value.cron ?? ''}
          required
          maxLength={100}
          onChange={({ currentTarget }) => onChange({ ...value, cron: currentTarget.value })}
        />
      )}
      {choice !== 'never' && (
        <TextField
          label={adminTexts.timeZone()}
          hint={adminTexts.timeZoneHint()}
          value={value.timeZone ?? ''}
          maxLength={60}
          onChange={({ currentTarget }) => onChange({ ...value, timeZone: currentTarget.value.trim() || null })}
        />
      )}
    </div>
  )
}
