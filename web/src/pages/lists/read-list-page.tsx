import { useQuery } from '@tanstack/react-query'
import { ArrowDown, ArrowUp, ListOrdered, Play } from 'lucide-react'
import { Link, useParams } from 'wouter'
import { LISTS_MAX, orderReadList, readListBooksQuery, readListQuery } from '#api/lists.ts'
import { queries } from '#api/queries.ts'
import type { BookRecord, Listed, ReadListRecord } from '#api/records.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { useTopOfPage } from '#parts/places.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { Cover } from '#parts/works/cover.tsx'
import { Crumbs } from '#parts/works/hero.tsx'
import { bookWords, coverPath, knownCover, languageOf, markOfBook } from '#parts/works/words.ts'
import { listTexts } from '#texts/lists.ts'
import style from './lists.module.css'

/** Covers of the rows, in CSS pixels. */
const COVER_WIDTH = 48

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
  const mayOrder = useMayDo('books-write') && list.ordered && isComplete
  const read = books.filter(({ readProgress }) => readProgress?.completed).length
  const next = books.find(({ readProgress, pageCount }) => !readProgress?.completed && pageCount > 0)
  return (
    <div className={style['page']}>
      <Crumbs crumbs={[{ text: listTexts.readLists(), href: '/read-lists' }, { text: list.name }]} />
      <header className="stack">
        <h1 className="work-title" dir="auto">
          {list.name}
        </h1>
        <p className="quiet">
          {listTexts.bookCount({ count: total })} · {listTexts.readOf({ read, total: books.length })}
        </p>
        {list.summary && (
          <p className="prose" dir="auto">
            {list.summary}
          </p>
        )}
        {next && (
          <div className="line">
            <Link className="btn main big" href={`/books/${next.id}/read?readListId=${list.id}`}>
              <Icon of={Play} />
              <bdi className="clip">
                {next.readProgress || read > 0 ? listTexts.continueWith({ title: next.title }) : listTexts.startWith({ title: next.title })}
              </bdi>
            </Link>
          </div>
        )}
      </header>
      {!isComplete && <p className="quiet">{listTexts.tooLong({ total, shown: Math.min(LISTS_MAX, books.length) })}</p>}
      {total === 0 && <Empty icon={ListOrdered} title={listTexts.readListEmpty()} />}
      <ol className={`rows ${style['list']}`} aria-label={listTexts.books()}>
        {books.map((book, index) => (
          <li key={book.id} className={`row ${book.id === next?.id ? style['now'] : ''}`}>
            <span className={style['number']}>{index + 1}</span>
            <Cover
              path={coverPath(book, `api/v1/books/${book.id}`)}
              known={knownCover(book)}
              title=""
              mark={markOfBook(book)}
              width={COVER_WIDTH}
            />
            <span className="words">
              <Link className="name clip-2" href={`/books/${book.id}`} lang={languageOf(book)} dir="auto">
                {book.title}
              </Link>
              <span className="sub clip">
                <bdi>{book.seriesName}</bdi>
                {bookWords(book) && <span> · {bookWords(book)}</span>}
              </span>
            </span>
            {mayOrder && <MoveButtons book={book} index={index} books={books} listId={list.id} />}
          </li>
        ))}
      </ol>
    </div>
  )
}

interface MoveProps {
  book: BookRecord
  index: number
  books: readonly BookRecord[]
  listId: string
}

function MoveButtons({ book, index, books, listId }: MoveProps) {
  const move = (by: 1 | -1) => {
    const ids = books.map(({ id }) => id)
    ids.splice(index, 1)
    ids.splice(index + by, 0, book.id)
    showOrder(listId, ids)
    orderReadList(listId, ids).then(
      () => say(listTexts.moved({ title: book.title, number: index + by + 1 })),
      (error: unknown) => {
        sayFailure(error)
        void queries.invalidateQueries({ queryKey: readListBooksQuery(listId).queryKey })
      },
    )
  }
  return (
    <span className="end">
      <button
        type="button"
        className="icon-btn"
        aria-label={listTexts.up({ title: book.title })}
        disabled={index === 0}
        onClick={() => move(-1)}
      >
        <Icon of={ArrowUp} />
      </button>
      <button
        type="button"
        className="icon-btn"
        aria-label={listTexts.down({ title: book.title })}
        disabled={index === books.length - 1}
        onClick={() => move(1)}
      >
        <Icon of={ArrowDown} />
      </button>
    </span>
  )
}

/** Before the server has answered: the buttons stay under the pointer. */
function showOrder(listId: string, ids: readonly string[]): void {
  queries.setQueryData(readListBooksQuery(listId).queryKey, (shown: Listed<BookRecord> | undefined) =>
    shown ? { ...shown, data: ids.flatMap((id) => shown.data.find((book) => book.id === id) ?? []) } : shown,
  )
}
