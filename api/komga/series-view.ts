import type { Static } from 'typebox'
import Type from 'typebox'
import { KomgaAuthor, KomgaLink } from '#api/komga/book-view.ts'
import { personsOf, secondsOf } from '#api/komga/values.ts'
import type { Series } from '#core/catalog/series.ts'
import type { SeriesDetail } from '#core/catalog/series-detail-query.ts'
import { Nullable } from '#core/foundation/schema.ts'

/** A series as Komga shows it. */
export const KomgaSeries = Type.Object(
  {
    id: Type.String(),
    libraryId: Type.String(),
    name: Type.String(),
    url: Type.String(),
    created: Type.String(),
    lastModified: Type.String(),
    fileLastModified: Type.String(),
    booksCount: Type.Integer(),
    booksReadCount: Type.Integer(),
    booksUnreadCount: Type.Integer(),
    booksInProgressCount: Type.Integer(),
    metadata: Type.Object({
      status: Type.String(),
      statusLock: Type.Boolean(),
      title: Type.String(),
      titleLock: Type.Boolean(),
      titleSort: Type.String(),
      titleSortLock: Type.Boolean(),
      summary: Type.String(),
      summaryLock: Type.Boolean(),
      readingDirection: Type.String(),
      readingDirectionLock: Type.Boolean(),
      publisher: Type.String(),
      publisherLock: Type.Boolean(),
      ageRating: Nullable(Type.Integer()),
      ageRatingLock: Type.Boolean(),
      language: Type.String(),
      languageLock: Type.Boolean(),
      genres: Type.Array(Type.String()),
      genresLock: Type.Boolean(),
      tags: Type.Array(Type.String()),
      tagsLock: Type.Boolean(),
      totalBookCount: Nullable(Type.Integer()),
      totalBookCountLock: Type.Boolean(),
      sharingLabels: Type.Array(Type.String()),
      sharingLabelsLock: Type.Boolean(),
      links: Type.Array(KomgaLink),
      linksLock: Type.Boolean(),
      alternateTitles: Type.Array(Type.Object({ label: Type.String(), title: Type.String() })),
      alternateTitlesLock: Type.Boolean(),
      created: Type.String(),
      lastModified: Type.String(),
    }),
    booksMetadata: Type.Object({
      authors: Type.Array(KomgaAuthor),
      tags: Type.Array(Type.String()),
      releaseDate: Nullable(Type.String()),
      summary: Type.String(),
      summaryNumber: Type.String(),
      created: Type.String(),
      lastModified: Type.String(),
    }),
    deleted: Type.Boolean(),
    oneshot: Type.Boolean(),
  },
  { title: 'KomgaSeries' },
)
export type KomgaSeries = Static<typeof KomgaSeries>

/** Komga has no unknown status; it shows such a series as ongoing. */
export const STATUSES: Readonly<Record<string, string>> = { ongoing: 'ONGOING', ended: 'ENDED', hiatus: 'HIATUS', abandoned: 'ABANDONED' }
export const DIRECTIONS: Readonly<Record<string, string>> = {
  ltr: 'LEFT_TO_RIGHT',
  rtl: 'RIGHT_TO_LEFT',
  ttb: 'VERTICAL',
  webtoon: 'WEBTOON',
}

export function komgaSeries(series: Series, detail: SeriesDetail): KomgaSeries {
  const { books } = detail
  return {
    id: series.id,
    libraryId: series.libraryId,
    name: series.title,
    url: series.path ?? '',
    created: secondsOf(series.createdAt),
    lastModified: secondsOf(series.updatedAt),
    fileLastModified: secondsOf(detail.fileModifiedAt),
    booksCount: series.bookCount,
    booksReadCount: detail.readCount,
    booksUnreadCount: Math.max(0, series.bookCount - detail.readCount - detail.inProgressCount),
    booksInProgressCount: detail.inProgressCount,
    metadata: komgaMetadata(series, detail),
    booksMetadata: {
      authors: personsOf(books.authors),
      tags: books.tags,
      releaseDate: books.releaseDate,
      summary: books.summary ?? '',
      summaryNumber: books.summaryNumber === null ? '' : String(books.summaryNumber),
      created: secondsOf(books.createdAt),
      lastModified: secondsOf(books.updatedAt),
    },
    deleted: series.bookCount === 0,
    oneshot: detail.isOneshot,
  }
}

function komgaMetadata(series: Series, detail: SeriesDetail): KomgaSeries['metadata'] {
  const locked = (name: string) => detail.locks.has(name)
  return {
    status: STATUSES[detail.status ?? ''] ?? 'ONGOING',
    statusLock: locked('status'),
    title: series.title,
    titleLock: locked('title'),
    titleSort: series.titleSort ?? series.title,
    titleSortLock: locked('titleSort'),
    summary: series.summary ?? '',
    summaryLock: locked('summary'),
    // Some apps fail if it is null.
    readingDirection: DIRECTIONS[detail.readingDirection ?? ''] ?? '',
    readingDirectionLock: locked('readingDirection'),
    publisher: series.publisher ?? '',
    publisherLock: locked('publisher'),
    ageRating: detail.ageRating,
    ageRatingLock: locked('ageRating'),
    language: detail.language ?? '',
    languageLock: locked('language'),
    genres: detail.genres,
    genresLock: locked('genres'),
    tags: detail.tags,
    tagsLock: locked('tags'),
    totalBookCount: detail.totalVolumeCount,
    totalBookCountLock: locked('totalVolumeCount'),
    sharingLabels: detail.sharingTags,
    sharingLabelsLock: false,
    links: detail.links.map(({ source, url }) => ({ label: source, url })),
    linksLock: false,
    alternateTitles: detail.alternateTitles,
    alternateTitlesLock: locked('alternateTitles'),
    created: secondsOf(detail.metadataCreatedAt),
    lastModified: secondsOf(detail.metadataUpdatedAt),
  }
}
