import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { librariesQuery } from '#api/libraries.ts'
import { activeScansQuery, scanShare } from '#api/scans.ts'
import { hasPage } from '#app/page-list.ts'
import { appTexts } from '#texts/app.ts'

const percents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 })

/** What the server is doing for everybody's libraries; nothing when it does nothing. */
export function RunningWork() {
  const scans = useQuery(activeScansQuery).data ?? []
  const libraries = useQuery(librariesQuery).data ?? []
  const [first] = scans
  if (!first || !hasPage('/work')) return null
  const name = libraries.find(({ id }) => id === first.libraryId)?.name ?? appTexts.library()
  const share = scanShare(first)
  const words = scans.length > 1 ? appTexts.scansRunning({ count: scans.length }) : appTexts.scanning({ name })
  const percent = share === null ? '' : percents.format(share)
  return (
    <Link className="work-running" href="/work" aria-label={`${words} ${percent}`}>
      <span className="ring" style={{ '--at': percent || '5%' }} />
      <span className="wide">{words}</span>
      <span>{percent}</span>
    </Link>
  )
}
