import type { Permission } from '#core/account/permission.ts'
import { refuse } from '#core/foundation/errors.ts'

/** Who sends the request: a verified user and what this credential of theirs may do. Every query of books and series takes it. */
export interface Caller {
  userId: string
  username: string
  /** Permissions of the role and of the user, narrowed by the API key if the request has one. */
  permissions: ReadonlySet<Permission>
  /** The kind of credential. */
  via: 'token' | 'cookie' | 'browser_session' | 'app_session' | 'api_key' | 'basic'
  /** Present for tokens, cookies and sessions of browsers and apps; logout revokes it. */
  sessionId?: string
  /** When this credential ends by itself, in milliseconds since the epoch; absent if it does not. */
  endsAt?: number
  /** The API key that the request sends. Not of an app session: that may not do what depends on this. */
  apiKeyId?: string
  /** The API key by which the caller has come, in a session of an app as well: its rules of what may be seen count beside the user's. */
  narrowedBy: string | null
}

/** Whether this credential has administrator rights. An administrator's API key with fewer permissions does not. */
export const isAdministrator = ({ permissions }: { permissions: ReadonlySet<string> }): boolean => permissions.has('system-admin')

/** Whose read progress the caller sees: their own, or without the permission nobody's, so that no book counts as begun. */
export const progressUserId = ({ userId, permissions }: Pick<Caller, 'userId' | 'permissions'>): string | null =>
  permissions.has('progress-read') ? userId : null

/** Callers give only permissions that they have, and change only users who have no others. @throws forbidden */
export function refuseBeyond(by: Caller | null, permissions: Iterable<Permission>): void {
  if (by === null) return
  const beyond = [...permissions].filter((permission) => !by.permissions.has(permission))
  if (beyond.length > 0)
    refuse('forbidden', `You do not have these permissions yourself: ${beyond.join(', ')}.`, { details: { permissions: beyond } })
}
