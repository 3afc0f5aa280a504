import { Check } from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import type { CoverMark } from '#parts/works/cover.tsx'
import { browseTexts } from '#texts/browse.ts'
import { partTexts } from '#texts/parts.ts'
import style from './table.module.css'

const percents = new Intl.NumberFormat('en', { style: 'percent' })

/** How far somebody is, in words. */
export function State({ mark }: { mark: CoverMark }) {
  if (mark?.kind === 'progress')
    return (
      <span className={style['state']}>
        <span className="progress" style={{ ['--at' as string]: percents.format(mark.part) }} />
        {percents.format(mark.part)}
      </span>
    )
  if (mark?.kind === 'finished')
    return (
      <span className={style['state']}>
        <Icon of={Check} />
        {browseTexts.stateFinished()}
      </span>
    )
  return (
    <span className={style['state']}>{mark?.kind === 'unread' ? partTexts.unread({ count: mark.count }) : browseTexts.stateUnread()}</span>
  )
}
