import { listTexts } from '#texts/lists.ts'
import style from './lists.module.css'

/** How much of a list is read, as words and as a line. */
export function ListProgress({ read, total }: { read: number; total: number }) {
  if (total === 0) return null
  return (
    <div className={style['progress']}>
      <span className="progress" style={{ '--at': `${(read / total) * 100}%` }} aria-hidden="true" />
      <span className="small quiet">{listTexts.readOf({ read, total })}</span>
    </div>
  )
}
