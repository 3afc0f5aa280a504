import { useQuery } from '@tanstack/react-query'
import { CircleStop } from 'lucide-react'
import { useId, useState } from 'react'
import { scanErrorsQuery } from '#api/scan-results.ts'
import { cancelScan, isScanning, type ScanRecord, scanShare } from '#api/scans.ts'
import { sayFailure } from '#parts/above/toasts.tsx'
import { Icon } from '#parts/icon.tsx'
import { useTimeLeft } from '#parts/library/use-time-left.ts'
import { Spoken } from '#parts/spoken.tsx'
import { setupTexts } from '#texts/setup.ts'
import style from './library.module.css'

const numbers = new Intl.NumberFormat('en')

interface ScanProgressProps {
  scan: ScanRecord
  /** Of the library. */
  name: string
  /** Of the heading. */
  level: 1 | 2
}

/** How far a scan is: a heading, a line, numbers. */
export function ScanProgress({ scan, name, level }: ScanProgressProps) {
  const id = useId()
  const Heading = `h${level}` as const
  const share = scanShare(scan)
  const left = useTimeLeft(share)
  const errors = useQuery(scanErrorsQuery(scan.libraryId)).data?.totalBooksWithErrors ?? 0
  const total = Math.max(scan.filesTotal, scan.booksFound)
  const analyzed = Math.max(0, scan.booksFound - scan.pendingAnalysis)
  return (
    <>
      <div>
        <Heading className={level === 1 ? 'page-title' : 'section-title'} id={id}>
          {titleOf(scan, name)}
        </Heading>
        <p className="quiet">{wordsOf(scan, left, errors)}</p>
      </div>
      <div
        role="progressbar"
        aria-labelledby={id}
        aria-valuenow={Math.round((share ?? 0) * 100)}
        aria-valuetext={setupTexts.filesOf({ done: analyzed, total })}
      >
        <span className={`progress work-bar ${style['bar']}`} style={{ '--at': `${(share ?? 0) * 100}%` }} />
      </div>
      <Spoken text={isScanning(scan) ? setupTexts.filesOf({ done: analyzed, total }) : titleOf(scan, name)} />
      <dl className={style['results']}>
        <Result name={setupTexts.filesFound()} value={total} />
        <Result name={setupTexts.seriesSum()} value={scan.seriesFound} />
        <Result name={setupTexts.analyzed()} value={analyzed} />
        <Result name={setupTexts.errors()} value={errors} isBad={errors > 0} />
      </dl>
    </>
  )
}

const Result = ({ name, value, isBad = false }: { name: string; value: number; isBad?: boolean }) => (
  <div className={isBad ? style['bad'] : ''}>
    <dt>{name}</dt>
    <dd>{numbers.format(value)}</dd>
  </div>
)

function titleOf(scan: ScanRecord, name: string): string {
  if (isScanning(scan) || scan.status === 'idle') return setupTexts.scanOf({ name })
  if (scan.status === 'failed') return setupTexts.scanFailed({ name })
  return scan.status === 'cancelled' ? setupTexts.scanCancelled({ name }) : setupTexts.scanned({ name })
}

function wordsOf(scan: ScanRecord, left: string | null, errors: number): string {
  if (scan.status === 'pending' || scan.status === 'idle') return setupTexts.waiting()
  if (!isScanning(scan) && scan.incomplete) return setupTexts.doneWithParts({ count: scan.incomplete })
  if (!isScanning(scan)) return scan.errors[0] ?? (errors > 0 ? setupTexts.doneWithErrors({ count: errors }) : setupTexts.done())
  if (scan.filesTotal === 0) return setupTexts.finding()
  return left === null ? setupTexts.goesOn() : setupTexts.timeLeft({ time: left })
}

/** Books that were found stay. */
export function CancelScan({ libraryId }: { libraryId: string }) {
  const [isBusy, setIsBusy] = useState(false)
  const cancel = () => {
    setIsBusy(true)
    cancelScan(libraryId)
      .catch(sayFailure)
      .finally(() => setIsBusy(false))
  }
  return (
    <button type="button" className="btn plain" aria-busy={isBusy} onClick={cancel}>
      <Icon of={CircleStop} />
      {setupTexts.cancel()}
    </button>
  )
}
