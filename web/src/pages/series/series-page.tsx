import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from 'wouter'
import type { FullSeriesRecord } from '#api/records.ts'
import { seriesQuery } from '#api/series.ts'
import { dayWords, languageWords } from '#parts/formats.ts'
import { Late } from '#parts/loading.tsx'
import { Failure } from '#parts/states.tsx'
import { AboutSection, AboutSections, OtherSites, People, Tags } from '#parts/works/about-sections.tsx'
import { Cover } from '#parts/works/cover.tsx'
import { Crumbs, type Fact, Hero, Makers, WorkPage } from '#parts/works/hero.tsx'
import { makersOf, peopleOf } from '#parts/works/people.ts'
import { coverPath, knownCover, languageOf } from '#parts/works/words.ts'
import { partTexts } from '#texts/parts.ts'
import { seriesTexts } from '#texts/series.ts'
import { workTexts } from '#texts/works.ts'
import { OwnRating, ratingWords } from './own-rating.tsx'
import { SeriesActions } from './series-actions.tsx'
import { SeriesBooks } from './series-books.tsx'
import { SeriesFiles } from './series-files.tsx'
import { SeriesLists } from './series-lists.tsx'
import { SeriesReadings } from './series-readings.tsx'

/** How wide the cover is shown, in CSS pixels. */
const COVER_WIDTH = 240

export default function SeriesPage() {
  const { seriesId } = useParams<{ seriesId: string }>()
  const { data, error, refetch } = useQuery(seriesQuery(seriesId))
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return <Late>{<p role="status">…</p>}</Late>
  return <SeriesShown key={seriesId} series={data} />
}

function SeriesShown({ series }: { series: FullSeriesRecord }) {
  const people = peopleOf(series.metadata.authors)
  const lang = languageOf(series)
  return (
    <WorkPage>
      <Crumbs crumbs={[{ text: series.libraryName, href: `/libraries/${series.libraryId}` }, { text: series.title }]} />
      <Hero
        cover={
          <Cover
            path={coverPath(series, `api/v1/series/${series.id}`)}
            known={knownCover(series)}
            title={series.title}
            lang={lang}
            width={COVER_WIDTH}
            isLifted
            isFirst
          />
        }
        words={
          <>
            <h1 className="work-title" lang={lang} dir="auto">
              {series.title}
            </h1>
            <Makers people={makersOf(people)} />
            <p className="quiet">{lineOf(series)}</p>
          </>
        }
        actions={<SeriesActions series={series} />}
        summary={series.summary}
        lang={lang}
        facts={factsOf(series)}
      />
      <SeriesBooks series={series} />
      <AboutSections>
        <People people={people} />
        <SeriesLists series={series}>
          <Tags genres={series.genres.map(({ name }) => name)} tags={series.tags.map(({ name }) => name)} kind="series" />
        </SeriesLists>
        <OtherNames series={series} />
        <SeriesReadings seriesId={series.id} />
        <SeriesFiles series={series} />
      </AboutSections>
    </WorkPage>
  )
}

function lineOf({ bookCount, year, metadata }: FullSeriesRecord): string {
  const status = metadata.status && metadata.status !== 'unknown' ? workTexts[metadata.status]() : null
  return [partTexts.books({ count: bookCount }), year, status].filter(Boolean).join(' · ')
}

function factsOf(series: FullSeriesRecord): (Fact | null)[] {
  const { bookCount, unreadCount, publisher, metadata, language, createdAt, externalRatings, communityRating } = series
  const filtered = (field: string, value: string) => (
    <Link className="link" href={`/series?${field}=${encodeURIComponent(value)}`}>
      <bdi>{value}</bdi>
    </Link>
  )
  return [
    unreadCount === null ? null : { name: workTexts.read(), value: workTexts.readOf({ read: bookCount - unreadCount, total: bookCount }) },
    { name: seriesTexts.yourRating(), value: <OwnRating series={series} /> },
    communityRating.average === null || communityRating.count < 2
      ? null
      : {
          name: seriesTexts.average(),
          value: seriesTexts.averageOf({ rating: ratingWords(communityRating.average), count: communityRating.count }),
        },
    publisher ? { name: workTexts.publisher(), value: filtered('publisher', publisher) } : null,
    metadata.imprint ? { name: workTexts.imprint(), value: <bdi>{metadata.imprint}</bdi> } : null,
    language ? { name: workTexts.language(), value: languageWords(language) } : null,
    metadata.ageRating === null || metadata.ageRating === undefined
      ? null
      : { name: workTexts.age(), value: workTexts.ageFrom({ years: metadata.ageRating }) },
    metadata.readingDirection ? { name: workTexts.reading(), value: workTexts[metadata.readingDirection]() } : null,
    { name: workTexts.added(), value: dayWords(createdAt) },
    externalRatings.length === 0
      ? null
      : {
          name: workTexts.elsewhere(),
          value: externalRatings.map(({ id, rating, source, sourceName, voteCount }) => (
            <span key={id} style={{ display: 'block' }}>
              {voteCount === null
                ? workTexts.rating({ rating, source: sourceName ?? source })
                : workTexts.ratingVotes({ rating, source: sourceName ?? source, votes: voteCount })}
            </span>
          )),
        },
  ]
}

function OtherNames({ series }: { series: FullSeriesRecord }) {
  const { alternateTitles, titleSort, title, externalLinks } = series
  const hasNames = alternateTitles.length > 0 || (titleSort !== null && titleSort !== title)
  if (!hasNames && externalLinks.length === 0) return null
  return (
    <AboutSection title={hasNames ? workTexts.otherTitles() : workTexts.links()}>
      {hasNames && (
        <dl className="facts">
          {alternateTitles.map((each) => (
            <AlternateName key={each.id} label={each.label} title={each.title} />
          ))}
          {titleSort && titleSort !== title && <AlternateName label={workTexts.sortedAs()} title={titleSort} />}
        </dl>
      )}
      <OtherSites links={externalLinks.map(({ source, sourceName, url }) => ({ name: sourceName ?? source, url }))} />
    </AboutSection>
  )
}

function AlternateName({ label, title }: { label: string; title: string }) {
  return (
    <>
      <dt>
        <bdi>{label}</bdi>
      </dt>
      <dd dir="auto">{title}</dd>
    </>
  )
}
