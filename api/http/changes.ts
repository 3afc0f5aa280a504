import type { Route } from '#api/http/endpoint.ts'
import type { Permission } from '#core/account/permission.ts'

/** What each permission allows to change; null for those that only allow reading. */
const CHANGED: Readonly<Record<Permission, string | null>> = {
  'libraries-read': null,
  'series-read': null,
  'books-read': null,
  'pages-read': null,
  'progress-read': null,
  'progress-write': 'what belongs to the user: progress, ratings, wanted series, exports, preferences, plugins',
  'api-keys-read': null,
  'api-keys-write': 'API keys',
  'api-keys-delete': 'API keys',
  'system-health': null,
  'libraries-write': 'libraries',
  'scans-start': 'scans',
  'series-write': 'series and collections',
  'series-delete': 'series and collections',
  'books-write': 'books and read lists',
  'books-delete': 'books and read lists',
  'tasks-read': null,
  'tasks-write': 'tasks',
  'libraries-delete': 'libraries',
  'users-read': null,
  'users-write': 'users',
  'users-delete': 'users',
  'plugins-manage': 'plugins',
  'system-admin': 'the server',
}

/** Permissions that allow no change. */
export const READING: readonly Permission[] = (Object.keys(CHANGED) as Permission[]).filter((permission) => CHANGED[permission] === null)

/**
 * What an operation changes; null if nothing. The one table of all operations: their method, their permissions, and what a route says about itself. Caches,
 * sessions of apps and the time at which a key was used are not meant.
 * @throws Error if it changes something, and neither a permission nor the route says what: then a permission that reads would allow it
 */
export function changesOf({ method, path, allow, changes }: Route<never>): string | null {
  if (changes === null || (changes === undefined && method === 'GET')) return null
  const needed = allow.who === 'public' || allow.who === 'user' ? null : [allow.who, ...(allow.also ?? [])]
  const writing = needed?.find((permission) => CHANGED[permission] !== null)
  const what = changes ?? (writing && CHANGED[writing])
  if (what == null || (needed !== null && writing === undefined))
    throw new Error(`${method} ${path}: it changes something, so it needs a permission that allows changes; or say \`changes: null\``)
  return what
}
