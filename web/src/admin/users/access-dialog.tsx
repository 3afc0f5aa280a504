import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import style from '#admin/admin.module.css'
import { type AccessRecord, accessQuery, setAccess } from '#api/admin.ts'
import { librariesQuery } from '#api/libraries.ts'
import type { UserRecord } from '#api/records.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { Check } from '#parts/controls.tsx'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { type Grants, SharingTags } from './sharing-tags.tsx'

/** The usual limit when one is set for the first time, in years. */
const AGE_USUAL = 12
const AGE_MAX = 99

interface AccessProps {
  user: UserRecord
  onClose: () => void
}

/** Which libraries, and works of which ages, a user sees. */
export function AccessDialog({ user, onClose }: AccessProps) {
  const { data, error, refetch } = useQuery(accessQuery(user.id))
  // Only the first answer is waited for: while it is asked for again, and when that fails, the form keeps what was chosen.
  if (!data) return error && <Failure error={error} onRetry={() => void refetch()} />
  return <AccessForm user={user} access={data} onClose={onClose} />
}

function AccessForm({ user, access, onClose }: AccessProps & { access: AccessRecord }) {
  const libraries = useQuery(librariesQuery).data ?? []
  const [seesAll, setSeesAll] = useState(access.allLibraries)
  const [chosen, setChosen] = useState<readonly string[]>(access.libraryIds)
  const [age, setAge] = useState(access.age)
  const [grants, setGrants] = useState<Grants>(() => new Map(access.sharingTags.map((grant) => [grant.sharingTagId, grant.accessMode])))
  const sharingTags = [...grants].map(([sharingTagId, accessMode]) => ({ sharingTagId, accessMode }))
  const saving = useMutation({
    mutationFn: () => setAccess(user.id, { allLibraries: seesAll, libraryIds: seesAll ? [] : [...chosen], age, sharingTags }),
    onSuccess: () => {
      say(adminTexts.saved())
      onClose()
    },
  })
  const choose = (id: string, isOn: boolean) => setChosen(isOn ? [...chosen, id] : chosen.filter((each) => each !== id))
  return (
    <Dialog
      title={adminTexts.accessOf({ name: user.username })}
      action={adminTexts.save()}
      isWide
      isBusy={saving.isPending}
      onAction={() => saving.mutate()}
      onClose={onClose}
    >
      <Check isSwitch checked={seesAll} onChange={({ currentTarget }) => setSeesAll(currentTarget.checked)}>
        {adminTexts.allLibraries()}
      </Check>
      {!seesAll && (
        <fieldset>
          <legend className="visually-hidden">{adminTexts.libraries()}</legend>
          <div className={style['checks']}>
            {libraries.map(({ id, name }) => (
              <Check key={id} checked={chosen.includes(id)} onChange={({ currentTarget }) => choose(id, currentTarget.checked)}>
                <bdi>{name}</bdi>
              </Check>
            ))}
          </div>
        </fieldset>
      )}
      <AgeLimit age={age} onChange={setAge} />
      <SharingTags grants={grants} onChange={setGrants} />
      {saving.error && <Failure error={saving.error} title={adminTexts.save()} />}
    </Dialog>
  )
}

type Age = AccessRecord['age']

function AgeLimit({ age, onChange }: { age: Age; onChange: (age: Age) => void }) {
  const toggle = (isOn: boolean) => onChange(isOn ? { mode: 'up_to', years: AGE_USUAL, unrated: 'show' } : null)
  return (
    <>
      <div className="line">
        <Check isSwitch checked={age !== null} onChange={({ currentTarget }) => toggle(currentTarget.checked)}>
          {adminTexts.ageLimit()}
        </Check>
        {age && (
          <label className={`input ${style['years']}`}>
            <input
              type="number"
              min={0}
              max={AGE_MAX}
              required
              aria-label={adminTexts.years()}
              value={age.years}
              onChange={({ currentTarget }) => onChange({ ...age, years: currentTarget.valueAsNumber || 0 })}
            />
            {adminTexts.years()}
          </label>
        )}
      </div>
      {age && (
        <Check
          checked={age.unrated === 'hide'}
          onChange={({ currentTarget }) => onChange({ ...age, unrated: currentTarget.checked ? 'hide' : 'show' })}
        >
          {adminTexts.hideUnrated()}
        </Check>
      )}
    </>
  )
}
