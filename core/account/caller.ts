import type { Permission } from '#core/account/permission.ts'

/** Who asks: a verified user and what this credential of theirs may do. Every query of books and series takes it. */
export interface Caller {
  userId: string
  username: string
  /** Role and own permissions, narrowed by the API key where one was used. */
  permissions: ReadonlySet<Permission>
  /** How the caller proved it. */
  via: 'token' | 'cookie' | 'app_session' | 'api_key' | 'basic'
  /** Present for tokens, cookies and sessions of apps; logout revokes it. */
  sessionId?: string
}

/** Whether this credential may do what is for administrators alone. One of an administrator that was given less may not. */
export const isAdministrator = ({ permissions }: { permissions: ReadonlySet<string> }): boolean => permissions.has('system-admin')

/** Whose reading the caller is shown: their own, or without the permission for it nobody's, so that nothing is begun. */
export const shownReader = ({ userId, permissions }: Pick<Caller, 'userId' | 'permissions'>): string | null =>
  permissions.has('progress-read') ? userId : null
