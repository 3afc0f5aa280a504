import { useQuery } from '@tanstack/react-query'
import style from '#admin/admin.module.css'
import type { AccessRecord } from '#api/admin.ts'
import { sharingTagsQuery } from '#api/sharing-tags.ts'
import { Select } from '#parts/controls.tsx'
import { adminTexts } from '#texts/admin.ts'

type Mode = AccessRecord['sharingTags'][number]['accessMode']
/** What a user is allowed or denied, by the ids of sharing tags. */
export type Grants = ReadonlyMap<string, Mode>

interface SharingTagsProps {
  grants: Grants
  onChange: (grants: Grants) => void
}

/** Which series a user sees by their sharing tags; nothing on a server without such tags. */
export function SharingTags({ grants, onChange }: SharingTagsProps) {
  const tags = useQuery(sharingTagsQuery).data ?? []
  if (tags.length === 0) return null
  const set = (id: string, mode: Mode | 'none') => {
    const next = new Map(grants)
    if (mode === 'none') next.delete(id)
    else next.set(id, mode)
    onChange(next)
  }
  return (
    <fieldset className="stack">
      <legend className="small strong">{adminTexts.sharingTags()}</legend>
      <p className="small quiet">{adminTexts.sharingTagsWords()}</p>
      <ul className={style['tags']}>
        {tags.map(({ id, name, description, seriesCount }) => (
          <li key={id} className="row">
            <span className="words">
              <bdi className="clip" title={description ?? undefined}>
                {name}
              </bdi>
              <span className="sub">{adminTexts.tagSeries({ count: seriesCount })}</span>
            </span>
            <Select
              label={name}
              value={grants.get(id) ?? 'none'}
              options={[
                { value: 'none', text: adminTexts.tagUnset() },
                { value: 'allow', text: adminTexts.tagAllow() },
                { value: 'deny', text: adminTexts.tagDeny() },
              ]}
              onChange={(mode) => set(id, mode)}
            />
          </li>
        ))}
      </ul>
    </fieldset>
  )
}
