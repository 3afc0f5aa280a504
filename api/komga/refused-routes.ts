import Type from 'typebox'
import type { Who } from '#api/http/endpoint.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { refuse } from '#core/foundation/errors.ts'

const komgaEndpoint = komgaEndpointOf<object>()

const LIBRARIES = 'Libraries have other settings here; create, change and delete them at /api/v1/libraries.'
const FILES = 'This server never changes or deletes files of a library, and imports none: change the files, and scan the library.'
const HASHES = 'This server keeps no hashes of pages.'
const CLIENT_SETTINGS = "This server keeps no settings of apps; a user's own preferences are at /api/v1/user/preferences."

type Refused = readonly [method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET', path: string, who: Who, why: string]

/** What only Komga does, and who may do it there: others learn that they may not, as they do from Komga. */
const REFUSED: readonly Refused[] = [
  ['POST', 'libraries', 'system-admin', LIBRARIES],
  ['PUT', 'libraries/:libraryId', 'system-admin', LIBRARIES],
  ['PATCH', 'libraries/:libraryId', 'system-admin', LIBRARIES],
  ['DELETE', 'libraries/:libraryId', 'system-admin', LIBRARIES],
  ['POST', 'books/import', 'system-admin', FILES],
  ['DELETE', 'books/:bookId/file', 'system-admin', FILES],
  ['DELETE', 'series/:seriesId/file', 'system-admin', FILES],
  ['POST', 'transient-books', 'system-admin', FILES],
  ['POST', 'transient-books/:bookId/analyze', 'system-admin', FILES],
  ['GET', 'transient-books/:bookId/pages/:pageNumber', 'system-admin', FILES],
  ['PUT', 'page-hashes', 'system-admin', HASHES],
  ['POST', 'page-hashes/:sha256/delete-all', 'system-admin', HASHES],
  ['POST', 'page-hashes/:sha256/delete-match', 'system-admin', HASHES],
  ['PUT', 'announcements', 'system-admin', 'There are no announcements.'],
  ['PATCH', 'client-settings/global', 'system-admin', CLIENT_SETTINGS],
  ['DELETE', 'client-settings/global', 'system-admin', CLIENT_SETTINGS],
  ['PATCH', 'client-settings/user', 'user', CLIENT_SETTINGS],
  ['DELETE', 'client-settings/user', 'user', CLIENT_SETTINGS],
  ['DELETE', 'syncpoints/me', 'user', 'This server keeps no sync points.'],
]

export const komgaRefusedRoutes = REFUSED.map(([method, path, who, why]) =>
  komgaEndpoint({
    method,
    path: `/api/v1/${path}`,
    summary: `Refused: ${why}`,
    who,
    params: Type.Object(Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, Type.String({ maxLength: 200 })]))),
    status: 204,
    changes: null,
    run: () => refuse('method_not_allowed', why),
  }),
)
