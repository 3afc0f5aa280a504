import { useEffect, useState } from 'react'
import { onEvent } from '#api/events.ts'
import style from './library.module.css'

interface RunningFile {
  bookId: string
  libraryId: string
  fileName: string
}

/** The files of a library that are being read at this moment; nothing while none is known. Each process of the server reports its own. */
export function RunningFiles({ libraryId, title }: { libraryId: string; title: string }) {
  const [files, setFiles] = useState<ReadonlyMap<string, readonly RunningFile[]>>(new Map())
  useEffect(
    () =>
      onEvent('scan_files', (event) => {
        const { readerId, running } = event as unknown as { readerId: string; running: RunningFile[] }
        setFiles((before) => new Map(before).set(readerId, running))
      }),
    [],
  )
  const shown = [...files.values()].flat().filter((file) => file.libraryId === libraryId)
  if (shown.length === 0) return null
  return (
    <section aria-labelledby="running-title">
      <h2 className="group-title" id="running-title">
        {title}
      </h2>
      <ul className={style['running']}>
        {shown.map(({ bookId, fileName }) => (
          <li key={bookId}>
            <span className={`ring ${style['turning']}`} style={{ '--at': '35%' }} />
            <bdi className="clip">{fileName}</bdi>
          </li>
        ))}
      </ul>
    </section>
  )
}
