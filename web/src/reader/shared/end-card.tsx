import { Check, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, ask, serverAddress } from '#api/client.ts'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import type { Book } from '../records.ts'
import { ReaderDialog } from './reader-dialog.tsx'
import type { Neighbors } from './use-neighbors.ts'
import type { Recording } from './use-recorder.ts'

interface EndProps {
  book: Book
  neighbors: Neighbors
  /** The words for staying where one is. */
  stay: string
  isIncognito: boolean
  /** Of what is recorded here, when the book is marked as unread. */
  forget: Recording<unknown>['forget']
  onStay(): void
}

/** After the last page: the next book first, and staying is always possible. */
export function EndCard({ book, neighbors: { next, listHref }, stay, isIncognito, forget, onStay }: EndProps) {
  const title = next?.title ?? (listHref === null ? readerTexts.noNext() : readerTexts.noNextInList())
  const done = !isIncognito && (
    <p className="small done">
      <Icon of={Check} />
      {readerTexts.finished({ title: book.title })}
    </p>
  )
  return (
    <ReaderDialog title={title} className={next ? 'endcard' : 'endcard last'} isTitleInside onClose={onStay}>
      {next && <img src={serverAddress(`api/v1/books/${next.book.id}/thumbnail`)} alt="" />}
      <div className="words">
        {done}
        <h2 dir="auto">{title}</h2>
        {next && <p className="small">{readerTexts.pageCount({ count: next.book.pageCount })}</p>}
      </div>
      <div className="line acts">
        {next && (
          <Link className="btn main big" href={next.href}>
            {readerTexts.read({ title: shortTitle(next.title) })}
          </Link>
        )}
        <Link className={next ? 'btn big plain' : 'btn main big'} href={listHref ?? `/series/${book.seriesId}`}>
          {listHref === null ? readerTexts.backToSeries() : readerTexts.backToList()}
        </Link>
      </div>
      <div className="line marks">
        {!isIncognito && <MarkUnread bookId={book.id} forget={forget} />}
        <button type="button" className="btn plain" onClick={onStay}>
          {stay}
        </button>
      </div>
    </ReaderDialog>
  )
}

/** A button is one line. */
const TITLE_LETTERS = 28
const shortTitle = (title: string): string => (title.length > TITLE_LETTERS ? `${title.slice(0, TITLE_LETTERS - 1).trimEnd()}…` : title)

function MarkUnread({ bookId, forget }: { bookId: string } & Pick<EndProps, 'forget'>) {
  const [state, setState] = useState<'open' | 'done' | string>('open')
  const mark = () =>
    forget(() => ask(api.POST('/api/v1/books/{bookId}/unread', { params: { path: { bookId } } }))).then(
      () => setState('done'),
      (error: Error) => setState(error.message),
    )
  if (state === 'done') return <span role="status">{readerTexts.markedUnread()}</span>
  return (
    <button type="button" className="btn plain" title={state === 'open' ? undefined : state} onClick={() => void mark()}>
      <Icon of={Undo2} />
      {readerTexts.markUnread()}
    </button>
  )
}
