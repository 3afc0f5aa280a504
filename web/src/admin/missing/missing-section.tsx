import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { CircleCheck, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import style from '#admin/admin.module.css'
import { librariesQuery } from '#api/libraries.ts'
import { missingBooksQuery, removableCountQuery } from '#api/missing-books.ts'
import type { BookRecord } from '#api/records.ts'
import { Check, Select } from '#parts/controls.tsx'
import { timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { missingTexts } from '#texts/missing.ts'
import { RemoveMissing, type ToRemove } from './remove-missing.tsx'

const ALL = 'all'

/** What is withheld is not removed before somebody confirms that it is gone. */
const canRemove = ({ deleted }: BookRecord): boolean => deleted

/** The books whose files are missing: since when, why, and what removes their records. */
export function MissingSection() {
  const [search, setSearch] = useSearchParams()
  const libraryId = search.get('library')
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(missingBooksQuery(libraryId))
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const [asked, setAsked] = useState<ToRemove | null>(null)
  const mayPick = useMayDo('series-write')
  const books = data?.pages.flatMap((page) => page.data) ?? []
  const removable = books.filter(canRemove)
  const chosen = removable.filter(({ id }) => picked.has(id))
  const pick = (some: readonly BookRecord[], isOn: boolean) => {
    const next = new Set(picked)
    for (const { id } of some) isOn ? next.add(id) : next.delete(id)
    setPicked(next)
  }
  return (
    <section className="stack" aria-label={missingTexts.missing()}>
      <MissingHead
        libraryId={libraryId}
        total={data?.pages[0]?.total}
        chosen={chosen}
        onLibrary={(id) => setSearch(id === ALL ? {} : { library: id }, { replace: true })}
        onAsk={setAsked}
      />
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data && books.length === 0 && <Empty icon={CircleCheck} title={missingTexts.none()} words={missingTexts.noneWords()} />}
      {mayPick && removable.length > 1 && (
        <Check checked={chosen.length === removable.length} onChange={({ currentTarget }) => pick(removable, currentTarget.checked)}>
          {missingTexts.pickShown({ count: removable.length })}
        </Check>
      )}
      <ul className="rows">
        {books.map((book) => (
          <MissingRow
            key={book.id}
            book={book}
            mayPick={mayPick}
            isPicked={picked.has(book.id)}
            onPick={(isOn) => pick([book], isOn)}
            onRemove={() => setAsked({ kind: 'some', books: [book] })}
          />
        ))}
      </ul>
      {hasNextPage && (
        <div className="line">
          <button type="button" className="btn" aria-busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {missingTexts.more()}
          </button>
        </div>
      )}
      {asked && <RemoveMissing asked={asked} onClose={() => setAsked(null)} />}
    </section>
  )
}

interface MissingHeadProps {
  libraryId: string | null
  total: number | undefined
  chosen: readonly BookRecord[]
  onLibrary: (id: string) => void
  onAsk: (asked: ToRemove) => void
}

/** How many, of which library, and what removes several. */
function MissingHead({ libraryId, total, chosen, onLibrary, onAsk }: MissingHeadProps) {
  const libraries = useQuery(librariesQuery).data ?? []
  const removable = useQuery(removableCountQuery(libraryId)).data ?? 0
  const mayRemoveAll = useMayDo('libraries-write')
  const ofLibraries = libraries.filter(({ id }) => libraryId === null || id === libraryId)
  return (
    <div className="line">
      <p className="quiet" role="status">
        {total ? missingTexts.found({ count: total }) : '\u00a0'}
      </p>
      <span className="spread line">
        {libraries.length > 1 && (
          <Select
            isSoft
            label={missingTexts.ofLibrary()}
            value={libraryId ?? ALL}
            options={[{ value: ALL, text: missingTexts.anyLibrary() }, ...libraries.map(({ id, name }) => ({ value: id, text: name }))]}
            onChange={onLibrary}
          />
        )}
        {chosen.length > 0 && (
          <button type="button" className="btn" onClick={() => onAsk({ kind: 'some', books: chosen })}>
            <Icon of={Trash2} />
            {missingTexts.removeChosen({ count: chosen.length })}
          </button>
        )}
        {mayRemoveAll && removable > 0 && ofLibraries.length > 0 && (
          <button type="button" className="btn" onClick={() => onAsk({ kind: 'all', libraries: ofLibraries, count: removable })}>
            <Icon of={Trash2} />
            {missingTexts.removeAll()}
          </button>
        )}
      </span>
    </div>
  )
}

interface MissingRowProps {
  book: BookRecord
  mayPick: boolean
  isPicked: boolean
  onPick: (isOn: boolean) => void
  onRemove: () => void
}

function MissingRow({ book, mayPick, isPicked, onPick, onRemove }: MissingRowProps) {
  const { id, title, seriesName, filePath, missing } = book
  const isRemovable = mayPick && canRemove(book)
  const label = missingTexts.removeNamed({ title })
  return (
    <li className={`row ${style['row']}`}>
      {isRemovable && (
        <span className="check">
          <input
            type="checkbox"
            aria-label={missingTexts.pick({ title })}
            checked={isPicked}
            onChange={({ currentTarget }) => onPick(currentTarget.checked)}
          />
        </span>
      )}
      <span className="words">
        <Link className="strong clip" href={`/books/${id}`} dir="auto">
          {title}
        </Link>
        <bdi className="clip">{seriesName}</bdi>
        <bdi className={`mono small quiet ${style['path']}`}>{filePath}</bdi>
        {missing && (
          <span className="sub">
            {missingTexts.since({ when: timeWords(missing.since) })} {missingTexts[`why_${missing.why}`]()}
          </span>
        )}
      </span>
      {isRemovable && (
        <span className="end">
          <button type="button" className="icon-btn" aria-label={label} title={missingTexts.remove()} onClick={onRemove}>
            <Icon of={Trash2} />
          </button>
        </span>
      )}
    </li>
  )
}
