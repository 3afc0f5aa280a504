import { komgaRefusedRoutes } from '#api/komga/refused-routes.ts'

/** What cannot succeed in the walk over all routes, and how it is refused. */
export const REFUSED: Record<string, number> = {
  ...Object.fromEntries(komgaRefusedRoutes.map(({ method, path }) => [`${method} ${path}`, 405])),
  // A comic has no files of its own, and is neither an EPUB nor a PDF.
  'GET /api/v1/books/:bookId/resource/:resourcePath*': 422,
  'GET /opds/v2/books/:bookId/resource/:resourcePath*': 422,
  ...Object.fromEntries(['epub', 'pdf'].map((kind) => [`GET /:prefix/api/v1/books/:bookId/manifest/${kind}`, 400])),
  'GET /:prefix/api/v1/books/:bookId/resource/:resourcePath*': 400,
  // A scan of its library has been started before.
  'POST /api/v1/series/:seriesId/scan': 409,
  // No file is missing, and none has changed without its date.
  ...{ 'POST /api/v1/books/bulk/purge-deleted': 409, 'DELETE /api/v1/books/:bookId/purge-deleted': 409 },
  'POST /api/v1/books/:bookId/accept-content': 409,
  // Accounts are not made by e-readers, and no plugin has named a picture.
  ...{ 'POST /koreader/users/create': 403, 'GET /api/v1/plugins/:pluginId/pictures/:token': 404 },
  // Nobody has begun to sign in anywhere: a page says so.
  'GET /api/v1/user/plugins/oauth/callback': 400,
  'GET /opds': 302,
  // It is the first of its series, and alone on its read list.
  'GET /:prefix/api/v1/books/:bookId/previous': 404,
  ...Object.fromEntries(['next', 'previous'].map((way) => [`GET /:prefix/api/v1/readlists/:readListId/books/:bookId/${way}`, 404])),
  'GET /:prefix/actuator/metrics/:name': 404,
  'PATCH /:prefix/api/v1/settings': 400,
  'PATCH /:prefix/api/v1/users/me/password': 403,
  'GET /:prefix/api/v1/users/:userId/authentication-activity/latest': 404,
  // Nobody has switched it on.
  'POST /api/v1/auth/register': 403,
  // The right one would end the session that walks.
  'PUT /api/v1/user/password': 401,
  'POST /api/v1/auth/change-password': 404,
  'POST /api/v1/user/plugins/:pluginId/sync': 409,
  'GET /api/v1/user/plugins/:pluginId/sync/status': 404,
  // Of two of the books there are no files; series-download.test.ts looks at one that is whole.
  'GET /api/v1/series/:seriesId/download': 409,
  'GET /:prefix/api/v1/series/:seriesId/file': 404,
}
