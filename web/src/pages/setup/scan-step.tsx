import { useQuery } from '@tanstack/react-query'
import { CircleAlert, CircleStop } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { librariesQuery } from '#api/libraries.ts'
import { newestBooksQuery, scanErrorsQuery } from '#api/scan-results.ts'
import { cancelScan, isScanning, type ScanRecord, scanQuery, scanShare } from '#api/scans.ts'
import { sayFailure } from '#parts/above/toasts.tsx'
import { Icon } from '#parts/icon.tsx'
import { RunningFiles } from '#parts/library/running-files.tsx'
import { useTimeLeft } from '#parts/library/use-time-left.ts'
import { Failure } from '#parts/states.tsx'
import { Cover } from '#parts/works/cover.tsx'
import { coverPath, knownCover } from '#parts/works/words.ts'
import { setupTexts } from '#texts/setup.ts'
import style from './setup.module.css'

const numbers = new Intl.NumberFormat('en')
/** Events tell how far the scan is; this is for browsers whose stream a proxy holds back. */
const POLL_MS = 2_000
const COVER_WIDTH = 120

export function ScanStep({ libraryId }: { libraryId: string }) {
  const {
    data: scan,
    error,
    refetch,
  } = useQuery({ ...scanQuery(libraryId), refetchInterval: ({ state }) => (state.data && !isScanning(state.data) ? false : POLL_MS) })
  const name = useQuery(librariesQuery).data?.find(({ id }) => id === libraryId)?.name ?? ''
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  return (
    <main className={style['scan']}>
      <section className={style['state']} aria-labelledby="scan-title">
        {scan && <Progress scan={scan} name={name} />}
        {scan && isScanning(scan) && <RunningFiles libraryId={libraryId} title={setupTexts.runningNow()} />}
        <Unreadable libraryId={libraryId} isRunning={!scan || isScanning(scan)} />
        {scan && <Actions scan={scan} />}
      </section>
      <Arriving libraryId={libraryId} isRunning={!scan || isScanning(scan)} />
    </main>
  )
}

function Progress({ scan, name }: { scan: ScanRecord; name: string }) {
  const share = scanShare(scan)
  const left = useTimeLeft(share)
  const errors = useQuery({ ...scanErrorsQuery(scan.libraryId) }).data?.totalBooksWithErrors ?? 0
  const total = Math.max(scan.filesTotal, scan.booksFound)
  const analyzed = Math.max(0, scan.booksFound - scan.pendingAnalysis)
  return (
    <>
      <div>
        <h1 className="page-title" id="scan-title">
          {titleOf(scan, name)}
        </h1>
        <p className="quiet">{wordsOf(scan, left, errors)}</p>
      </div>
      <div
        role="progressbar"
        aria-labelledby="scan-title"
        aria-valuenow={Math.round((share ?? 0) * 100)}
        aria-valuetext={setupTexts.filesOf({ done: analyzed, total })}
      >
        <span className={`progress work-bar ${style['bar']}`} style={{ '--at': `${(share ?? 0) * 100}%` }} />
      </div>
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
  if (!isScanning(scan)) return scan.errors[0] ?? (errors > 0 ? setupTexts.doneWithErrors() : setupTexts.done())
  if (scan.filesTotal === 0) return setupTexts.finding()
  return left === null ? setupTexts.goesOn() : setupTexts.timeLeft({ time: left })
}

function Unreadable({ libraryId, isRunning }: { libraryId: string; isRunning: boolean }) {
  const groups = useQuery({ ...scanErrorsQuery(libraryId), refetchInterval: isRunning ? POLL_MS : false }).data?.groups ?? []
  if (groups.length === 0) return null
  return (
    <section aria-labelledby="errors-title">
      <h2 className="group-title" id="errors-title">
        {setupTexts.notRead()}
      </h2>
      <ul className={style['errors']}>
        {groups.flatMap(({ books }) =>
          books.map(({ book, errors }) => (
            <li key={book.id}>
              <Icon of={CircleAlert} />
              <div>
                <bdi className="clip">{book.title}</bdi>
                <p>{errors[0]?.message}</p>
              </div>
            </li>
          )),
        )}
      </ul>
      <p className="small quiet">{setupTexts.notReadHint()}</p>
    </section>
  )
}

function Actions({ scan }: { scan: ScanRecord }) {
  const [isCancelling, setIsCancelling] = useState(false)
  const cancel = () => {
    setIsCancelling(true)
    cancelScan(scan.libraryId)
      .catch(sayFailure)
      .finally(() => setIsCancelling(false))
  }
  return (
    <div className={`line ${style['actions']}`}>
      <Link className="btn main big" href="/">
        {setupTexts.startReading()}
      </Link>
      {scan.status === 'pending' || scan.status === 'processing' ? (
        <button type="button" className="btn plain" aria-busy={isCancelling} onClick={cancel}>
          <Icon of={CircleStop} />
          {setupTexts.cancel()}
        </button>
      ) : (
        <Link className="btn plain" href="/setup">
          {setupTexts.another()}
        </Link>
      )}
    </div>
  )
}

/** Covers as they come; the rest of the place is kept free for them. */
function Arriving({ libraryId, isRunning }: { libraryId: string; isRunning: boolean }) {
  const books = useQuery({ ...newestBooksQuery(libraryId), refetchInterval: isRunning ? POLL_MS : false }).data?.data ?? []
  return (
    <section className={style['arriving']} aria-label={setupTexts.covers()}>
      <ul>
        {books.map((book) => (
          <li key={book.id}>
            <Link href={`/books/${book.id}`} title={book.title} aria-label={book.title}>
              <Cover path={coverPath(book, `api/v1/books/${book.id}`)} known={knownCover(book)} title={book.title} width={COVER_WIDTH} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
