import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import style from '#admin/admin.module.css'
import { scanLibrary } from '#api/admin.ts'
import type { LibraryRecord } from '#api/records.ts'
import { isScanning, type ScanRecord, scanQuery } from '#api/scans.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { timeWords } from '#parts/formats.ts'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { scanTexts } from '#texts/scans.ts'
import { scanSeconds } from './scan-words.ts'

const numbers = new Intl.NumberFormat('en')
/** Names that a dialog has room for; the number says how many there are. */
const NAMED_MAX = 20

/** What the last scan of a library found, left out, and could not do. */
export function ScanReport({ library: { id, name }, onClose }: { library: LibraryRecord; onClose: () => void }) {
  const { data: scan, error, refetch } = useQuery(scanQuery(id))
  const scanAgain = () => {
    onClose()
    scanLibrary(id).then(() => say(adminTexts.scanStarted({ name })), sayFailure)
  }
  return (
    <Dialog
      title={scanTexts.reportTitle({ name })}
      action={adminTexts.scanNow()}
      isWide
      isBusy={scan === undefined || isScanning(scan)}
      onAction={scanAgain}
      onClose={onClose}
    >
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {scan && <Report scan={scan} />}
    </Dialog>
  )
}

function Report({ scan }: { scan: ScanRecord }) {
  const { leftOut, warnings = [], errors } = scan
  return (
    <>
      <dl className="facts">
        {factsOf(scan).map(([name, value]) => (
          <Fact key={name} name={name} value={value} />
        ))}
      </dl>
      <Texts title={scanTexts.errors()} texts={errors} />
      <Texts title={scanTexts.warnings()} texts={warnings} />
      {leftOut && <Texts title={scanTexts.skipped()} words={scanTexts.skippedWords()} texts={leftOut.files} total={leftOut.count} />}
    </>
  )
}

function factsOf(scan: ScanRecord): [name: string, value: ReactNode][] {
  const seconds = scanSeconds(scan)
  const count = (value: number) => numbers.format(value)
  return [
    [scanTexts.state(), scanTexts[`status_${scan.status}`]()],
    ...(scan.status === 'idle'
      ? []
      : ([
          [scanTexts.kind(), scanTexts[`kind_${scan.mode ?? 'normal'}`]()],
          ...(scan.path === undefined ? [] : [[scanTexts.part(), <bdi key="part">{scan.path}</bdi>]]),
          [scanTexts.began(), timeWords(scan.startedAt) ?? ''],
          ...(seconds === null ? [] : [[scanTexts.took(), durationWords(seconds)]]),
          [scanTexts.files(), count(scan.filesTotal)],
          [scanTexts.booksSum(), count(scan.booksFound)],
          [scanTexts.seriesSum(), count(scan.seriesFound)],
          ...(scan.pendingAnalysis > 0 ? [[scanTexts.pending(), count(scan.pendingAnalysis)]] : []),
          [scanTexts.skipped(), count(scan.leftOut?.count ?? 0)],
        ] as [string, ReactNode][])),
  ]
}

function durationWords(seconds: number): string {
  if (seconds < 1) return scanTexts.underSecond()
  return seconds < 120 ? scanTexts.seconds({ count: Math.round(seconds) }) : scanTexts.minutes({ count: Math.round(seconds / 60) })
}

const Fact = ({ name, value }: { name: string; value: ReactNode }) => (
  <>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </>
)

interface TextsProps {
  title: string
  words?: string
  texts: readonly string[]
  /** Of all of them. */
  total?: number
}

function Texts({ title, words, texts, total = texts.length }: TextsProps) {
  if (total === 0) return null
  return (
    <section className="stack">
      <h3 className="group-title">
        {title} {numbers.format(total)}
      </h3>
      {words && <p className="small quiet">{words}</p>}
      <ul className={style['named']}>
        {texts.slice(0, NAMED_MAX).map((text) => (
          <li key={text} dir="auto">
            {text}
          </li>
        ))}
        {total > NAMED_MAX && <li className="quiet">{scanTexts.moreFiles({ count: total - NAMED_MAX })}</li>}
      </ul>
    </section>
  )
}
