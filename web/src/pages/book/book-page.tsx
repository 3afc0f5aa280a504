import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from 'wouter'
import { bookQuery, neighborsQuery, readListsOfBookQuery } from '#api/books.ts'
import type { BookRecord, FullBookRecord } from '#api/records.ts'
import { dayWords, languageWords } from '#parts/formats.ts'
import { Late } from '#parts/loading.tsx'
import { useTopOfPage } from '#parts/places.ts'
import { Failure } from '#parts/states.tsx'
import { AboutSection, AboutSections, People, Tags } from '#parts/works/about-sections.tsx'
import { Cover } from '#parts/works/cover.tsx'
import { Crumbs, type Fact, Hero, Makers, WorkPage } from '#parts/works/hero.tsx'
import { makersOf, peopleOf } from '#parts/works/people.ts'
import { bookWords, coverPath, knownCover, languageOf, markOfBook, numberWords, placeWords } from '#parts/works/words.ts'
import { seriesTexts } from '#texts/series.ts'
import { workTexts } from '#texts/works.ts'
import style from './book.module.css'
import { BookActions } from './book-actions.tsx'
import { BookContents } from './book-contents.tsx'
import { BookPages } from './book-pages.tsx'
import { BookReadings } from './book-readings.tsx'
import { FileFacts } from './file-facts.tsx'
import { FileState } from './file-state.tsx'

/** How wide covers are shown, in CSS pixels. */
const COVER_WIDTH = 240
const NEIGHBOR_WIDTH = 72

export default function BookPage() {
  const { bookId } = useParams<{ bookId: string }>()
  const { data, error, refetch } = useQuery(bookQuery(bookId))
  useTopOfPage(data !== undefined)
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return <Late>{<p role="status">…</p>}</Late>
  return <BookShown key={bookId} book={data} />
}

function BookShown({ book }: { book: FullBookRecord }) {
  const people = peopleOf(book.metadata.authors)
  const lang = languageOf(book)
  const number = numberWords(book)
  const cover = coverPath(book, `api/v1/books/${book.id}`)
  return (
    <WorkPage>
      <Crumbs
        crumbs={[
          { text: book.libraryName, href: `/libraries/${book.libraryId}` },
          { text: book.seriesName, href: `/series/${book.seriesId}` },
          { text: number || book.title },
        ]}
      />
      <Hero
        cover={
          <Cover
            path={cover}
            known={knownCover(book)}
            title={book.title}
            lang={lang}
            mark={markOfBook(book)}
            width={COVER_WIDTH}
            isLifted
            isFirst
          />
        }
        words={
          <>
            <p className="quiet">
              <Link className="link" href={`/series/${book.seriesId}`}>
                <bdi>{book.seriesName}</bdi>
              </Link>
              {number && `, ${number}`}
            </p>
            <h1 className="work-title" lang={lang} dir="auto">
              {book.title}
            </h1>
            <Makers people={makersOf(people)} />
          </>
        }
        actions={<BookActions book={book} />}
        summary={book.metadata.summary}
        lang={lang}
        facts={factsOf(book)}
      />
      <FileState book={book} />
      <BookPages book={book} />
      <BookContents book={book} />
      <AboutSections>
        <FileFacts book={book} />
        <People people={people} />
        <BookLists book={book} />
        <BookReadings book={book} />
        <NeighborBooks book={book} />
      </AboutSections>
    </WorkPage>
  )
}

function factsOf(book: FullBookRecord): (Fact | null)[] {
  const { readProgress, metadata, language, readingDirection } = book
  const fact = (name: string, value: string | null | undefined): Fact | null => (value ? { name, value: <bdi>{value}</bdi> } : null)
  const place = placeWords(book)
  return [
    fact(
      workTexts.place(),
      place ? place[0]!.toLocaleUpperCase() + place.slice(1) : readProgress ? workTexts.finished() : workTexts.unread(),
    ),
    fact(workTexts.started(), dayWords(readProgress?.startedAt)),
    fact(workTexts.finished(), dayWords(readProgress?.completedAt)),
    fact(seriesTexts.readCount(), book.readCount > 1 ? seriesTexts.readTimes({ count: book.readCount }) : null),
    fact(workTexts.released(), releaseWords(book)),
    fact(workTexts.publisher(), metadata.publisher),
    fact(workTexts.isbn(), metadata.isbns),
    fact(workTexts.language(), language ? languageWords(language) : null),
    fact(workTexts.reading(), readingDirection ? workTexts[readingDirection]() : null),
    fact(workTexts.added(), dayWords(book.createdAt)),
  ]
}

/** A record with a year alone says the first of January. */
function releaseWords({ metadata: { releaseDate, day, year } }: FullBookRecord): string | undefined {
  return releaseDate && day ? dayWords(releaseDate) : (year?.toString() ?? releaseDate?.slice(0, 4))
}

function BookLists({ book }: { book: FullBookRecord }) {
  const lists = useQuery(readListsOfBookQuery(book.id)).data?.data ?? []
  const hasTags = book.genres.length > 0 || book.tags.length > 0
  if (!hasTags && lists.length === 0) return null
  return (
    <AboutSection title={hasTags ? workTexts.genresAndTags() : workTexts.inLists()}>
      <Tags genres={book.genres.map(({ name }) => name)} tags={book.tags.map(({ name }) => name)} kind="books" />
      {lists.length > 0 && (
        <ul className="rows">
          {lists.map(({ id, name, bookCount }) => (
            <li className="row" key={id}>
              <Link className="words" href={`/read-lists/${id}`}>
                <bdi>{name}</bdi>
                <span className="sub">{workTexts.readList({ count: bookCount })}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </AboutSection>
  )
}

function NeighborBooks({ book }: { book: BookRecord }) {
  const neighbors = useQuery(neighborsQuery(book.id)).data
  if (!neighbors?.next && !neighbors?.prev) return null
  return (
    <AboutSection title={neighbors.next ? workTexts.nextInSeries() : workTexts.previousInSeries()}>
      {neighbors.next && <Neighbor book={neighbors.next} />}
      {neighbors.prev && (
        <>
          {neighbors.next && <h3 className="group-title">{workTexts.previousInSeries()}</h3>}
          <Neighbor book={neighbors.prev} />
        </>
      )}
    </AboutSection>
  )
}

function Neighbor({ book }: { book: BookRecord }) {
  return (
    <article className={`row ${style['neighbor']}`}>
      <Cover
        path={coverPath(book, `api/v1/books/${book.id}`)}
        known={knownCover(book)}
        title=""
        mark={markOfBook(book)}
        width={NEIGHBOR_WIDTH}
      />
      <span className="words">
        <Link className={`name ${style['link']}`} href={`/books/${book.id}`} lang={languageOf(book)} dir="auto">
          {book.title}
        </Link>
        <span className="sub">{bookWords(book)}</span>
      </span>
    </article>
  )
}
