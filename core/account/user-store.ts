import type { Knex } from 'knex'
import type { SharingGrant } from '#core/account/access.ts'
import type { Permission, Role } from '#core/account/permission.ts'
import type { User } from '#core/account/user.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { countRows } from '#core/database/select.ts'
import { isUniqueViolation } from '#core/database/unique-violation.ts'
import { announceAccess } from '#core/events/event-store.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { boundMarks, cutText } from '#core/foundation/text.ts'

const COLUMNS = ['id', 'username', 'email', 'role', 'permissions', 'is_active', 'last_login_at', 'created_at', 'updated_at'] as const
/** One more than the length of the longest address, so that a truncated name matches no user. */
const LOGIN_LENGTH_MAX = 255

interface UserRow {
  id: string
  username: string
  email: string
  role: Role
  permissions: Permission[]
  is_active: boolean
  last_login_at: Date | null
  created_at: Date
  updated_at: Date
}

/** A user with the hash of the password; used inside core/account only. */
interface UserWithHash {
  user: User
  passwordHash: string
}

export interface UserFields {
  username: string
  email: string
  passwordHash: string
  role: Role
  permissions: Permission[]
  isActive: boolean
}

/** Which rows `list` returns. */
export interface UserFilter {
  role?: Role
  /** Name of a sharing tag that the user has a grant for. */
  sharingTag?: string
  sharingTagMode?: 'allow' | 'deny'
}

export function readUser(row: UserRow): User {
  return {
    id: row.id,
    username: row.username,
    email: row.email,
    role: row.role,
    permissions: row.permissions,
    isActive: row.is_active,
    lastLoginAt: row.last_login_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

export async function hasUsers(database: Knex): Promise<boolean> {
  return (await database('users').first('id')) !== undefined
}

export async function findUser(database: Knex, id: string): Promise<User | null> {
  const row = await database<UserRow>('users')
    .first(...COLUMNS)
    .where({ id })
  return row ? readUser(row) : null
}

export async function findUserWithHash(database: Knex, id: string): Promise<UserWithHash | null> {
  const row = await database('users').first('*').where({ id })
  return row ? { user: readUser(row), passwordHash: row.password_hash } : null
}

/** Finds by user name or e-mail address, ignoring case. */
export async function findUserByLogin(database: Knex, login: string): Promise<UserWithHash | null> {
  return (await findLogin(database, login)).found
}

/**
 * Finds by user name or e-mail address, ignoring case, and returns a key that is the same for every text that names this
 * account, whether it exists or not. PostgreSQL folds the case for both, so texts that match the same user share the key.
 */
export async function findLogin(database: Knex, typed: string): Promise<{ found: UserWithHash | null; account: string }> {
  // Bodies of requests are normalized like this already; headers and command lines are not. No name is longer, and a recorded guess stays
  // small; PostgreSQL stores no NUL.
  const login = cutText(boundMarks(typed), LOGIN_LENGTH_MAX).replaceAll('\0', '\ufffd')
  const column = login.includes('@') ? 'email' : 'username'
  const [row] = await database
    .from(database.raw('(SELECT lower(?) AS folded) AS typed', [login]))
    .leftJoin('users', (join) => join.on(database.raw('lower(??) = typed.folded', [`users.${column}`])))
    .select('typed.folded', 'users.*')
  if (row.id === null) return { found: null, account: `name ${row.folded}` }
  return { found: { user: readUser(row), passwordHash: row.password_hash }, account: `user ${row.id}` }
}

export async function listUsers(
  database: Knex,
  { filter, offset, limit }: { filter: UserFilter; offset: number; limit: number },
): Promise<{ items: User[]; total: number }> {
  const wanted = database('users').modify((query) => {
    if (filter.role) query.where('users.role', filter.role)
    if (filter.sharingTag === undefined && filter.sharingTagMode === undefined) return
    query.whereExists((grants) => {
      grants
        .from('user_sharing_grants AS g')
        .join('sharing_tags AS t', 't.id', 'g.sharing_tag_id')
        .select(database.raw('1'))
        .whereRaw('g.user_id = users.id')
      if (filter.sharingTag !== undefined) grants.whereRaw('lower(t.name) = lower(?)', [filter.sharingTag])
      if (filter.sharingTagMode !== undefined) grants.where('g.access_mode', filter.sharingTagMode)
    })
  })
  const total = await countRows(wanted.clone())
  const rows: UserRow[] = await wanted.select(COLUMNS).orderByRaw('lower(username), id').offset(offset).limit(limit)
  return { items: rows.map(readUser), total }
}

/** Whether there may be series that the viewer does not see: with any grant or rule, and for an account or a key that is not there any more. */
export async function isRestricted(database: Knex, { userId, narrowedBy }: Viewer): Promise<boolean> {
  const free = database('users')
    .where({ id: userId, is_active: true })
    .whereNotExists(database('user_sharing_grants').where('user_id', userId))
    .whereNotExists(database('access_rules').whereIn('viewer_id', [userId, narrowedBy ?? userId]))
  // A key that was deleted has taken its rule along.
  if (narrowedBy !== null) free.whereExists(database('api_keys').where('id', narrowedBy))
  return (await free.first('id')) === undefined
}

/** Oldest grant first. */
export async function listSharingGrants(database: Knex, userId: string): Promise<SharingGrant[]> {
  const rows: (Omit<SharingGrant, 'createdAt'> & { createdAt: Date })[] = await database('user_sharing_grants AS g')
    .join('sharing_tags AS t', 't.id', 'g.sharing_tag_id')
    .where('g.user_id', userId)
    .orderBy(['g.created_at', 'g.id'])
    .select({
      id: 'g.id',
      sharingTagId: 'g.sharing_tag_id',
      sharingTagName: 't.name',
      accessMode: 'g.access_mode',
      createdAt: 'g.created_at',
    })
  return rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }))
}

/** A user whom nobody else changes until the end of the transaction. */
export async function lockUser(trx: Knex, id: string): Promise<User | null> {
  const row = await trx<UserRow>('users')
    .first(...COLUMNS)
    .where({ id })
    .forNoKeyUpdate()
  return row ? readUser(row) : null
}

/** Announces that what users see has changed. Also marks them as changed: answers that are being sent to them end (api/http/open-answers.ts). */
export async function announceGrants(trx: Knex.Transaction, userIds: readonly string[]): Promise<void> {
  await trx('users')
    .whereRaw('id = ANY(CAST(? AS uuid[]))', [[...userIds]])
    .update({ updated_at: trx.fn.now() })
  await announceAccess(trx, userIds)
}

/** @throws conflict when the name or the address is taken */
export async function insertUser(database: Knex, fields: UserFields): Promise<User> {
  const [row] = await database<UserRow>('users').insert(toRow(fields), COLUMNS).catch(refuseTaken)
  return readUser(row as UserRow)
}

/**
 * Inserts the user only when there is none, however many requests try at once.
 * @returns null when a user existed already
 */
export async function insertFirstUser(database: Knex, fields: UserFields): Promise<User | null> {
  return database.transaction(async (transaction) => {
    await transaction.raw('LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE')
    return (await hasUsers(transaction)) ? null : insertUser(transaction, fields)
  })
}

/**
 * Changes a user. The callback receives the row under a lock and returns the fields to change, so nothing changes between check and write.
 * @param follow changes dependent rows in the same transaction; receives the changed user
 * @returns what `follow` returns
 * @throws not_found, conflict (name or address taken; no active administrator would be left)
 */
export async function updateUser<T>(
  database: Knex,
  id: string,
  decide: (current: User, passwordHash: string) => Partial<UserFields>,
  follow: (transaction: Knex.Transaction, after: User) => Promise<T>,
): Promise<T> {
  return database.transaction(async (transaction) => {
    const admins = await lockAdmins(transaction)
    const row = await transaction<UserRow & { password_hash: string }>('users')
      .first(...COLUMNS, 'password_hash')
      .where({ id })
      .forUpdate()
    if (!row) refuse('not_found', 'There is no such user.')
    const before = readUser(row)
    const change = decide(before, row.password_hash)
    const loses = (change.role !== undefined && change.role !== 'admin') || change.isActive === false
    if (loses) keepOneAdmin(admins, before.id)
    if (Object.keys(change).length === 0) return follow(transaction, before)
    const [changed] = await transaction<UserRow>('users')
      .where({ id })
      .update({ ...toRow(change), updated_at: new Date() }, COLUMNS)
      .catch(refuseTaken)
    await announceAccess(transaction, [id])
    return follow(transaction, readUser(changed as UserRow))
  })
}

/** @returns the deleted user. @throws not_found, conflict (no active administrator would be left), and what `check` throws */
export async function deleteUser(database: Knex, id: string, check: (current: User) => void): Promise<User> {
  return await database.transaction(async (transaction) => {
    const admins = await lockAdmins(transaction)
    const row = await transaction<UserRow>('users')
      .first(...COLUMNS)
      .where({ id })
      .forUpdate()
    if (!row) refuse('not_found', 'There is no such user.')
    const user = readUser(row)
    check(user)
    keepOneAdmin(admins, user.id)
    await transaction('users').where({ id }).delete()
    await announceAccess(transaction, [user.id])
    return user
  })
}

export async function recordLogin(database: Knex, id: string): Promise<void> {
  await database('users').where({ id }).update({ last_login_at: new Date() })
}

/** Lock order: administrators by id, before any other row of users, so that two changes cannot wait for each other. */
async function lockAdmins(transaction: Knex.Transaction): Promise<string[]> {
  return transaction('users').where({ role: 'admin', is_active: true }).orderBy('id').forUpdate().pluck('id')
}

function keepOneAdmin(admins: readonly string[], id: string): void {
  if (admins.length === 1 && admins[0] === id) {
    refuse('conflict', 'This is the last active administrator; create another one first.')
  }
}

function toRow(fields: Partial<UserFields>): Partial<UserRow> & { password_hash?: string } {
  return {
    ...(fields.username !== undefined && { username: boundMarks(fields.username) }),
    ...(fields.email !== undefined && { email: fields.email }),
    ...(fields.passwordHash !== undefined && { password_hash: fields.passwordHash }),
    ...(fields.role !== undefined && { role: fields.role }),
    ...(fields.permissions !== undefined && { permissions: fields.permissions }),
    ...(fields.isActive !== undefined && { is_active: fields.isActive }),
  }
}

function refuseTaken(error: unknown): never {
  if (isUniqueViolation(error, 'users_username')) throw new AppError('conflict', 'This user name is taken.', { cause: error })
  if (isUniqueViolation(error, 'users_email'))
    throw new AppError('conflict', 'This e-mail address belongs to another user.', { cause: error })
  throw error
}
