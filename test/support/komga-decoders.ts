import type { Decoder } from '#test/support/komga-server.ts'

/** The members that the strictest decoders of apps require: every member without a default there. */

const locks = (...names: string[]): Decoder => Object.fromEntries(names.map((name) => [`${name}Lock`, 'flag']))

export const BOOK: Decoder = {
  ...{ id: 'text', seriesId: 'text', seriesTitle: 'text', libraryId: 'text', name: 'text', url: 'text', number: 'whole' },
  ...{ created: 'moment', lastModified: 'moment', fileLastModified: 'moment', sizeBytes: 'whole', size: 'text' },
  ...{ deleted: 'flag', fileHash: 'text', oneshot: 'flag', readProgress: 'object?' },
  media: {
    ...{ status: 'text', mediaType: 'text', pagesCount: 'whole', comment: 'text', mediaProfile: 'text' },
    ...{ epubDivinaCompatible: 'flag', epubIsKepub: 'flag' },
  },
  metadata: {
    ...{ title: 'text', summary: 'text', number: 'text', numberSort: 'number', releaseDate: 'day?', authors: 'people', tags: 'texts' },
    ...{ isbn: 'text', links: [{ label: 'text', url: 'text' }], created: 'moment', lastModified: 'moment' },
    ...locks('title', 'summary', 'number', 'numberSort', 'releaseDate', 'authors', 'tags', 'isbn', 'links'),
  },
}

export const SERIES: Decoder = {
  ...{ id: 'text', libraryId: 'text', name: 'text', url: 'text', created: 'moment', lastModified: 'moment', fileLastModified: 'moment' },
  ...{
    booksCount: 'whole',
    booksReadCount: 'whole',
    booksUnreadCount: 'whole',
    booksInProgressCount: 'whole',
    deleted: 'flag',
    oneshot: 'flag',
  },
  metadata: {
    ...{ status: 'text', title: 'text', titleSort: 'text', summary: 'text', readingDirection: 'text', publisher: 'text', language: 'text' },
    ...{ ageRating: 'number?', totalBookCount: 'number?', genres: 'texts', tags: 'texts', sharingLabels: 'texts' },
    ...{
      links: [{ label: 'text', url: 'text' }],
      alternateTitles: [{ label: 'text', title: 'text' }],
      created: 'moment',
      lastModified: 'moment',
    },
    ...locks('status', 'title', 'titleSort', 'summary', 'readingDirection', 'publisher', 'ageRating', 'language', 'genres', 'tags'),
    ...locks('totalBookCount', 'sharingLabels', 'links', 'alternateTitles'),
  },
  booksMetadata: {
    ...{
      authors: 'people',
      tags: 'texts',
      releaseDate: 'day?',
      summary: 'text',
      summaryNumber: 'text',
      created: 'moment',
      lastModified: 'moment',
    },
  },
}

const SORT: Decoder = { sorted: 'flag', unsorted: 'flag', empty: 'flag' }

export const pageOf = (item: Decoder): Decoder => ({
  content: [item],
  pageable: { sort: SORT, pageNumber: 'whole', pageSize: 'whole', offset: 'whole', paged: 'flag', unpaged: 'flag' },
  ...{ sort: SORT, first: 'flag', last: 'flag', empty: 'flag', number: 'whole', numberOfElements: 'whole', size: 'whole' },
  ...{ totalElements: 'whole', totalPages: 'whole' },
})

export const LIBRARY: Decoder = {
  ...{
    id: 'text',
    name: 'text',
    root: 'text',
    scanInterval: 'text',
    scanDirectoryExclusions: 'texts',
    seriesCover: 'text',
    oneshotsDirectory: 'text?',
  },
  ...Object.fromEntries(
    [
      ...['importComicInfoBook', 'importComicInfoSeries', 'importComicInfoCollection', 'importComicInfoReadList'],
      ...['importComicInfoSeriesAppendVolume', 'importEpubBook', 'importEpubSeries', 'importMylarSeries', 'importLocalArtwork'],
      ...[
        'importBarcodeIsbn',
        'scanForceModifiedTime',
        'scanOnStartup',
        'scanCbx',
        'scanPdf',
        'scanEpub',
        'repairExtensions',
        'convertToCbz',
      ],
      ...['emptyTrashAfterScan', 'hashFiles', 'hashPages', 'hashKoreader', 'analyzeDimensions', 'unavailable'],
    ].map((name) => [name, 'flag' as const]),
  ),
}

export const USER: Decoder = {
  ...{ id: 'text', email: 'text', roles: 'texts', sharedAllLibraries: 'flag', sharedLibrariesIds: 'texts', labelsAllow: 'texts' },
  ...{ labelsExclude: 'texts', ageRestriction: 'object?' },
}

export const PAGE: Decoder = {
  ...{ number: 'whole', fileName: 'text', mediaType: 'text', width: 'number?', height: 'number?', sizeBytes: 'number?', size: 'text' },
}

export const COLLECTION: Decoder = {
  ...{ id: 'text', name: 'text', ordered: 'flag', seriesIds: 'texts', createdDate: 'moment', lastModifiedDate: 'moment', filtered: 'flag' },
}
export const READ_LIST: Decoder = {
  ...{ id: 'text', name: 'text', summary: 'text', ordered: 'flag', bookIds: 'texts', createdDate: 'moment', lastModifiedDate: 'moment' },
  filtered: 'flag',
}

export const PUBLICATION: Decoder = {
  ...{ context: 'text', links: [{ href: 'text', type: 'text' }], readingOrder: [{ href: 'text', type: 'text' }] },
  metadata: { title: 'text', identifier: 'text', modified: 'text', belongsTo: { series: [{ name: 'text' }] } },
}

const LOCATOR: Decoder = { href: 'text', type: 'text', locations: { totalProgression: 'number' } }
export const POSITIONS: Decoder = { total: 'whole', positions: [{ ...LOCATOR, locations: { position: 'whole', progression: 'number' } }] }
export const PROGRESSION: Decoder = { modified: 'moment', device: { id: 'text', name: 'text' }, locator: LOCATOR }

export const ACTIVITY: Decoder = {
  ...{
    userId: 'text?',
    email: 'text?',
    ip: 'text?',
    userAgent: 'text?',
    success: 'flag',
    error: 'text?',
    dateTime: 'moment',
    source: 'text?',
  },
}

const SETTING: Decoder = { configurationSource: 'any?', databaseSource: 'any?', effectiveValue: 'any?' }
export const SETTINGS: Decoder = {
  ...{ deleteEmptyCollections: 'flag', deleteEmptyReadLists: 'flag', rememberMeDurationDays: 'whole', thumbnailSize: 'text' },
  ...{ taskPoolSize: 'whole', serverPort: SETTING, serverContextPath: SETTING, koboProxy: 'flag' },
}

export const AUTHOR: Decoder = { name: 'text', role: 'text' }
