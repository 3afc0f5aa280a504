import type { Replay } from '#test/support/web-client-requests.ts'

export const PICTURES: Replay[] = [
  {
    doing: 'opens a shelf of books without covers',
    method: 'GET',
    path: '/books/{bookId}/thumbnail',
    headers: { accept: 'image/*' },
    needs: { type: 'image/jpeg', cache: /max-age=60/ },
  },
  {
    doing: 'and of series',
    method: 'GET',
    path: '/series/{bareSeriesId}/thumbnail',
    headers: { accept: 'image/*' },
    needs: { type: 'image/jpeg', cache: /max-age=60/ },
  },
  { doing: 'requests only real covers', method: 'GET', path: '/books/{bookId}/thumbnail', query: { placeholder: 'false' }, status: 404 },
  {
    doing: 'requests the cover of a book that does not exist',
    method: 'GET',
    path: '/books/00000000-0000-4000-8000-000000000000/thumbnail',
    status: 404,
  },
]

const progressionAt = (modified: string) => ({
  ...{ modified, device: { id: 'web', name: 'Browser' } },
  locator: { href: 'pages/2', type: 'image/jpeg', locations: { position: 2, 'x-fine': 7 } },
})

/** A client reports the page and the exact position in it by two requests, in any order. */
export const READING: Replay[] = [
  { doing: 'opens a book that was never read', method: 'GET', path: '/books/{pagedBookId}/progression', status: 204 },
  {
    doing: 'stores the place',
    ...{ method: 'PUT', path: '/books/{pagedBookId}/progression', status: 204 },
    body: progressionAt('2026-01-02T10:00:00Z'),
  },
  {
    doing: 'reports the same page a moment later',
    ...{ method: 'PUT', path: '/books/{pagedBookId}/progress', body: { currentPage: 2 } },
    needs: { currentPage: 2, completed: false, bookId: String },
  },
  {
    doing: 'opens the book again, at the exact position',
    ...{ method: 'GET', path: '/books/{pagedBookId}/progression' },
    needs: { modified: /^2026-01-02T10:00:00/, locator: { locations: { position: 2, 'x-fine': 7 } } },
  },
  {
    doing: 'sends the position of the same moment again',
    ...{ method: 'PUT', path: '/books/{pagedBookId}/progression', status: 204 },
    body: progressionAt('2026-01-02T10:00:00Z'),
  },
  {
    doing: 'sends a position that is older than the last',
    ...{ method: 'PUT', path: '/books/{pagedBookId}/progression', status: 409 },
    body: progressionAt('2026-01-02T09:59:59Z'),
  },
]

export const PERSONAL: Replay[] = [
  {
    doing: 'saves a preference',
    method: 'PUT',
    path: '/user/preferences/ui.theme',
    body: { value: 'dark' },
    needs: { key: 'ui.theme', value: 'dark', valueType: 'string', updatedAt: String },
  },
  {
    doing: 'saves several',
    method: 'PUT',
    path: '/user/preferences',
    body: { preferences: { 'reader.fit': 'width', 'reader.pages': 2 } },
    needs: { updated: 2, preferences: [{ key: 'reader.fit' }, { valueType: 'integer' }] },
  },
  {
    doing: 'reads them at the start',
    method: 'GET',
    path: '/user/preferences',
    needs: { preferences: [{ key: 'reader.fit' }, {}, { key: 'ui.theme' }] },
  },
  { doing: 'forgets one', method: 'DELETE', path: '/user/preferences/ui.theme', needs: { deleted: true, message: String } },
  { doing: 'chooses the folder of a library', method: 'GET', path: '/filesystem/drives', needs: Array },
  {
    doing: 'opens the page of the first start',
    method: 'GET',
    path: '/setup/status',
    needs: { registrationEnabled: false, setupRequired: false, hasUsers: true },
  },
  {
    doing: 'skips the settings',
    method: 'PATCH',
    path: '/setup/settings',
    body: { settings: {}, skipConfiguration: true },
    needs: { settingsConfigured: 0, message: String },
  },
]
