import { useMutation, useQuery } from '@tanstack/react-query'
import { Ellipsis, Eye, LibraryBig, Pencil, Plus, Tag, Trash2 } from 'lucide-react'
import { useState } from 'react'
import style from '#admin/admin.module.css'
import { Problem } from '#api/problem.ts'
import { removeSharingTag, type SharingTagRecord, sharingTagsQuery } from '#api/sharing-tags.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { Empty, Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { partTexts } from '#texts/parts.ts'
import { sharingTexts } from '#texts/sharing.ts'
import { SharingTagDialog } from './sharing-tag-dialog.tsx'

type Asked = { kind: 'add' } | { kind: 'edit' | 'remove'; tag: SharingTagRecord } | null

/** The tags by which series are shared or hidden, with what they are used for. */
export function SharingTagsSection() {
  const { data, error, refetch } = useQuery(sharingTagsQuery)
  const [asked, setAsked] = useState<Asked>(null)
  const close = () => setAsked(null)
  return (
    <section className="stack" aria-label={adminTexts.sharingTags()}>
      <div className="line">
        <button type="button" className="btn main" onClick={() => setAsked({ kind: 'add' })}>
          <Icon of={Plus} />
          {sharingTexts.addTag()}
        </button>
      </div>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <Empty icon={Tag} title={sharingTexts.noTags()} words={sharingTexts.noTagsWords()} />}
      {data && data.length > 0 && <p className={`quiet ${style['explained']}`}>{sharingTexts.howUsed()}</p>}
      <ul className="rows">
        {data?.map((tag) => (
          <TagRow key={tag.id} tag={tag} onAsk={setAsked} />
        ))}
      </ul>
      {asked?.kind === 'add' && <SharingTagDialog tag={null} onClose={close} />}
      {asked?.kind === 'edit' && <SharingTagDialog tag={asked.tag} onClose={close} />}
      {asked?.kind === 'remove' && <RemoveTag tag={asked.tag} onClose={close} />}
    </section>
  )
}

function TagRow({ tag, onAsk }: { tag: SharingTagRecord; onAsk: (asked: Asked) => void }) {
  const { name, description, seriesCount, userCount } = tag
  const label = partTexts.more({ title: name })
  const where = JSON.stringify({ sharingTag: { operator: 'is', value: name } })
  const { openFrom, onBox, menu } = useMenu(label, () => [
    { text: sharingTexts.showSeries(), icon: LibraryBig, href: `/series?where=${encodeURIComponent(where)}` },
    { text: adminTexts.edit(), icon: Pencil, run: () => onAsk({ kind: 'edit', tag }) },
    { text: adminTexts.remove(), icon: Trash2, isDangerous: true, run: () => onAsk({ kind: 'remove', tag }) },
  ])
  return (
    <li className={`row ${style['row']}`} {...onBox}>
      <span className={style['tile']}>
        <Icon of={Tag} />
      </span>
      <span className="words">
        <bdi className="strong clip" title={name}>
          {name}
        </bdi>
        {description && (
          <span className="sub clip-2" dir="auto">
            {description}
          </span>
        )}
        <span className="sub">
          {adminTexts.tagSeries({ count: seriesCount })} · {sharingTexts.users({ count: userCount })}
        </span>
      </span>
      <span className="end">
        <button type="button" className="icon-btn" aria-label={label} aria-haspopup="menu" onClick={openFrom}>
          <Icon of={Ellipsis} />
        </button>
      </span>
      {menu}
    </li>
  )
}

/** Asks again with their names when users would see more without the tag. */
function RemoveTag({ tag: { id, name, seriesCount }, onClose }: { tag: SharingTagRecord; onClose: () => void }) {
  const [exposed, setExposed] = useState<string | null>(null)
  const removing = useMutation({
    mutationFn: () => removeSharingTag(id, exposed !== null),
    onSuccess: () => {
      say(adminTexts.removed({ name }))
      onClose()
    },
    onError: (error) => {
      if (error instanceof Problem && error.status === 409) setExposed(usersOf(error))
    },
  })
  return (
    <Dialog
      title={adminTexts.removeTitle({ name })}
      action={exposed === null ? adminTexts.remove() : sharingTexts.removeAnyway()}
      isDangerous
      isBusy={removing.isPending}
      onAction={() => removing.mutate()}
      onClose={onClose}
    >
      <p>{sharingTexts.removeWords({ count: seriesCount })}</p>
      {exposed !== null && (
        <div className="notice warn" role="alert">
          <Icon of={Eye} />
          <p>{sharingTexts.exposes({ users: exposed })}</p>
        </div>
      )}
      {removing.error && exposed === null && <Failure error={removing.error} title={adminTexts.remove()} />}
    </Dialog>
  )
}

const usersOf = ({ details }: Problem): string =>
  ((details as { users?: { username: string }[] } | null)?.users ?? []).map(({ username }) => username).join(', ')
