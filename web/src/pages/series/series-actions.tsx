import { useQuery } from '@tanstack/react-query'
import { Download, Ellipsis, FolderSearch, Heart, Play } from 'lucide-react'
import { Link } from 'wouter'
import { serverAddress } from '#api/client.ts'
import type { BookRecord, FullSeriesRecord } from '#api/records.ts'
import { isWantedQuery, type NextBook, nextBookQuery, scanSeries } from '#api/series.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { numberWords, partRead } from '#parts/works/words.ts'
import { seriesEntries, setWanted } from '#parts/works/work-menus.ts'
import { partTexts } from '#texts/parts.ts'
import { scanTexts } from '#texts/scans.ts'
import { workTexts } from '#texts/works.ts'

const percents = new Intl.NumberFormat('en', { style: 'percent' })

/** Continue, want to read, and the rest in a menu. */
export function SeriesActions({ series }: { series: FullSeriesRecord }) {
  const next = useQuery(nextBookQuery(series.id)).data
  const isWanted = useQuery(isWantedQuery(series.id)).data ?? false
  const mayScan = useMayDo('scans-start')
  const label = partTexts.more({ title: series.title })
  const scan = () => void scanSeries(series.id).then(() => say(scanTexts.seriesStarted({ title: series.title })), sayFailure)
  const { openFrom, menu } = useMenu(label, () => [
    ...seriesEntries(series, isWanted),
    { text: partTexts.download(), icon: Download, file: serverAddress(`api/v1/series/${series.id}/download`) },
    ...(mayScan ? [{ text: scanTexts.scanSeries(), icon: FolderSearch, run: scan }] : []),
  ])
  return (
    <>
      {next?.book && next.book.pageCount > 0 && (
        <Link className="btn main big" href={`/books/${next.book.id}/read`}>
          <Icon of={Play} />
          <span>{nextWords(next.book, next.kind)}</span>
        </Link>
      )}
      <button
        type="button"
        className="icon-btn edge touch"
        aria-label={partTexts.wantToRead()}
        title={partTexts.wantToRead()}
        aria-pressed={isWanted}
        onClick={() => setWanted(series, !isWanted)}
      >
        <Icon of={Heart} />
      </button>
      <button type="button" className="icon-btn edge touch" aria-label={label} aria-haspopup="menu" onClick={openFrom}>
        <Icon of={Ellipsis} />
      </button>
      {menu}
    </>
  )
}

function nextWords(book: BookRecord, kind: NextBook['kind']): string {
  const name = numberWords(book) || book.title
  if (kind === 'start') return workTexts.start({ book: name })
  if (kind === 'again') return workTexts.again({ book: name })
  return book.fileFormat === 'epub'
    ? workTexts.continueText({ book: name, percent: percents.format(partRead(book)) })
    : workTexts.continueAt({ book: name, page: book.readProgress?.currentPage ?? 1 })
}
