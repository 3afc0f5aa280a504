import type { Permission, Role } from '#core/account/permission.ts'

/** Who asks: a verified user and what this credential of theirs may do. Every query of books and series takes it. */
export interface Caller {
  userId: string
  username: string
  role: Role
  /** Role and own permissions, narrowed by the API key where one was used. */
  permissions: ReadonlySet<Permission>
  /** How the caller proved it. */
  via: 'token' | 'cookie' | 'api_key' | 'basic'
  /** Present for tokens and cookies; logout revokes it. */
  sessionId?: string
}
