import { useQuery } from '@tanstack/react-query'
import { BookmarkX } from 'lucide-react'
import { Link, Redirect, useParams } from 'wouter'
import { viewsQuery } from '#api/views.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { viewTexts } from '#texts/views.ts'
import { hrefOfView } from './views/view-address.ts'

/** The address of a saved view stays when its conditions change; it leads to the list. */
export default function ViewPage() {
  const { viewId } = useParams<{ viewId: string }>()
  const { data, error, refetch } = useQuery(viewsQuery)
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return null
  const view = data.find(({ id }) => id === viewId)
  if (view) return <Redirect to={hrefOfView(view)} replace />
  return (
    <>
      <h1 className="visually-hidden">{viewTexts.view()}</h1>
      <Empty icon={BookmarkX} title={viewTexts.noneTitle()} words={viewTexts.noneWords()}>
        <Link className="btn" href="/">
          {viewTexts.toHome()}
        </Link>
      </Empty>
    </>
  )
}
