import { Heart } from 'lucide-react'
import { Link } from 'wouter'
import { api, ask } from '#api/client.ts'
import type { Listed, SeriesRecord } from '#api/records.ts'
import { LIST_PAGE_SIZE, type ListSource } from '#pages/browse/use-list-pages.ts'
import { Empty } from '#parts/states.tsx'
import { listTexts } from '#texts/lists.ts'
import { SeriesShelf } from './series-shelf.tsx'

const SOURCE: ListSource<SeriesRecord> = {
  key: ['want-to-read', 'browse'],
  fetch: (page, signal) =>
    ask(api.GET('/api/v1/user/want-to-read', { params: { query: { page, pageSize: LIST_PAGE_SIZE } }, signal })) as Promise<
      Listed<SeriesRecord>
    >,
}

export default function WantToReadPage() {
  const empty = (
    <Empty icon={Heart} title={listTexts.wantToReadEmpty()} words={listTexts.wantToReadWords()}>
      <Link className="btn" href="/series">
        {listTexts.browse()}
      </Link>
    </Empty>
  )
  return <SeriesShelf title={listTexts.wantToRead()} source={SOURCE} empty={empty} />
}
