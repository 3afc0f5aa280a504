import { useQuery } from '@tanstack/react-query'
import { CircleCheck } from 'lucide-react'
import { librariesQuery } from '#api/libraries.ts'
import { activeScansQuery, isScanning } from '#api/scans.ts'
import { RunningFiles } from '#parts/library/running-files.tsx'
import { CancelScan, ScanProgress } from '#parts/library/scan-progress.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { setupTexts } from '#texts/setup.ts'
import { workTexts } from '#texts/work.ts'
import { Tasks } from './tasks.tsx'
import style from './work.module.css'

/** What the server does: the scans that wait or run, and all tasks. */
export default function WorkPage() {
  const { data: scans, error, refetch } = useQuery(activeScansQuery)
  const libraries = useQuery(librariesQuery).data
  const mayCancel = useMayDo('libraries-write')
  const maySeeTasks = useMayDo('tasks-read')
  return (
    <div className={style['work']}>
      <h1 className="page-title">{workTexts.title()}</h1>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {scans?.length === 0 && !maySeeTasks && <Empty icon={CircleCheck} title={workTexts.nothing()} words={workTexts.nothingWords()} />}
      {scans?.map((scan) => (
        <section className="panel stack" key={scan.libraryId}>
          <ScanProgress scan={scan} name={libraries?.find(({ id }) => id === scan.libraryId)?.name ?? ''} level={2} />
          {isScanning(scan) && mayCancel && <RunningFiles libraryId={scan.libraryId} title={setupTexts.runningNow()} />}
          {mayCancel && (scan.status === 'pending' || scan.status === 'processing') && (
            <div className="line">
              <CancelScan libraryId={scan.libraryId} />
            </div>
          )}
        </section>
      ))}
      {maySeeTasks && <Tasks />}
    </div>
  )
}
