/** The permissions of the API and the permissions of each role. Spelled `libraries-read` on the wire. */
const READER = [
  'libraries-read',
  'series-read',
  'books-read',
  'pages-read',
  'progress-read',
  'progress-write',
  'api-keys-read',
  'api-keys-write',
  'api-keys-delete',
  'system-health',
] as const
const MAINTAINER = [
  'libraries-write',
  'scans-start',
  'series-write',
  'series-delete',
  'books-write',
  'books-delete',
  'tasks-read',
  'tasks-write',
] as const
const ADMIN = ['libraries-delete', 'users-read', 'users-write', 'users-delete', 'plugins-manage', 'system-admin'] as const

export const PERMISSIONS = [...READER, ...MAINTAINER, ...ADMIN] as const
export type Permission = (typeof PERMISSIONS)[number]

export const ROLES = ['reader', 'maintainer', 'admin'] as const
export type Role = (typeof ROLES)[number]

export const ROLE_PERMISSIONS: Record<Role, readonly Permission[]> = {
  reader: READER,
  maintainer: [...READER, ...MAINTAINER],
  admin: PERMISSIONS,
}

/** With those that others include: users and keys with `libraries-write` are older than `scans-start`. */
export const withIncluded = (permissions: readonly Permission[]): ReadonlySet<Permission> =>
  new Set(permissions.includes('libraries-write') ? [...permissions, 'scans-start'] : permissions)

/** Accepts `libraries:read`, `libraries-read` and `LibrariesRead`; null when it names no permission. */
export function findPermission(text: string): Permission | null {
  const kebab = text
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .replace(/[:_]/g, '-')
    .toLowerCase()
  return PERMISSIONS.find((permission) => permission === kebab) ?? null
}

/** The same number for equal permissions, and another for others. */
export const permissionKey = (permissions: ReadonlySet<string>): number =>
  PERMISSIONS.reduce((key, permission, index) => (permissions.has(permission) ? key | (1 << index) : key), 0)
