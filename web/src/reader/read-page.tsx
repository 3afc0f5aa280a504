import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { useParams } from 'wouter'
import { loadPart } from '#parts/load-part.ts'
import { readerTexts } from '#texts/reader.ts'
import { type OpenedBook, openBook, titleKey } from './open-book.ts'
import { ReaderMessage } from './shared/reader-message.tsx'
import './shared/papers.css'
import './shared/bars.css'
import './shared/panels.css'
import './shared/dialogs.css'
import './pages/pages.css'

const PageReader = lazy(() => loadPart(() => import('./pages/page-reader.tsx')))
const TextReader = lazy(() => loadPart(() => import('./epub/text-reader.tsx')))

/** Opens a book in the reader that fits it. */
export default function ReadPage() {
  const { bookId = '' } = useParams()
  const opening = useQuery({
    queryKey: ['reading', bookId],
    queryFn: ({ signal }) => openBook(bookId, signal),
    // What was opened stays while it is read, also when all is loaded again as the server has restarted: that must not move the reader, nor send the
    // place that waits beside its recorder. The next time it is loaded anew: the place may have changed on another device.
    enabled: ({ state }) => state.data === undefined,
    gcTime: 0,
    // Readers have no line that says that there is no server.
    networkMode: 'always',
  })
  const { data: title } = useQuery<string>({ queryKey: titleKey(bookId), enabled: false })
  const retry = () => void opening.refetch()
  const { data, error } = opening
  if (data?.kind === 'pages' && data.pages.length === 0)
    return <ReaderMessage bookId={bookId} problem={new Error(readerTexts.noPages())} onRetry={retry} />
  if (data) return <Reader key={bookId} opened={data} />
  return <ReaderMessage bookId={bookId} title={title} {...(error && { problem: error, onRetry: retry })} />
}

function Reader({ opened }: { opened: OpenedBook }) {
  return (
    <Suspense fallback={<ReaderMessage bookId={opened.book.id} title={opened.book.title} />}>
      {opened.kind === 'pages' ? <PageReader opened={opened} /> : <TextReader opened={opened} />}
    </Suspense>
  )
}
