import type { FullBookRecord } from '#api/records.ts'
import { sizeWords, timeWords } from '#parts/formats.ts'
import { AboutSection } from '#parts/works/about-sections.tsx'
import { partTexts } from '#texts/parts.ts'
import { workTexts } from '#texts/works.ts'
import style from './book.module.css'

/** The start of a hash is enough to compare by eye. */
const HASH_SHOWN = 16

export function FileFacts({ book }: { book: FullBookRecord }) {
  const { filePath, fileFormat, fileSize, fileHash, pageCount, updatedAt } = book
  const pages = pageCount > 0 && fileFormat !== 'epub' ? `, ${partTexts.pages({ count: pageCount })}` : ''
  return (
    <AboutSection title={workTexts.file()}>
      <dl className={`facts ${style['file']}`}>
        <dt>{workTexts.path()}</dt>
        <dd className="mono">
          <bdi>{filePath}</bdi>
        </dd>
        <dt>{workTexts.format()}</dt>
        <dd>
          {fileFormat.toUpperCase()}
          {pages}
        </dd>
        <dt>{workTexts.size()}</dt>
        <dd>{sizeWords(fileSize)}</dd>
        <dt>{workTexts.hash()}</dt>
        <dd className="mono" title={fileHash}>
          {fileHash.slice(0, HASH_SHOWN)}…
        </dd>
        <dt>{workTexts.changed()}</dt>
        <dd>{timeWords(updatedAt)}</dd>
      </dl>
    </AboutSection>
  )
}
