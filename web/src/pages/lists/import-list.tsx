import { useMutation } from '@tanstack/react-query'
import { FileUp } from 'lucide-react'
import { useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { importReadList, type ReadListImport } from '#api/lists.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { sayFailure } from '#parts/above/toasts.tsx'
import { sizeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { listTexts } from '#texts/lists.ts'
import style from './lists.module.css'

/** The largest file that the API takes, in bytes. */
const BYTES_MAX = 2 * 1_048_576
/** Names that a dialog has room for. */
const NAMED_MAX = 50

/** Takes a file in the format CBL, and says which of its books were found. */
export function ImportList() {
  const input = useRef<HTMLInputElement>(null)
  const [report, setReport] = useState<ReadListImport | null>(null)
  const importing = useMutation({
    mutationFn: async (file: File) => {
      if (file.size > BYTES_MAX) throw new Error(listTexts.importTooBig({ name: file.name, size: sizeWords(BYTES_MAX) }))
      return await importReadList(file)
    },
    onSuccess: setReport,
    onError: sayFailure,
  })
  const take = (file: File | undefined) => {
    if (file) importing.mutate(file)
    // The same file can be chosen again.
    if (input.current) input.current.value = ''
  }
  return (
    <>
      <button
        type="button"
        className="btn"
        aria-busy={importing.isPending}
        disabled={importing.isPending}
        onClick={() => input.current?.click()}
      >
        <Icon of={FileUp} />
        {importing.isPending ? listTexts.importing() : listTexts.import()}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        accept=".cbl,.xml"
        aria-label={listTexts.import()}
        onChange={({ currentTarget }) => take(currentTarget.files?.[0])}
      />
      {report && <ImportReport report={report} onClose={() => setReport(null)} />}
    </>
  )
}

function ImportReport({ report: { readList, matched, unmatched }, onClose }: { report: ReadListImport; onClose: () => void }) {
  const [, navigate] = useLocation()
  const more = unmatched.length - NAMED_MAX
  return (
    <Dialog
      title={listTexts.imported({ name: readList.name })}
      action={listTexts.openList()}
      onAction={() => navigate(`/read-lists/${readList.id}`)}
      onClose={onClose}
    >
      <p role="status">{listTexts.importedWords({ matched, count: matched + unmatched.length })}</p>
      {unmatched.length > 0 && (
        <section className="stack">
          <h3 className="group-title">
            {listTexts.notFound()} {unmatched.length}
          </h3>
          <ul className={style['not-found']}>
            {unmatched.slice(0, NAMED_MAX).map(({ series, number, year }, index) => (
              <li key={index} dir="auto">
                {year ? listTexts.bookOfYear({ series, number, year }) : listTexts.bookNamed({ series, number })}
              </li>
            ))}
            {more > 0 && <li className="quiet">{listTexts.moreNotFound({ count: more })}</li>}
          </ul>
          <p className="small quiet">{listTexts.notFoundWords()}</p>
        </section>
      )}
    </Dialog>
  )
}
