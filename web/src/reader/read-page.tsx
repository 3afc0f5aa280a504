import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { useParams } from 'wouter'
import { openBook } from './open-book.ts'
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
  if (opening.error) return <ReaderMessage bookId={bookId} problem={opening.error} onRetry={() => void opening.refetch()} />
  if (!opening.data) return <ReaderMessage bookId={bookId} />
  return (
    <Suspense fallback={<ReaderMessage bookId={bookId} />}>
      {opening.data.kind === 'pages' ? (
        <PageReader key={bookId} opened={opening.data} />
      ) : (
        <TextReader key={bookId} opened={opening.data} />
      )}
    </Suspense>
  )
}
