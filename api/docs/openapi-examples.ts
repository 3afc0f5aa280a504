/** A valid request and, optionally, its answer. */
export interface Example {
  /** Path and query parameters by name. */
  parameters?: Readonly<Record<string, string | number | boolean>>
  body?: unknown
  status: number
  answer?: unknown
}

/** The ids in the examples. */
export const EXAMPLE_IDS = {
  library: '01991f3a-51c2-7d10-8a4e-0c5a7f3b1d20',
  series: '01991f3a-6b07-7c44-9b1f-5d2e8c7a4f31',
  book: '01991f3a-7f5e-7a92-8e63-9a1b4c6d2e53',
  user: '01991f39-0d11-7b28-a5c7-3e9f1a2b4c64',
  record: '01991f3b-4e20-7f05-b6d8-7c1a9e3f5b75',
  task: '01991f3b-9d43-7e61-8f20-1b4d6a8c0e86',
} as const
/** The folder of the example library. */
export const EXAMPLE_FOLDER = '/srv/media/Comics'

const { library, series, book, user, record, task } = EXAMPLE_IDS
const MADE = '2026-03-01T18:20:11.000Z'
const CHANGED = '2026-03-02T07:41:30.000Z'
const times = { createdAt: MADE, updatedAt: MADE }

const BOOK = {
  id: book,
  libraryId: library,
  libraryName: 'Comics',
  seriesId: series,
  seriesName: 'Saga',
  title: 'Saga 1',
  titleSort: null,
  filePath: 'Saga/Saga 1.cbz',
  fileFormat: 'cbz',
  fileSize: 48_211_904,
  fileHash: '9f2b5c1e7a40d3866cb1f0a9e84d2375b6c8e19a0f47d25be3618c94a7d05f12',
  readerHash: '5d41402abc4b2a76b9719d911017c592',
  pageCount: 44,
  number: 1,
  numberLabel: '1',
  volume: null,
  chapter: null,
  analyzed: true,
  analysisError: null,
  deleted: false,
  missing: null,
  readProgress: null,
  readCount: 0,
  lastReadAt: null,
  readingDirection: 'ltr',
  language: 'en',
  cover: null,
  ...times,
}
const SERIES = {
  id: series,
  libraryId: library,
  libraryName: 'Comics',
  title: 'Saga',
  titleSort: null,
  summary: null,
  publisher: 'Image',
  year: 2012,
  path: 'Saga',
  bookCount: 54,
  unreadCount: 42,
  localMaxVolume: null,
  localMaxChapter: null,
  volumesOwned: null,
  hasCustomCover: false,
  selectedCoverSource: null,
  language: 'en',
  cover: null,
  ...times,
}
const PROGRESS = {
  id: record,
  userId: user,
  bookId: book,
  currentPage: 12,
  progressPercentage: 0.27,
  completed: false,
  startedAt: MADE,
  updatedAt: CHANGED,
  completedAt: null,
}
const ME = {
  id: user,
  username: 'ada',
  email: 'ada@example.org',
  role: 'admin',
  emailVerified: true,
  permissions: ['libraries-read', 'series-read', 'books-read'],
}
const pageOf = (path: string, entries: readonly unknown[], total: number) => {
  const link = (page: number) => `${path}?page=${page}&pageSize=${entries.length}`
  const links = { self: link(1), first: link(1), last: link(total), next: link(2), prev: null }
  return { data: entries, links, page: 1, pageSize: entries.length, total, totalPages: total }
}

/** Examples by operationId. Tests send each of them to a server, so that every request is accepted and every answer has the right shape. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  login: {
    body: { username: 'ada', password: 'correct horse 1' },
    status: 200,
    answer: { accessToken: 'eyJhbGciOiJIUzI1NiJ9…', refreshToken: 'q3v…', tokenType: 'Bearer', expiresIn: 3600, user: ME },
  },
  getMe: { status: 200 },
  createApiKey: {
    body: { name: 'Panels on the iPad', permissions: ['libraries-read', 'series-read', 'books-read', 'pages-read'] },
    status: 201,
  },
  createLibrary: { body: { name: 'Comics', path: EXAMPLE_FOLDER, bookStrategy: 'smart' }, status: 201 },
  scanLibrary: {
    parameters: { libraryId: library, mode: 'normal' },
    status: 202,
    answer: {
      libraryId: library,
      taskId: task,
      mode: 'normal',
      status: 'pending',
      filesTotal: 0,
      filesProcessed: 0,
      booksFound: 0,
      seriesFound: 0,
      pendingAnalysis: 0,
      errors: [],
      startedAt: MADE,
      completedAt: null,
    },
  },
  listBooks: { parameters: { pageSize: 1, sort: 'title,asc' }, status: 200, answer: pageOf('/api/v1/books', [BOOK], 54) },
  filterBooks: {
    parameters: { pageSize: 1 },
    body: {
      condition: { allOf: [{ seriesId: { operator: 'is', value: series } }, { readStatus: { operator: 'is', value: 'unread' } }] },
      fullTextSearch: 'saga',
    },
    status: 200,
  },
  getBook: { parameters: { bookId: book }, status: 200 },
  patchBookMetadata: {
    parameters: { bookId: book },
    body: { summary: 'Two soldiers from opposite sides of a war fall in love.', year: 2012, writer: 'Brian K. Vaughan', imprint: null },
    status: 200,
  },
  putBookProgress: { parameters: { bookId: book }, body: { currentPage: 12 }, status: 200, answer: PROGRESS },
  markBookRead: {
    parameters: { bookId: book },
    status: 200,
  },
  listSeries: { parameters: { pageSize: 1 }, status: 200, answer: pageOf('/api/v1/series', [SERIES], 310) },
  searchSeries: { body: { query: 'saga' }, status: 200 },
  putSeriesRating: {
    parameters: { seriesId: series },
    body: { rating: 90, notes: 'Again, one day.' },
    status: 201,
    answer: { id: record, userId: user, seriesId: series, rating: 90, notes: 'Again, one day.', ...times },
  },
  createCollection: {
    body: { name: 'Space', seriesIds: [series] },
    status: 201,
    answer: { id: record, name: 'Space', summary: null, ordered: false, seriesCount: 1, cover: null, ...times },
  },
  createReadList: {
    body: { name: 'Where to begin', bookIds: [book] },
    status: 201,
  },
  putSetting: {
    parameters: { key: 'application.name' },
    body: { value: 'Our library', changeReason: 'The name of our club' },
    status: 200,
  },
}
