import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { SharingChange } from '#api/bulk-changes.ts'
import { sharingTagsQuery } from '#api/sharing-tags.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { Select } from '#parts/controls.tsx'
import { Failure } from '#parts/states.tsx'
import { selectionTexts } from '#texts/selection.ts'
import { sharingTexts } from '#texts/sharing.ts'
import style from './selection.module.css'

interface SharingDialogProps {
  /** How many series are selected. */
  count: number
  onChange: (change: SharingChange) => void
  onClose: () => void
}

/** Which sharing tags everything selected gets or loses. */
export function SharingDialog({ count, onChange, onClose }: SharingDialogProps) {
  const { data, error, refetch } = useQuery(sharingTagsQuery)
  const [change, setChange] = useState<SharingChange>(new Map())
  const [hasTried, setHasTried] = useState(false)
  const set = (id: string, what: 'keep' | 'put' | 'take') => {
    const next = new Map(change)
    if (what === 'keep') next.delete(id)
    else next.set(id, what)
    setChange(next)
  }
  return (
    <Dialog
      title={sharingTexts.giveTitle({ count })}
      action={selectionTexts.change()}
      isBusy={!data}
      onAction={() => (change.size === 0 ? setHasTried(true) : onChange(change))}
      onClose={onClose}
    >
      <p className="quiet">{data?.length === 0 ? sharingTexts.noTagsWords() : sharingTexts.giveWords()}</p>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && (
        <Link className="btn" href="/admin/sharing-tags">
          {sharingTexts.addTag()}
        </Link>
      )}
      <ul className={`rows ${style['sharing']}`}>
        {data?.map(({ id, name, description }) => (
          <li key={id} className="row">
            <bdi className="words clip" title={description ?? undefined}>
              {name}
            </bdi>
            <Select
              label={name}
              value={change.get(id) ?? 'keep'}
              options={[
                { value: 'keep', text: sharingTexts.keep() },
                { value: 'put', text: sharingTexts.put() },
                { value: 'take', text: sharingTexts.take() },
              ]}
              onChange={(what: 'keep' | 'put' | 'take') => set(id, what)}
            />
          </li>
        ))}
      </ul>
      {hasTried && change.size === 0 && <p role="alert">{sharingTexts.noChange()}</p>}
    </Dialog>
  )
}
