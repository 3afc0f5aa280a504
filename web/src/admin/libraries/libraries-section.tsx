import { useQuery } from '@tanstack/react-query'
import {
  ClipboardList,
  Ellipsis,
  EyeOff,
  FileQuestion,
  FolderSearch,
  FolderTree,
  Library,
  Pencil,
  Plus,
  ScanSearch,
  ShieldCheck,
  Trash2,
  X,
} from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import style from '#admin/admin.module.css'
import { removeLibrary, scanLibrary, verifyLibrary } from '#api/admin.ts'
import { librariesQuery } from '#api/libraries.ts'
import type { LibraryRecord } from '#api/records.ts'
import { cancelScan, isScanning, scanQuery, scanShare } from '#api/scans.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { TextField } from '#parts/controls.tsx'
import { timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { missingTexts } from '#texts/missing.ts'
import { partTexts } from '#texts/parts.ts'
import { scanTexts } from '#texts/scans.ts'
import { AddLibrary } from './add-library.tsx'
import { EditLibrary } from './edit-library.tsx'
import { ScanPart } from './scan-part.tsx'
import { ScanReport } from './scan-report.tsx'
import { WithheldLoss } from './withheld-loss.tsx'

const percents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 })

type Asked = { kind: 'add' } | { kind: 'edit' | 'remove' | 'part' | 'report'; library: LibraryRecord } | null

/** Rows: each asks for the state of its library, and the server answers fifty requests a second. */
const SHOWN_MAX = 40

/** All libraries with their counts and state. */
export function LibrariesSection() {
  const { data, error, refetch } = useQuery(librariesQuery)
  const [asked, setAsked] = useState<Asked>(null)
  const [sought, setSought] = useState('')
  const close = () => setAsked(null)
  const all = data ?? []
  const found = all.filter(({ name }) => name.toLowerCase().includes(sought.trim().toLowerCase()))
  return (
    <section className="stack" aria-label={adminTexts.libraries()}>
      <div className="line">
        <button type="button" className="btn main" onClick={() => setAsked({ kind: 'add' })}>
          <Icon of={Plus} />
          {adminTexts.addLibrary()}
        </button>
      </div>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <Empty icon={Library} title={adminTexts.noLibraries()} words={adminTexts.noLibrariesWords()} />}
      {all.length > SHOWN_MAX && (
        <TextField
          type="search"
          label={adminTexts.findLibrary()}
          hint={found.length > SHOWN_MAX && adminTexts.someLibraries({ shown: SHOWN_MAX, count: found.length })}
          value={sought}
          onChange={({ currentTarget }) => setSought(currentTarget.value)}
        />
      )}
      <ul className="rows">
        {found.slice(0, SHOWN_MAX).map((library) => (
          <LibraryRow key={library.id} library={library} onAsk={setAsked} />
        ))}
      </ul>
      {asked?.kind === 'add' && <AddLibrary onClose={close} />}
      {asked?.kind === 'edit' && <EditLibrary library={asked.library} onClose={close} />}
      {asked?.kind === 'part' && <ScanPart library={asked.library} onClose={close} />}
      {asked?.kind === 'report' && <ScanReport library={asked.library} onClose={close} />}
      {asked?.kind === 'remove' && <RemoveLibrary library={asked.library} onClose={close} />}
    </section>
  )
}

function LibraryRow({ library, onAsk }: { library: LibraryRecord; onAsk: (asked: Asked) => void }) {
  const { id, name, path, seriesCount, bookCount } = library
  const mayRemove = useMayDo('libraries-delete')
  const isRunning = useIsScanning(id)
  const scan = (mode: 'normal' | 'deep') => void scanLibrary(id, { mode }).then(() => say(adminTexts.scanStarted({ name })), sayFailure)
  const label = partTexts.more({ title: name })
  const { openFrom, onBox, menu } = useMenu(label, () => [
    ...(isRunning
      ? [{ text: adminTexts.cancelScan(), icon: X, run: () => void cancelScan(id).catch(sayFailure) }]
      : [
          { text: adminTexts.scanDeep(), icon: FolderSearch, run: () => scan('deep') },
          { text: scanTexts.partMenu(), icon: FolderTree, run: () => onAsk({ kind: 'part', library }) },
        ]),
    { text: scanTexts.report(), icon: ClipboardList, run: () => onAsk({ kind: 'report', library }) },
    { text: adminTexts.open(), icon: Library, href: `/libraries/${id}` },
    {
      text: adminTexts.verify(),
      icon: ShieldCheck,
      run: () => void verifyLibrary(id).then(() => say(adminTexts.verifying({ name })), sayFailure),
    },
    { text: missingTexts.missing(), icon: FileQuestion, href: `/admin/missing?library=${id}` },
    { text: adminTexts.edit(), icon: Pencil, run: () => onAsk({ kind: 'edit', library }) },
    ...(mayRemove ? [{ text: adminTexts.remove(), icon: Trash2, isDangerous: true, run: () => onAsk({ kind: 'remove', library }) }] : []),
  ])
  return (
    <li className="stack" {...onBox}>
      <div className={`row ${style['row']}`}>
        <span className={style['tile']}>
          <Icon of={Library} />
        </span>
        <span className="words">
          <Link className="strong clip" href={`/libraries/${id}`} dir="auto">
            {name}
          </Link>
          <bdi className="mono small quiet clip" title={path}>
            {path}
          </bdi>
          <span className="sub">
            {adminTexts.series({ count: seriesCount })} · {adminTexts.books({ count: bookCount })}
          </span>
        </span>
        <ScanState library={library} />
        <span className="end">
          <button type="button" className="btn" disabled={isRunning} onClick={() => scan('normal')}>
            <Icon of={ScanSearch} />
            {adminTexts.scanNow()}
          </button>
          <button type="button" className="icon-btn" aria-label={label} aria-haspopup="menu" onClick={openFrom}>
            <Icon of={Ellipsis} />
          </button>
        </span>
      </div>
      <WatchProblem libraryId={id} />
      <WithheldLoss library={library} />
      {menu}
    </li>
  )
}

function useIsScanning(libraryId: string): boolean {
  const scan = useQuery(scanQuery(libraryId)).data
  return scan !== undefined && isScanning(scan)
}

function ScanState({ library }: { library: LibraryRecord }) {
  const scan = useQuery(scanQuery(library.id)).data
  if (scan && isScanning(scan)) {
    const share = scanShare(scan)
    const percent = share === null ? null : percents.format(share)
    return (
      <Link className={style['state']} href="/work">
        {percent === null ? adminTexts.scanning() : adminTexts.scanningPart({ percent })}
        <span className="progress work-bar" style={{ '--at': percent ?? '5%' }} />
      </Link>
    )
  }
  if (scan?.status === 'failed') return <span className={style['state']}>{adminTexts.failedScan({ reason: scan.errors[0] ?? '' })}</span>
  const when = timeWords(library.lastScannedAt)
  const next = timeWords(library.nextScanAt)
  return (
    <span className={style['state']}>
      {when ? adminTexts.scanned({ when }) : adminTexts.neverScanned()}
      {scan?.incomplete && <span>{adminTexts.incomplete({ count: scan.incomplete })}</span>}
      {next && <span>{adminTexts.nextScan({ when: next })}</span>}
      {scan?.watching && !scan.watchProblem && <span>{adminTexts.watched()}</span>}
    </span>
  )
}

/** Why changes of the library, or of a part of it, are not noticed at once. */
function WatchProblem({ libraryId }: { libraryId: string }) {
  const problem = useQuery(scanQuery(libraryId)).data?.watchProblem
  if (!problem) return null
  return (
    <div className="notice warn" role="status">
      <Icon of={EyeOff} />
      <p dir="auto">{problem}</p>
    </div>
  )
}

function RemoveLibrary({ library: { id, name, bookCount }, onClose }: { library: LibraryRecord; onClose: () => void }) {
  const remove = () => {
    onClose()
    removeLibrary(id).then(() => say(adminTexts.removed({ name })), sayFailure)
  }
  return (
    <Dialog title={adminTexts.removeTitle({ name })} action={adminTexts.remove()} isDangerous onAction={remove} onClose={onClose}>
      <p>{adminTexts.removeWords({ books: bookCount })}</p>
    </Dialog>
  )
}
