import { BrowsePage } from './browse-page.tsx'

export default function BookListPage() {
  return <BrowsePage kind="books" libraryId={null} />
}
