import type { Knex } from 'knex'
import { isAdministrator } from '#core/account/caller.ts'
import { visibleMessage } from '#core/account/path-view.ts'
import { type Permission, permissionKey } from '#core/account/permission.ts'
import { wordsFor } from '#core/account/private-words.ts'
import { readSight, SIGHT, type Sight, type Viewer, viewerKey } from '#core/account/visibility.ts'
import { select } from '#core/database/select.ts'
import { type Announcement, type CarrelEvent, EVENTS, type SeriesFacts, seriesOf } from '#core/events/event.ts'
import { readSeriesFacts } from '#core/events/event-store.ts'
import type { Audience, Decision } from '#core/events/follow.ts'
import type { Follower } from '#core/events/stream.ts'

const COVER_NEEDED = { book: 'books-read', series: 'series-read', library: 'libraries-read' } as const

/** The permission that a client needs to read the subject of an event by REST; null: none. */
const neededFor = (event: CarrelEvent): Permission | null =>
  event.type === 'cover_updated' ? COVER_NEEDED[event.entityType] : EVENTS[event.type].needed

/** The library that an event names. */
const libraryOf = (event: CarrelEvent): string | undefined =>
  event.type === 'cover_updated' && event.entityType === 'library' ? event.entityId : 'libraryId' in event ? event.libraryId : undefined

/** Followers who see the same series. */
interface Group {
  id: string
  sight: Sight
  seesAll: boolean
}

/** Decides who receives which events, by current permissions and rules: two statements for any number of followers. */
export const eventAudience = (database: Knex): Audience => ({
  classOf: ({ permissions }) => String(permissionKey(permissions)),
  async decide(announcements, followers): Promise<Decision> {
    const groups = await listGroups(database, followers)
    const groupOf = (follower: Follower) => groups.get(viewerKey(follower)) as Group
    const known = new Map(announcements.flatMap((one) => (one.gone ? [[seriesOf(one) as string, one.gone] as const] : [])))
    if ([...groups.values()].some(({ seesAll }) => !seesAll)) {
      const there = await readSeriesFacts(database, [...new Set(announcements.flatMap((one) => seriesOf(one) ?? []))])
      for (const [seriesId, facts] of there) known.set(seriesId, facts)
    }
    return {
      groupOf: (follower) => groupOf(follower).id,
      show(follower, announcement) {
        const { event, userId, narrowedBy } = announcement
        const { sight, seesAll } = groupOf(follower)
        if (event.type !== 'reload' && sight.tags === null) return null
        const needed = neededFor(event)
        if (needed !== null && !follower.permissions.has(needed)) return null
        if (userId !== undefined && userId !== follower.userId && (event.type !== 'task_updated' || !isAdministrator(follower))) return null
        // A key that has a rule sees only what it has made, and a key without one gets no more than it asks for.
        if (narrowedBy !== undefined && follower.narrowedBy !== null && follower.narrowedBy !== narrowedBy) return null
        if (seesAll) return eventFor(follower, event, userId)
        if (!isShown(announcement, sight, known)) return null
        const shown = seriesOf(announcement) === undefined ? withoutCounts(event) : event
        return shown && eventFor(follower, shown, userId)
      },
    }
  },
})

/** The group of each follower, by {@link viewerKey}. */
async function listGroups(database: Knex, followers: readonly Viewer[]): Promise<Map<string, Group>> {
  const viewers = [...new Map(followers.map((follower) => [viewerKey(follower), follower])).values()]
  const rows = await select<{ sight: string }>(
    database.raw(
      `SELECT ${SIGHT} AS sight
       FROM unnest(CAST(? AS uuid[]), CAST(array_replace(CAST(? AS text[]), '', NULL) AS uuid[])) WITH ORDINALITY AS asked (id, key_id, at)
         LEFT JOIN users ON users.id = asked.id AND users.is_active ORDER BY asked.at`,
      [viewers.map(({ userId }) => userId), viewers.map(({ narrowedBy }) => narrowedBy ?? '')],
    ),
  )
  const bySight = new Map<string, Group>()
  return new Map(
    viewers.map((viewer, at) => {
      const text = rows[at]?.sight as string
      const group = bySight.get(text) ?? { id: String(bySight.size), sight: readSight(text), seesAll: text === '' }
      bySight.set(text, group)
      return [viewerKey(viewer), group]
    }),
  )
}

/** Whether somebody sees everything that an event names. @param known of the series of the events, by id; without those that nobody knows any more */
function isShown(announcement: Announcement, sight: Sight, known: ReadonlyMap<string, SeriesFacts>): boolean {
  const { event, members = [] } = announcement
  if (members.length > 0 && !members.some((member) => sees(sight, member))) return false
  const libraryId = libraryOf(event)
  if (libraryId !== undefined && !seesLibrary(sight, libraryId)) return false
  const seriesId = seriesOf(announcement)
  const facts = seriesId === undefined ? undefined : known.get(seriesId)
  return seriesId === undefined || (facts !== undefined && sees(sight, facts))
}

const seesLibrary = ({ libraries }: Sight, libraryId: string): boolean => libraries === null || libraries.includes(libraryId)

/** The predicate of core/account/visibility.ts for a series that need not exist any more. */
export function sees(sight: Sight, { libraryId, age, tagIds }: SeriesFacts): boolean {
  const { tags, hiddenFrom, showsUnrated } = sight
  if (tags === null || !seesLibrary(sight, libraryId)) return false
  if (hiddenFrom !== null && (age === null ? !showsUnrated : age >= hiddenFrom)) return false
  if (tagIds.some((id) => tags.deny.includes(id))) return false
  return tags.allow.length === 0 || tagIds.some((id) => tags.allow.includes(id))
}

/** Numbers and messages of a whole library count and name things that a user may not see. */
function withoutCounts(event: CarrelEvent): CarrelEvent | null {
  if (event.type === 'queue_updated' || event.type === 'scan_files' || event.type === 'scan_withheld') return null
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
