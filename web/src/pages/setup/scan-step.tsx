import { useQuery } from '@tanstack/react-query'
import { CircleAlert } from 'lucide-react'
import { Link } from 'wouter'
import { librariesQuery } from '#api/libraries.ts'
import { newestBooksQuery, scanErrorsQuery } from '#api/scan-results.ts'
import { isScanning, type ScanRecord, scanQuery } from '#api/scans.ts'
import { Icon } from '#parts/icon.tsx'
import { RunningFiles } from '#parts/library/running-files.tsx'
import { CancelScan, ScanProgress } from '#parts/library/scan-progress.tsx'
import { Failure } from '#parts/states.tsx'
import { Cover } from '#parts/works/cover.tsx'
import { coverPath, knownCover } from '#parts/works/words.ts'
import { setupTexts } from '#texts/setup.ts'
import style from './setup.module.css'

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
  if (error)
    return (
      <main className="page">
        <Failure error={error} onRetry={() => void refetch()} />
      </main>
    )
  return (
    <main className={style['scan']}>
      <section className={style['state']} aria-labelledby="scan-title">
        {scan && <ScanProgress scan={scan} name={name} level={1} />}
        {scan && isScanning(scan) && <RunningFiles libraryId={libraryId} title={setupTexts.runningNow()} />}
        <Unreadable libraryId={libraryId} isRunning={!scan || isScanning(scan)} />
        {scan && <Actions scan={scan} />}
      </section>
      <Arriving libraryId={libraryId} isRunning={!scan || isScanning(scan)} />
    </main>
  )
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
  return (
    <div className={`line ${style['actions']}`}>
      <Link className="btn main big" href="/">
        {setupTexts.startReading()}
      </Link>
      {scan.status === 'pending' || scan.status === 'processing' ? (
        <CancelScan libraryId={scan.libraryId} />
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
