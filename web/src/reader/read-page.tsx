import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { useParams } from 'wouter'
import { readerTexts } from '#texts/reader.ts'
import { type OpenedBook, openBook, titleKey } from './open-book.ts'
import { ReaderMessage } from './shared/reader-message.tsx'
import './shared/papers.css'
import './shared/bars.css'
import './shared/panels.css'
import './shared/dialogs.css'
import './pages/pages.css'

const PageReader = lazy(() => import('./pages/page-reader.tsx'))
const TextReader = lazy(() => import('./epub/text-reader.tsx'))

/** Opens a book in the reader that fits it. */
export default function ReadPage() {
  const { bookId = '' } = useParams()
  const opening = useQuery({
    queryKey: ['reading', bookId],
    queryFn: ({ signal }) => openBook(bookId, signal),
    // What was opened stays while it is read, and is loaded anew the next time: the place may have changed on another device.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
  const { data: title } = useQuery<string>({ queryKey: titleKey(bookId), enabled: false })
  const retry = () => void opening.refetch()
  const { data, error } = opening
  if (data?.kind === 'pages' && data.pages.length === 0)
    return <ReaderMessage bookId={bookId} problem={new Error(readerTexts.noPages())} onRetry={retry} />
  if (data) return <Reader key={bookId} opened={data} />
  return <ReaderMessage bookId={bookId} title={title} {...(error && { problem: error, onRetry: retry })} />
}

/** What was opened first: everything is loaded again when the server has restarted, which must not move the reader. */
function Reader({ opened }: { opened: OpenedBook }) {
  const [kept] = useState(opened)
  return (
    <Suspense fallback={<ReaderMessage bookId={kept.book.id} title={kept.book.title} />}>
      {kept.kind === 'pages' ? <PageReader opened={kept} /> : <TextReader opened={kept} />}
    </Suspense>
  )
}
