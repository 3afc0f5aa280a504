import { useQuery } from '@tanstack/react-query'
import { ListOrdered, Play } from 'lucide-react'
import { Link, useParams } from 'wouter'
import { LISTS_MAX, orderReadList, readListBooksQuery, readListQuery, setReadListOrdered } from '#api/lists.ts'
import { queries } from '#api/queries.ts'
import type { BookRecord, Listed, ReadListRecord } from '#api/records.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { useTopOfPage } from '#parts/places.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { Crumbs } from '#parts/works/hero.tsx'
import { bookWords, coverPath, knownCover, languageOf, markOfBook } from '#parts/works/words.ts'
import { listTexts } from '#texts/lists.ts'
import { ListProgress } from './list-progress.tsx'
import style from './lists.module.css'
import { moved } from './order.ts'
import { type OrderedRow, OrderedRows } from './ordered-rows.tsx'

export default function ReadListPage() {
  const { readListId } = useParams<{ readListId: string }>()
  const list = useQuery(readListQuery(readListId))
  const books = useQuery(readListBooksQuery(readListId))
  useTopOfPage(list.data !== undefined && books.data !== undefined)
  const error = list.error ?? books.error
  if (error) return <Failure error={error} onRetry={() => void Promise.all([list.refetch(), books.refetch()])} />
  if (!list.data || !books.data) return null
  return <ReadListShown list={list.data} books={books.data} />
}

function ReadListShown({ list, books: { data: books, total } }: { list: ReadListRecord; books: Listed<BookRecord> }) {
  const isComplete = books.length === total
  const mayWrite = useMayDo('books-write')
  const mayOrder = mayWrite && list.ordered && isComplete
  const read = books.filter(({ readProgress }) => readProgress?.completed).length
  const next = books.find(({ readProgress, pageCount }) => !readProgress?.completed && pageCount > 0)
  const move = (from: number, to: number) => {
    const ids = moved(books, from, to).map(({ id }) => id)
    showOrder(list.id, ids)
    orderReadList(list.id, ids).then(
      () => say(listTexts.moved({ title: books[from]?.title ?? '', number: to + 1 })),
      (error: unknown) => {
        sayFailure(error)
        void queries.invalidateQueries({ queryKey: readListBooksQuery(list.id).queryKey })
      },
    )
  }
  return (
    <div className={style['page']}>
      <Crumbs crumbs={[{ text: listTexts.readLists(), href: '/read-lists' }, { text: list.name }]} />
      <header className="stack">
        <h1 className="work-title" dir="auto">
          {list.name}
        </h1>
        <p className="quiet">{listTexts.bookCount({ count: total })}</p>
        <ListProgress read={read} total={books.length} />
        {list.summary && (
          <p className="prose" dir="auto">
            {list.summary}
          </p>
        )}
        <div className="line">
          {next && (
            <Link className="btn main big" href={`/books/${next.id}/read?readListId=${list.id}`}>
              <Icon of={Play} />
              <bdi className="clip">
                {next.readProgress || read > 0 ? listTexts.continueWith({ title: next.title }) : listTexts.startWith({ title: next.title })}
              </bdi>
            </Link>
          )}
          {mayWrite && !list.ordered && isComplete && total > 1 && (
            <button type="button" className="btn" onClick={() => void setReadListOrdered(list.id).catch(sayFailure)}>
              <Icon of={ListOrdered} />
              {listTexts.arrange()}
            </button>
          )}
        </div>
      </header>
      {!isComplete && <p className="quiet">{listTexts.tooLong({ total, shown: Math.min(LISTS_MAX, books.length) })}</p>}
      {total === 0 && <Empty icon={ListOrdered} title={listTexts.readListEmpty()} />}
      <OrderedRows label={listTexts.books()} rows={books.map(rowOf)} nowId={next?.id} onMove={mayOrder ? move : null} />
    </div>
  )
}

function rowOf(book: BookRecord): OrderedRow {
  const line = bookWords(book)
  return {
    id: book.id,
    title: book.title,
    lang: languageOf(book),
    href: `/books/${book.id}`,
    words: (
      <>
        <bdi>{book.seriesName}</bdi>
        {line && <span> · {line}</span>}
      </>
    ),
    cover: { path: coverPath(book, `api/v1/books/${book.id}`), known: knownCover(book), mark: markOfBook(book) },
  }
}

/** Before the server has answered: the buttons stay under the pointer. */
function showOrder(listId: string, ids: readonly string[]): void {
  queries.setQueryData(readListBooksQuery(listId).queryKey, (shown: Listed<BookRecord> | undefined) =>
    shown ? { ...shown, data: ids.flatMap((id) => shown.data.find((book) => book.id === id) ?? []) } : shown,
  )
}
