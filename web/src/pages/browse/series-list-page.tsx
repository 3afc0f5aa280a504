import { BrowsePage } from './browse-page.tsx'

export default function SeriesListPage() {
  return <BrowsePage kind="series" libraryId={null} />
}
