import { useQuery } from '@tanstack/react-query'
import { FolderTree } from 'lucide-react'
import { layoutChangeQuery } from '#api/admin.ts'
import type { LayoutEdit } from '#api/records.ts'
import { Icon } from '#parts/icon.tsx'
import { Failure } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { layoutTexts } from '#texts/layouts.ts'

interface LayoutChangeProps {
  libraryId: string
  edit: LayoutEdit
  hasExamples?: boolean
}

/** Series that a look needs, not all of them. */
const EXAMPLES_MAX = 5

/** What another layout would move. */
export function LayoutChange({ libraryId, edit, hasExamples }: LayoutChangeProps) {
  const { data, error, refetch } = useQuery(layoutChangeQuery(libraryId, edit))
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  const { booksMoved, seriesKept, seriesNew, seriesRemoved, examples } = data ?? {}
  const outcome = [
    seriesKept && layoutTexts.kept({ count: seriesKept }),
    seriesNew && layoutTexts.made({ count: seriesNew }),
    seriesRemoved && layoutTexts.emptied({ count: seriesRemoved }),
  ].filter(Boolean)
  return (
    <div className="notice info" role="status">
      <Icon of={FolderTree} />
      {booksMoved === undefined && <p>{layoutTexts.looking()}</p>}
      {booksMoved === 0 && <p>{layoutTexts.movesNone()}</p>}
      {booksMoved !== undefined && booksMoved > 0 && (
        <>
          <p>
            <strong>{layoutTexts.moves({ count: booksMoved })}</strong> {outcome.join('; ')}.
          </p>
          {hasExamples && <p className="small quiet">{layoutTexts.examples()}</p>}
          {hasExamples &&
            examples?.slice(0, EXAMPLES_MAX).map(({ title, path, rule, bookCount, from }) => (
              <p key={`${path}\n${title}`} className="small">
                <bdi className="strong">{title}</bdi> <span className="badge">{layoutTexts[`rule_${rule}`]()}</span>{' '}
                {adminTexts.books({ count: bookCount })},{' '}
                <bdi className="quiet">{layoutTexts.from({ folders: from.map((folder) => folder || layoutTexts.root()).join(', ') })}</bdi>
              </p>
            ))}
        </>
      )}
    </div>
  )
}
