/**
 * The addresses of all pages, as patterns of wouter, relative to the address of the server. The build passes them to the server, which
 * answers other addresses with the status 404, and no address of the API may begin like one of them.
 */
export const ADDRESSES = [
  '/',
  '/sign-in',
  '/register',
  '/setup',
  '/libraries',
  '/libraries/:libraryId',
  '/series',
  '/series/:seriesId',
  '/books',
  '/books/:bookId',
  '/books/:bookId/read',
  '/search',
  '/views/:viewId',
  '/collections',
  '/collections/:collectionId',
  '/read-lists',
  '/read-lists/:readListId',
  '/want-to-read',
  '/people',
  '/tags',
  '/history',
  '/recommendations',
  '/work',
  '/profile',
  '/profile/:section',
  '/admin',
  '/admin/:section',
  '/admin/:section/:id',
] as const

export type Address = (typeof ADDRESSES)[number]
