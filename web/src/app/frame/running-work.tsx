import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { onEvent } from '#api/events.ts'
import { librariesQuery } from '#api/libraries.ts'
import { queries } from '#api/queries.ts'
import { activeScansQuery, scanShare } from '#api/scans.ts'
import { openTasksQuery } from '#api/tasks.ts'
import { hasPage } from '#app/page-list.ts'
import { useMayDo } from '#parts/may-do.ts'
import { appTexts } from '#texts/app.ts'

const percents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 })

/** What the server is doing for everybody's libraries; nothing when it does nothing. */
export function RunningWork() {
  const scans = useQuery(activeScansQuery).data ?? []
  const libraries = useQuery(librariesQuery).data ?? []
  const tasks = useOpenTasks(scans.length > 0)
  const [first] = scans
  if ((!first && tasks === 0) || !hasPage('/work')) return null
  if (!first)
    return (
      <Link className="work-running" href="/work">
        <span className="ring" style={{ '--at': '5%' }} />
        <span>{appTexts.tasksRunning({ count: tasks })}</span>
      </Link>
    )
  const name = libraries.find(({ id }) => id === first.libraryId)?.name ?? appTexts.library()
  const share = scanShare(first)
  const scanWords = scans.length > 1 ? appTexts.scansRunning({ count: scans.length }) : appTexts.scanning({ name })
  const words = tasks > 0 ? `${scanWords}, ${appTexts.tasksRunning({ count: tasks })}` : scanWords
  const percent = share === null ? '' : percents.format(share)
  return (
    <Link className="work-running" href="/work" aria-label={`${words} ${percent}`}>
      <span className="ring" style={{ '--at': percent || '5%' }} />
      <span className="wide">{words}</span>
      <span>{percent}</span>
    </Link>
  )
}

/** Their number and progress is that of the scan. */
const OF_SCANS: ReadonlySet<string> = new Set(['scan_library', 'analyze_book'])

/** How many tasks wait or run, beside those of scans; 0 for who may not see them. */
function useOpenTasks(isScanning: boolean): number {
  const maySee = useMayDo('tasks-read')
  const byType = useQuery({ ...openTasksQuery, enabled: maySee }).data ?? {}
  useEffect(
    () => onEvent('queue_updated', ({ countByType }) => queries.setQueryData(openTasksQuery.queryKey, countByType as typeof byType)),
    [],
  )
  return Object.entries(byType).reduce((sum, [type, count]) => (isScanning && OF_SCANS.has(type) ? sum : sum + count), 0)
}
