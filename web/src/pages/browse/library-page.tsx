import { useParams, useSearch } from 'wouter'
import { BrowsePage } from './browse-page.tsx'

export default function LibraryPage() {
  const { libraryId } = useParams<{ libraryId: string }>()
  const kind = new URLSearchParams(useSearch()).get('of') === 'books' ? 'books' : 'series'
  return <BrowsePage key={`${libraryId} ${kind}`} kind={kind} libraryId={libraryId} />
}
