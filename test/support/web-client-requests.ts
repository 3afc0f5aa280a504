/**
 * A request as an existing web client of this API sends it, and the members of the response that the client requires. `{name}` in a path or body
 * is replaced by the id of an earlier result.
 */
export interface Replay {
  /** The action of the user. */
  doing: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: unknown
  status?: number
  /** Compared with the response. */
  needs?: unknown
}

export const LINK = { source: 'myanimelist', sourceName: 'myanimelist', url: 'https://example.org/manga/1', externalId: '1' }
const RATING = { source: 'anilist', sourceName: 'anilist', rating: 87.5, voteCount: 12 }
const EXTERNAL_ID = { source: 'custom', sourceName: 'custom', externalId: 'x-1' }

export const LINKS_AND_RATINGS: Replay[] = [
  {
    doing: 'adds a link to a series',
    ...{ method: 'POST', path: '/series/{seriesId}/external-links', status: 201 },
    body: { sourceName: 'myanimelist', url: LINK.url, externalId: '1' },
    needs: { ...LINK, id: String, seriesId: String, createdAt: String, updatedAt: String },
  },
  {
    doing: 'adds it again, in the format of older versions',
    ...{ method: 'POST', path: '/series/{seriesId}/external-links' },
    body: { source_name: 'myanimelist', url: LINK.url, external_id: '1' },
    needs: LINK,
  },
  { doing: 'opens the links', method: 'GET', path: '/series/{seriesId}/external-links', needs: { links: [LINK] } },
  {
    doing: 'adds a rating',
    ...{ method: 'POST', path: '/series/{seriesId}/external-ratings', status: 201 },
    body: { sourceName: 'anilist', rating: 87.5, voteCount: 12 },
    needs: RATING,
  },
  { doing: 'opens the ratings', method: 'GET', path: '/series/{seriesId}/external-ratings', needs: { ratings: [RATING] } },
  {
    doing: 'adds an identifier',
    ...{ method: 'POST', path: '/series/{seriesId}/external-ids', status: 201 },
    body: { source: 'custom', external_id: 'x-1', externalUrl: null },
    needs: EXTERNAL_ID,
  },
  {
    doing: 'opens the page of the series',
    ...{ method: 'GET', path: '/series/{seriesId}', query: { full: 'true' } },
    needs: { externalLinks: [LINK], externalRatings: [RATING], externalIds: [EXTERNAL_ID], metadata: { locks: { summary: false } } },
  },
  {
    doing: 'opens all metadata of the series',
    ...{ method: 'GET', path: '/series/{seriesId}/metadata' },
    needs: { externalLinks: [LINK], externalRatings: [RATING] },
  },
  {
    doing: 'browses series in full',
    ...{
      method: 'POST',
      path: '/series/list',
      query: { page: '0', pageSize: '20', sort: 'name,asc', full: 'true' },
      body: { condition: null },
    },
    needs: { page: 1, data: [{ externalLinks: [LINK] }] },
  },
  {
    doing: 'adds a link to a book',
    ...{ method: 'POST', path: '/books/{bookId}/external-links', status: 201 },
    body: { sourceName: 'myanimelist', url: LINK.url },
    needs: { sourceName: 'myanimelist', bookId: String },
  },
  {
    doing: 'opens the dialog of a link that names no service',
    method: 'POST',
    path: '/books/{bookId}/external-links',
    body: { url: LINK.url },
    status: 400,
  },
  { doing: 'deletes the link', method: 'DELETE', path: '/series/{seriesId}/external-links/myanimelist', status: 204 },
]

export const LISTS: Replay[] = [
  {
    doing: 'opens the first page as page 0',
    method: 'GET',
    path: '/books',
    query: { page: '0', pageSize: '1' },
    needs: { page: 1, data: [{}], links: { prev: null } },
  },
  { doing: 'opens page 0 of the list of series', method: 'GET', path: '/series', query: { page: '0' }, needs: { page: 1 } },
  {
    doing: 'opens the errors, whose pages are counted from 0',
    method: 'GET',
    path: '/books/errors',
    query: { page: '0' },
    needs: { page: 0 },
  },
  { doing: 'requests a page before the first', method: 'GET', path: '/books', query: { page: '-1' }, status: 400 },
  {
    doing: 'jumps to a letter',
    ...{ method: 'POST', path: '/series/list/alphabetical-groups', body: {} },
    needs: [{ group: 'b', count: 1 }],
  },
  {
    doing: 'waits for releases',
    method: 'GET',
    path: '/release-sources/applicability',
    query: { libraryId: '{libraryId}' },
    needs: { applicable: false, pluginDisplayNames: [] },
  },
  { doing: 'opens the page of the sign-in', method: 'GET', path: '/auth/oidc/providers', needs: { enabled: false, providers: [] } },
]

export const FORMS: Replay[] = [
  {
    doing: 'opens a book',
    method: 'GET',
    path: '/books/{bookId}',
    needs: {
      book: { id: String },
      metadata: { id: String, bookId: String, series: 'Berserk', pageCount: Number, writers: [], number: null },
    },
  },
  { doing: 'numbers it between two others', method: 'PATCH', path: '/books/{bookId}', body: { number: 2.5 }, needs: { number: 2.5 } },
  { doing: 'sees the number', method: 'GET', path: '/books/{bookId}', needs: { metadata: { number: '2.5' } } },
  {
    doing: 'saves the form of a book: the metadata',
    ...{ method: 'PATCH', path: '/books/{bookId}/metadata' },
    body: {
      authors: [
        { name: 'Tia', role: 'translator', sortName: null },
        { name: 'Ida', role: 'author' },
      ],
      ...{ translator: null, writer: '', summary: 'New', publisher: null, year: null, customMetadata: null },
    },
    needs: {
      translator: 'Tia',
      summary: 'New',
      locks: { authorsJsonLock: true, summaryLock: true, publisherLock: false, translatorLock: false },
    },
  },
  {
    doing: 'saves the locks, in the spelling of forms',
    ...{ method: 'PUT', path: '/books/{bookId}/metadata/locks' },
    body: { summary: false, authorsJson: false, publisherLock: true, seriesLock: true, titleSort: null, tags: [] },
    needs: { summaryLock: false, authorsJsonLock: false, publisherLock: true },
  },
  { doing: 'sees the author among the writers', method: 'GET', path: '/books/{bookId}', needs: { metadata: { writers: ['Ida'] } } },
  {
    doing: 'saves the form again',
    method: 'PATCH',
    path: '/books/{bookId}/metadata',
    body: { summary: 'New', translator: 'Tia' },
    needs: { locks: { summaryLock: false, translatorLock: false } },
  },
  {
    doing: 'saves the form of a series: the metadata',
    ...{
      method: 'PATCH',
      path: '/series/{seriesId}/metadata',
      body: { title: 'Berserk', summary: 'Swords', year: 1989, language: null, authors: [] },
    },
    needs: { summary: 'Swords', year: 1989 },
  },
  {
    doing: 'then the locks',
    ...{
      method: 'PUT',
      path: '/series/{seriesId}/metadata/locks',
      body: { summaryLock: true, year: false, authorsJsonLock: false, externalRatings: true },
    },
    needs: { summary: true, year: false, title: false },
  },
  {
    doing: 'then the genres',
    method: 'PUT',
    path: '/series/{seriesId}/genres',
    body: { genres: ['Action'] },
    needs: { genres: [{ name: 'Action' }] },
  },
  {
    doing: 'adds a further title',
    method: 'POST',
    path: '/series/{seriesId}/alternate-titles',
    body: { label: 'Native', title: 'ベルセルク' },
    status: 201,
    needs: { label: 'Native' },
  },
  {
    doing: 'finds the series of a library by genre',
    ...{ method: 'GET', path: '/libraries/{libraryId}/series', query: { genres: 'Action', libraryId: '{libraryId}', sort: 'name,asc' } },
    needs: { total: 1, data: [{ title: 'Berserk' }] },
  },
  {
    doing: 'finds none of another genre',
    ...{ method: 'GET', path: '/libraries/{libraryId}/series', query: { genres: 'Action,Romance', tags: '' } },
    needs: { total: 0 },
  },
  {
    doing: 'opens the start page of a library',
    ...{ method: 'GET', path: '/libraries/{libraryId}/series/recently-added', query: { libraryId: '{libraryId}', limit: '10' } },
    needs: [{ title: 'Berserk' }],
  },
  {
    doing: 'resets the series',
    method: 'DELETE',
    path: '/series/{seriesId}/metadata',
    needs: { alternateTitles: [], externalIds: [], summary: null, genres: [] },
  },
]

export const PLUGINS: Replay[] = [
  {
    doing: 'opens the page of plugins',
    method: 'GET',
    path: '/admin/plugins',
    needs: { plugins: [{ command: '', args: [], env: {} }] },
  },
  {
    doing: 'opens the settings of the one with a configuration',
    ...{ method: 'GET', path: '/admin/plugins/{configuredId}' },
    needs: {
      manifest: {
        configSchema: { type: 'object', fields: [{ key: 'region', label: 'Region', type: 'string', required: true, default: 'jp' }] },
      },
    },
  },
  {
    doing: 'saves its settings',
    ...{ method: 'PATCH', path: '/admin/plugins/{pluginId}' },
    body: {
      permissions: ['metadata:write:*'],
      scopes: ['series:detail', 'series:bulk'],
      internalConfig: { searchResultsLimit: 7 },
      command: '',
      args: [],
      env: [],
      libraryIds: null,
      useExistingExternalId: null,
    },
    needs: {
      libraryIds: [],
      useExistingExternalId: true,
      internalConfig: { searchResultsLimit: 7 },
      leftAlone: ['permissions', 'scopes'],
      command: '',
    },
  },
  {
    doing: 'tests it',
    ...{ method: 'POST', path: '/admin/plugins/{pluginId}/test' },
    needs: { success: true, message: String, manifest: { name: String, version: String, requiredCredentials: [] } },
  },
  {
    doing: 'creates one by its command',
    ...{
      method: 'POST',
      path: '/admin/plugins',
      status: 415,
      body: { name: 'mangabaka', displayName: 'MangaBaka', command: 'npx', args: ['-y', 'plugin'] },
    },
    needs: { error: 'unsupported_media_type', message: /installed from its package: send the \.plugin file/ },
  },
  {
    doing: 'searches by hand',
    ...{
      method: 'POST',
      path: '/plugins/{pluginId}/execute',
      body: { action: { metadata: { action: 'search', contentType: 'series', params: { query: 'Berserk' } } } },
    },
    needs: {
      success: true,
      result: {
        results: [{ externalId: 'b1', title: 'Berserk', relevanceScore: 1, alternateTitles: ['Beruseruku'], year: 1989, coverUrl: null }],
      },
    },
  },
  {
    doing: 'starts an automatic match',
    ...{ method: 'POST', path: '/series/{seriesId}/metadata/auto-match', body: { pluginId: '{pluginId}' } },
    needs: { success: true, matchedResult: { externalId: 'b1', relevanceScore: 1, alternateTitles: ['Beruseruku'] } },
  },
  ...(['book:bulk', 'library:scan'] as const).map(
    (scope): Replay => ({
      doing: `opens the menu of ${scope}`,
      method: 'GET',
      path: '/plugins/actions',
      query: { scope },
      needs: { scope, actions: [] },
    }),
  ),
  {
    doing: 'opens the menu of a series',
    method: 'GET',
    path: '/plugins/actions',
    query: { scope: 'series:detail' },
    needs: { actions: [{ pluginId: String, actionType: 'metadata_search', capabilities: { metadataProvider: ['series'] } }] },
  },
  { doing: 'opens a menu that does not exist', method: 'GET', path: '/plugins/actions', query: { scope: 'kitchen' }, status: 400 },
]

export const JOB = {
  ...{ type: 'metadata_refresh', provider: '{pluginId}', scope: 'series_and_books', fieldGroups: ['status'], extraFields: [] },
  ...{
    bookFieldGroups: ['descriptive'],
    bookExtraFields: ['subjects'],
    existingSourceIdsOnly: false,
    skipRecentlySyncedWithinS: 0,
    maxConcurrency: 4,
  },
}
export const LIBRARIES: Replay[] = [
  {
    doing: 'saves the form of a library',
    ...{ method: 'PATCH', path: '/libraries/{libraryId}' },
    body: { allowedFormats: ['CBZ', 'Cbr', 'epub'], bookStrategy: 'series_name', numberStrategy: 'smart', bookConfig: null },
    needs: { allowedFormats: ['cbz', 'cbr', 'epub'], bookStrategy: 'series_name', numberStrategy: 'smart' },
  },
  ...['filename', 'metadata_first', 'smart', 'series_name', 'custom'].map(
    (bookStrategy): Replay => ({
      doing: `chooses ${bookStrategy}`,
      method: 'PATCH',
      path: '/libraries/{libraryId}',
      body: { bookStrategy },
      needs: { bookStrategy },
    }),
  ),
  ...['file_order', 'metadata', 'filename', 'smart'].map(
    (numberStrategy): Replay => ({
      doing: `chooses ${numberStrategy}`,
      method: 'PATCH',
      path: '/libraries/{libraryId}',
      body: { numberStrategy },
      needs: { numberStrategy },
    }),
  ),
  {
    doing: 'names a format that does not exist',
    method: 'PATCH',
    path: '/libraries/{libraryId}',
    body: { allowedFormats: ['EXE'] },
    status: 422,
  },
  {
    doing: 'adds a job',
    ...{
      method: 'POST',
      path: '/libraries/{libraryId}/jobs',
      status: 201,
      body: { name: 'Nightly', cronSchedule: '0 3 * * *', enabled: false, config: JOB },
    },
    needs: { config: { bookFieldGroups: ['descriptive'], bookExtraFields: ['subjects'], maxConcurrency: 4 } },
  },
]
