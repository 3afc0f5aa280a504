import { useQuery } from '@tanstack/react-query'
import { FolderSearch } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import style from '#admin/admin.module.css'
import { scanLibrary } from '#api/admin.ts'
import type { LibraryRecord } from '#api/records.ts'
import { isScanning, type ScanRecord, scanQuery } from '#api/scans.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { Check } from '#parts/controls.tsx'
import { Icon } from '#parts/icon.tsx'
import { adminTexts } from '#texts/admin.ts'
import { missingTexts } from '#texts/missing.ts'
import { scanTexts } from '#texts/scans.ts'
import { CONFIRMED_MAX, confirmationOf } from './scan-words.ts'

/** A scan that would remove many books asks first: a disk that is not connected looks like this. */
export function WithheldLoss({ library }: { library: LibraryRecord }) {
  const scan = useQuery(scanQuery(library.id)).data
  if (!scan || isScanning(scan)) return null
  // A guard knows only numbers, so it is all or nothing.
  if (scan.guard) return <WithheldAll library={library} guard={scan.guard} />
  const folders = scan.withheld ?? []
  return folders.length > 0 && <WithheldFolders key={scan.taskId} library={library} folders={folders} />
}

const confirmLoss = ({ id, name }: LibraryRecord, confirm: string[]) =>
  void scanLibrary(id, { confirm }).then(() => say(adminTexts.scanStarted({ name })), sayFailure)

function WithheldAll({ library, guard }: { library: LibraryRecord; guard: NonNullable<ScanRecord['guard']> }) {
  return (
    <div className="notice warn">
      <Icon of={FolderSearch} />
      <p>{adminTexts.withheld({ ...guard, name: library.name })}</p>
      <div className="line">
        <button type="button" className="btn" onClick={() => confirmLoss(library, ['true'])}>
          {scanTexts.confirm({ count: guard.missing })}
        </button>
      </div>
    </div>
  )
}

interface WithheldFoldersProps {
  library: LibraryRecord
  folders: NonNullable<ScanRecord['withheld']>
}

/** Exactly the chosen folders are confirmed. */
function WithheldFolders({ library, folders }: WithheldFoldersProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(folders.map(({ folder }) => folder)))
  const confirmed = confirmationOf(
    folders.map(({ folder }) => folder),
    chosen,
  )
  const sumOf = (some: typeof folders) => some.reduce((sum, { books }) => sum + books, 0)
  const toggle = (folder: string, isOn: boolean) => {
    const next = new Set(chosen)
    if (isOn) next.add(folder)
    else next.delete(folder)
    setChosen(next)
  }
  return (
    <div className="notice warn">
      <Icon of={FolderSearch} />
      <p>{scanTexts.withheld({ count: sumOf(folders), name: library.name })}</p>
      <ul className={style['withheld']} aria-label={scanTexts.folders()}>
        {folders.map(({ folder, reason, books }) => (
          <li key={folder}>
            <Check checked={chosen.has(folder)} onChange={({ currentTarget }) => toggle(folder, currentTarget.checked)}>
              <bdi className="strong">{folder === '.' ? scanTexts.itself() : folder}</bdi>{' '}
              <span className="small quiet">
                {scanTexts.missingIn({ count: books })}, {scanTexts[`why_${reason}`]()}
              </span>
            </Check>
          </li>
        ))}
      </ul>
      {confirmed === null && chosen.size > 0 && <p className="small">{scanTexts.tooMany({ max: CONFIRMED_MAX })}</p>}
      <div className="line">
        <button type="button" className="btn" disabled={confirmed === null} onClick={() => confirmed && confirmLoss(library, confirmed)}>
          {scanTexts.confirm({ count: sumOf(folders.filter(({ folder }) => chosen.has(folder))) })}
        </button>
        <Link className="btn plain" href={`/admin/missing?library=${library.id}`}>
          {missingTexts.show({ count: sumOf(folders) })}
        </Link>
      </div>
    </div>
  )
}
