import type { Announcement, CarrelEvent, EventType } from '#core/events/event.ts'

type Of<Type extends EventType> = Extract<CarrelEvent, { type: Type }>
type OfSeries = Extract<CarrelEvent, { seriesId: string; libraryId: string }>

/**
 * Folds events into at most about `most`: a client that is notified of a thousand books reloads the list anyway.
 * First, events of the same resource become one; then those of books become events of their series, those of series events of their library,
 * and the read progress of a user one `reload`. Each fold keeps the newest time.
 */
export function foldAnnouncements(all: readonly Announcement[], most: number): readonly Announcement[] {
  if (all.length <= most) return all
  let folded = [...mergeSame(all)]
  for (const fold of [foldBooks, foldSeries, foldTasks, foldProgress]) if (folded.length > most) folded = fold(folded, most)
  return folded
}

/** The union of changed members; undefined when one of the events does not name them. */
function joinFields(one: readonly string[] | undefined, other: readonly string[] | undefined): { fields?: string[] } {
  return one && other ? { fields: [...new Set([...one, ...other])] } : {}
}

/** Who may see a member of either; without members everybody. */
function joinMembers(one: Announcement | undefined, other: Announcement): Pick<Announcement, 'members'> {
  if (one === undefined) return {}
  const [first = [], second = []] = [one.members, other.members]
  const members = first.length === 0 || second.length === 0 ? [] : [...first, ...second]
  return { members: [...new Map(members.map((facts) => [JSON.stringify(facts), facts])).values()] }
}

function mergeSame(all: readonly Announcement[]): Iterable<Announcement> {
  const merged = new Map<string, Announcement>()
  for (const announcement of all) {
    const { event, userId } = announcement
    const key = keyOf(event, userId)
    const earlier = merged.get(key)
    const before = earlier?.event
    const isUpdate = event.type === 'book_updated' || event.type === 'series_updated' || event.type === 'library_updated'
    const { fields: _, ...plain } = event as Of<'book_updated'>
    const joined =
      isUpdate && before ? ({ ...plain, ...joinFields((before as Of<'book_updated'>).fields, event.fields) } as CarrelEvent) : event
    // To the end: the newest event is sent last.
    merged.delete(key)
    merged.set(key, { ...announcement, ...joinMembers(earlier, announcement), event: joined })
  }
  return merged.values()
}

/** Events with one key say the same about the same resource. */
function keyOf(event: CarrelEvent, userId: string | undefined): string {
  const { type } = event
  if (type === 'task_updated') return `${type} ${event.taskId}`
  if (type === 'scan_updated' || type === 'scan_withheld') return `${type} ${event.taskId}`
  if (type === 'cover_updated') return `${type} ${event.entityId}`
  if (type === 'series_metadata_updated') return `${type} ${event.seriesId} ${event.pluginId} ${event.fieldsUpdated}`
  if ('bookId' in event) return `${type} ${event.bookId} ${userId ?? ''}`
  if (type === 'scan_files') return `${type} ${event.readerId}`
  if (type === 'export_updated') return `${type} ${event.exportId}`
  if ('seriesId' in event) return `${type} ${event.seriesId} ${event.type === 'series_bulk_purged' ? event.count : (userId ?? '')}`
  if ('collectionId' in event) return `${type} ${event.collectionId}`
  if ('readListId' in event) return `${type} ${event.readListId}`
  if ('pluginId' in event) return `${type} ${event.pluginId} ${userId ?? ''}`
  return `${type} ${'libraryId' in event ? event.libraryId : ''} ${userId ?? ''}`
}

const isOfBook = ({ type }: CarrelEvent) => type === 'book_created' || type === 'book_updated' || type === 'book_deleted'

function foldBooks(all: readonly Announcement[]): Announcement[] {
  const named = new Set(all.flatMap(({ event }) => (event.type.startsWith('series_') ? [(event as OfSeries).seriesId] : [])))
  const series = new Map<string, Announcement>()
  const others: Announcement[] = []
  for (const announcement of all) {
    const { event } = announcement
    if (!isOfBook(event)) {
      // A client that reloads the series also sees the covers of its books.
      if (event.type !== 'cover_updated' || event.entityType !== 'book') others.push(announcement)
      else if (event.seriesId && event.libraryId) add(announcement, event.seriesId, event.libraryId)
    } else add(announcement, (event as OfSeries).seriesId, (event as OfSeries).libraryId)
  }
  function add({ id, event: { timestamp }, gone }: Announcement, seriesId: string, libraryId: string): void {
    if (named.has(seriesId)) return
    const event: CarrelEvent = { type: 'series_updated', seriesId, libraryId, fields: ['books'], timestamp }
    series.set(seriesId, { id, event, ...(gone && { gone }) })
  }
  return [...others, ...series.values()]
}

function foldSeries(all: readonly Announcement[]): Announcement[] {
  const libraries = new Map<string, Announcement>()
  const others: Announcement[] = []
  for (const announcement of all) {
    const { id, event } = announcement
    const { timestamp } = event
    const isFolded = event.type.startsWith('series_') || (event.type === 'cover_updated' && event.entityType !== 'library')
    if (event.type !== 'library_updated' && !isFolded) others.push(announcement)
    else {
      const { libraryId } = event as OfSeries
      libraries.set(libraryId, { id, event: { type: 'library_updated', libraryId, fields: ['series', 'books'], timestamp } })
    }
  }
  return [...others, ...libraries.values()]
}

/** Successful analyses are folded into events of their books; then only the newest tasks remain. */
function foldTasks(all: readonly Announcement[], most: number): Announcement[] {
  const kept = all.filter(({ event }) => event.type !== 'task_updated' || event.taskType !== 'analyze_book' || event.status === 'failed')
  let surplus = kept.filter(({ event }) => event.type === 'task_updated').length - most
  return kept.filter(({ event }) => event.type !== 'task_updated' || surplus-- <= 0)
}

function foldProgress(all: readonly Announcement[]): Announcement[] {
  const users = new Map<string, Announcement>()
  const others: Announcement[] = []
  for (const announcement of all) {
    const { id, event, userId } = announcement
    if ((event.type !== 'progress_updated' && event.type !== 'progress_deleted') || userId === undefined) others.push(announcement)
    else users.set(userId, { id, userId, event: { type: 'reload', timestamp: event.timestamp } })
  }
  return [...others, ...users.values()]
}
