import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { isAdministrator } from '#core/account/caller.ts'
import { visibleMessage } from '#core/account/path-view.ts'
import { type Permission, permissionKey } from '#core/account/permission.ts'
import { wordsFor } from '#core/account/private-words.ts'
import { visibleToUser } from '#core/account/visibility.ts'
import { select } from '#core/database/select.ts'
import type { Announcement, CarrelEvent, EventType } from '#core/events/event.ts'
import type { Audience, Decision } from '#core/events/follow.ts'
import type { Follower } from '#core/events/stream.ts'

/** The permission that a client needs to read the subject of an event by REST; null: none. */
const NEEDED: Record<Exclude<EventType, 'cover_updated'>, Permission | null> = {
  book_created: 'books-read',
  book_updated: 'books-read',
  book_deleted: 'books-read',
  series_created: 'series-read',
  series_updated: 'series-read',
  series_deleted: 'series-read',
  series_metadata_updated: 'series-read',
  series_bulk_purged: 'series-read',
  library_updated: 'libraries-read',
  library_deleted: 'libraries-read',
  collection_created: 'series-read',
  collection_updated: 'series-read',
  collection_deleted: 'series-read',
  read_list_created: 'books-read',
  read_list_updated: 'books-read',
  read_list_deleted: 'books-read',
  plugin_created: 'system-admin',
  plugin_updated: 'system-admin',
  plugin_enabled: 'system-admin',
  plugin_disabled: 'system-admin',
  plugin_deleted: 'system-admin',
  user_plugin_paused: 'progress-read',
  progress_updated: 'progress-read',
  progress_deleted: 'progress-read',
  scan_updated: 'libraries-read',
  task_updated: 'tasks-read',
  queue_updated: 'tasks-read',
  reload: null,
}
const COVER_NEEDED = { book: 'books-read', series: 'series-read', library: 'libraries-read' } as const

const neededFor = (event: CarrelEvent): Permission | null =>
  event.type === 'cover_updated' ? COVER_NEEDED[event.entityType] : NEEDED[event.type]

/** The series that decides who sees an event; undefined when none does. */
function seriesOf({ event, seriesId }: Announcement): string | undefined {
  const named = ('seriesId' in event ? event.seriesId : undefined) ?? seriesId
  // A book id is never a series id: when an event does not name its series, only users who see everything receive it.
  return event.type === 'cover_updated' && event.entityType !== 'library' ? (named ?? event.entityId) : named
}

/** The id of a series that does not exist, and that would have one of the sets of tags of an announcement. */
const tagSetId = ({ id }: Announcement, at: number): string => {
  const digits = createHash('sha256').update(`${id} ${at}`).digest('hex')
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20, 32)}`
}

/** Pairs of users and series that one statement compares: a tenth of a second's work. */
const PAIRS_MAX = 50_000

/** Decides who receives which events, by current permissions: a few statements for any number of followers, because users with the same grants see the same. */
export const eventAudience = (database: Knex): Audience => ({
  classOf: ({ permissions }) => String(permissionKey(permissions)),
  async decide(announcements, userIds): Promise<Decision> {
    const { present, groups } = await findRestricted(database, userIds)
    const seen = groups.size === 0 ? new Set<string>() : await listVisiblePairs(database, [...new Set(groups.values())], announcements)
    return {
      groupOf: (userId) => (present.has(userId) ? (groups.get(userId) ?? 'all') : 'nothing'),
      show(follower, announcement) {
        const { event, userId } = announcement
        if (event.type !== 'reload' && !present.has(follower.userId)) return null
        const needed = neededFor(event)
        if (needed !== null && !follower.permissions.has(needed)) return null
        if (userId !== undefined && userId !== follower.userId && (event.type !== 'task_updated' || !isAdministrator(follower))) return null
        const group = groups.get(follower.userId)
        if (group === undefined) return eventFor(follower, event, userId)
        const { tagSets = [] } = announcement
        if (tagSets.length > 0 && !tagSets.some((_, at) => seen.has(`${group} ${tagSetId(announcement, at)}`))) return null
        const seriesId = seriesOf(announcement)
        if (seriesId !== undefined) return seen.has(`${group} ${seriesId}`) ? eventFor(follower, event, userId) : null
        const known = withoutCounts(event)
        return known && eventFor(follower, known, userId)
      },
    }
  },
})

/**
 * Which users may still sign in, and for those with grants one user whose grants are the same. A deleted account has no grants either: it sees
 * nothing, not everything.
 */
async function findRestricted(database: Knex, userIds: readonly string[]): Promise<{ present: Set<string>; groups: Map<string, string> }> {
  const users = await select<{ id: string; grants: string | null }>(
    database.raw(
      `SELECT CAST(u.id AS text) AS id, string_agg(g.access_mode || g.sharing_tag_id, ' ' ORDER BY g.sharing_tag_id) AS grants
     FROM users u LEFT JOIN user_sharing_grants g ON g.user_id = u.id
     WHERE u.id = ANY(CAST(? AS uuid[])) AND u.is_active GROUP BY u.id`,
      [[...userIds]],
    ),
  )
  const first = new Map<string, string>()
  const groups = new Map<string, string>()
  for (const { id, grants } of users) {
    if (grants === null) continue
    if (!first.has(grants)) first.set(grants, id)
    groups.set(id, first.get(grants) as string)
  }
  return { present: new Set(users.map(({ id }) => id)), groups }
}

/** Pairs `user series` of users and series of the events that these users see. For a deleted series the tags that it had decide. */
async function listVisiblePairs(database: Knex, userIds: readonly string[], announcements: readonly Announcement[]): Promise<Set<string>> {
  const there = new Set<string>()
  const gone = new Map<string, Set<string>>()
  for (const announcement of announcements) {
    for (const [at, tagIds] of announcement.tagSets?.entries() ?? []) gone.set(tagSetId(announcement, at), new Set(tagIds))
    const seriesId = seriesOf(announcement)
    if (seriesId === undefined) continue
    if (announcement.tagIds) gone.set(seriesId, new Set([...(gone.get(seriesId) ?? []), ...announcement.tagIds]))
    else there.add(seriesId)
  }
  if (there.size + gone.size === 0) return new Set()
  const tags = [...gone].flatMap(([id, tagIds]) => [...tagIds].map((tagId) => [id, tagId] as const))
  const bindings = { there: [...there], gone: [...gone.keys()], of: tags.map(([id]) => id), tags: tags.map(([, tagId]) => tagId) }
  const pairs = new Set<string>()
  const usersAtOnce = Math.ceil(PAIRS_MAX / (there.size + gone.size))
  for (let start = 0; start < userIds.length; start += usersAtOnce) {
    const rows: { user: string; series: string }[] = await database
      .with(
        'announced',
        database.raw(
          `SELECT id FROM series WHERE id = ANY(CAST(:there AS uuid[])) UNION SELECT id FROM unnest(CAST(:gone AS uuid[])) AS id`,
          bindings,
        ),
      )
      .with(
        'carried',
        database.raw(
          `SELECT series_id, sharing_tag_id FROM series_sharing_tags WHERE series_id IN (SELECT id FROM announced)
           UNION SELECT * FROM unnest(CAST(:of AS uuid[]), CAST(:tags AS uuid[]))`,
          bindings,
        ),
      )
      .from(database.raw('unnest(CAST(? AS uuid[])) AS who(id)', [userIds.slice(start, start + usersAtOnce)]))
      .crossJoin(database.raw('announced'))
      .modify(visibleToUser('who.id', 'announced.id', 'carried'))
      .select('who.id AS user', 'announced.id AS series')
    for (const { user, series } of rows) pairs.add(`${user} ${series}`)
  }
  return pairs
}

/** Numbers and messages of a whole library count and name things that a user may not see. */
function withoutCounts(event: CarrelEvent): CarrelEvent | null {
  if (event.type === 'queue_updated') return null
  if (event.type === 'scan_updated')
    return { ...event, filesTotal: 0, filesProcessed: 0, booksFound: 0, seriesFound: 0, pendingAnalysis: 0, guard: null, errors: [] }
  if (event.type !== 'task_updated') return event
  const { progress: _, error: _error, ...known } = event
  return known
}

/**
 * Messages name files as REST shows them to this caller, and say nothing about another user; most events are the same for everybody, and such an event is
 * serialized once.
 * @param ownerId the only user whom the event concerns
 */
function eventFor(follower: Follower, event: CarrelEvent, ownerId: string | undefined): CarrelEvent {
  const caller = follower as { permissions: ReadonlySet<Permission> }
  const readable = (message: string) => visibleMessage(caller, wordsFor(message, ownerId ?? null, follower.userId))
  if (event.type === 'scan_updated' && event.errors.length > 0)
    return { ...event, errors: caller.permissions.has('libraries-write') ? event.errors.map((error) => visibleMessage(caller, error)) : [] }
  if (event.type !== 'task_updated') return event
  const { progress, error } = event
  if (error === undefined && progress?.message === undefined) return event
  return {
    ...event,
    ...(error !== undefined && { error: readable(error) }),
    ...(progress?.message !== undefined && { progress: { ...progress, message: readable(progress.message) } }),
  }
}
